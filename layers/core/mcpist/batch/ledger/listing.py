"""The list of batches, the newest first: those of one user, or of the whole organization.

A batch has two listing items beside its own, with its start and its id as sort key: one under `pk`
ORGANIZATION#batches, the other under ORGANIZATION#batches#USER. A page costs two requests, however many there are.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcpist.aws.attributes import Item
from mcpist.aws.table import ledger_table
from mcpist.batch.ledger.items import read_header
from mcpist.batch.ledger.records import Header, partition_key
from mcpist.errors import InvalidRequest

MAX_PAGE_BATCHES = 50
_CURSOR = re.compile(r"[0-9]{13}#b_[0-9a-f]{16}")
_FIRST, _LAST = "0", "9" * 14


@dataclass(frozen=True, slots=True)
class BatchPage:
    """Some batches, the newest first."""

    batches: Sequence[Header]
    cursor: str = ""
    """The `before` of the next page; empty on the last one."""


def list_recent(organization: str, user: str | None = None, before: str = "", limit: int = 20) -> BatchPage:
    """Return the batches of a user, or of everybody, that began before a cursor and have not expired."""
    if before and not _CURSOR.fullmatch(before):
        raise InvalidRequest(field="before", problem="take it from the page before")
    limit = min(limit, MAX_PAGE_BATCHES)
    pk = _listing_key(organization, user)
    found, _ = ledger_table().query_page("pk", pk, (_FIRST, before or _LAST), limit=limit + 1, descending=True)
    keys = [item["sk"] for item in found]
    ids = [key.partition("#")[2] for key in keys[:limit]]
    items = ledger_table().get_many([(partition_key(organization, batch), "batch") for batch in ids])
    heads = {item["batch"]: read_header(item) for item in items if item["expires_at"] > time.time()}
    return BatchPage([heads[batch] for batch in ids if batch in heads], keys[limit] if len(keys) > limit else "")


def listing_items(head: Header) -> list[Item]:
    """Return the items that list a new batch."""
    sk = f"{round(head.started_at * 1000):013}#{head.batch}"
    keys = [_listing_key(head.organization, user) for user in (head.user, None)]
    return [{"pk": pk, "sk": sk, "expires_at": int(head.expires_at)} for pk in keys]


def _listing_key(organization: str, user: str | None) -> str:
    return f"{organization}#batches" if user is None else f"{organization}#batches#{user}"
