"""The ledger: a batch's steps and their results in a table, changed only by conditions that let one writer win.

Items, all under `pk` ORGANIZATION#BATCH:
    batch       the header: who started it, what waits for what, and `seq`, the order in which steps settled
    step#007    one step: its tool and params, who claims it, and its status with a result, a file or an error
A step has settled when the header says so; its item has the status before that.
"""

import json
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from mcpist import files
from mcpist.batch.records import (
    Claim,
    Entry,
    Header,
    Status,
    claim_item,
    entry_item,
    header_item,
    milliseconds,
    read_entry,
    read_header,
    step_key,
)
from mcpist.errors import BatchNotFound
from mcpist.settings import settings
from mcpist.stores import Item, Table, refused

INLINE_BYTES = 16_384


def partition(organization: str, batch: str) -> str:
    """The key that a batch's items stand under, and the only thing that a machine knows."""
    return f"{organization}#{batch}"


def write(header: Header, entries: Iterable[Entry]) -> None:
    """Keep a new batch: its header and its steps, 25 items a request."""
    _table().put_many([header_item(header), *(entry_item(header, entry) for entry in entries)])


def header(pk: str) -> Header:
    """A batch's header as it is now; one whose day is over is gone, even before DynamoDB has removed it."""
    item = _table().get(pk, "batch")
    if item is None or item["expires_at"] <= time.time():
        raise BatchNotFound(batch=pk.partition("#")[2])
    return read_header(item)


def entries(pk: str, steps: Sequence[int] | None = None) -> list[Entry]:
    """The items of some steps, or of all, in the order of the batch."""
    if steps is None:
        items = _table().query(pk, "step#")
    else:
        items = _table().get_many([(pk, step_key(step)) for step in steps])
    return sorted(map(read_entry, items), key=lambda entry: entry.index)


def enter(pk: str, step: int) -> tuple[Header, Entry]:
    """The header and a step's item, in one request."""
    items = {item["sk"]: item for item in _table().get_many([(pk, "batch"), (pk, step_key(step))])}
    if len(items) < 2:
        raise BatchNotFound(batch=pk.partition("#")[2])
    return read_header(items["batch"]), read_entry(items[step_key(step)])


def claim(pk: str, entry: Entry, mine: Claim) -> bool:
    """Claim a step as it was read: unclaimed, or by a claim that is dead now; whether it is ours."""
    expected = "#claim.#owner = :before" if entry.claim else "attribute_not_exists(#claim)"
    values: Item = {":claim": claim_item(mine), ":now": milliseconds(), ":mine": mine.owner}
    try:
        _table().update(
            pk,
            step_key(entry.index),
            "SET #claim = :claim, #started_at = :now",
            values=values | ({":before": entry.claim.owner} if entry.claim else {}),
            condition=f"attribute_not_exists(#status) AND ({expected} OR #claim.#owner = :mine)",
        )
    except Exception as error:
        if refused(error):
            return False
        raise
    return True


def finish(
    head: Header,
    entry: Entry,
    owner: str | None,
    status: Status,
    *,
    raw: Any = None,
    more: str = "",
    error: Item | None = None,
) -> Entry:
    """Store how a step ended, for the claim's owner, or for nobody's claim; the item as it then is.

    Where the step has ended already, or another sandbox claims it, that stands.
    """
    change: Item = {"status": status, "ended_at": milliseconds()}
    if status == "succeeded":
        change |= _result(head.organization, raw) | ({"more": more} if more else {})
    if error is not None:
        change["error"] = json.dumps(error)
    held = "#claim.#owner = :owner" if owner else "attribute_not_exists(#claim)"
    try:
        item = _table().update(
            head.pk,
            step_key(entry.index),
            "SET " + ", ".join(f"#{name} = :{name}" for name in change),
            values={f":{name}": value for name, value in change.items()} | ({":owner": owner} if owner else {}),
            condition=f"attribute_not_exists(#status) AND {held}",
        )
    except Exception as failure:
        if refused(failure):
            return entries(head.pk, [entry.index])[0]
        raise
    return read_entry(item)


def settle(pk: str, step: int, status: Status) -> Header:
    """Put a step that has ended into the header's order, once; the header as it is afterwards."""
    try:
        item = _table().update(
            pk,
            "batch",
            f"SET #seq.#s{step} = #settled, #outcome.#s{step} = :status, #settled = #settled + :one",
            values={":status": status, ":one": 1},
            condition=f"attribute_not_exists(#seq.#s{step})",
        )
    except Exception as error:
        if refused(error):
            return header(pk)
        raise
    return read_header(item)


def close(head: Header) -> Header:
    """Settle what has not settled after `closes_at`; a sandbox that still holds a live claim settles by itself."""
    if head.done or time.time() < head.closes_at:
        return head
    open_steps = [step for step in range(len(head.ids)) if step not in head.seq]
    for open_entry in entries(head.pk, open_steps):
        entry = open_entry
        if entry.status is None:
            if entry.claim and entry.claim.until > time.time():
                continue
            entry = finish(head, entry, entry.claim.owner if entry.claim else None, verdict(entry, "cancelled"))
        if entry.status is not None:
            head = settle(head.pk, entry.index, entry.status)
    return head


def verdict(entry: Entry, unclaimed: Status) -> Status:
    """How a step ends whose sandbox is gone: a read has failed, a write may have happened."""
    if entry.claim is None:
        return unclaimed
    return "failed" if entry.effect == "reads" else "unknown"


def raw(head: Header, entry: Entry) -> Any:
    """The JSON that a succeeded step brought."""
    if entry.content is not None:
        return json.loads(zlib.decompress(entry.content))
    return json.loads(files.get(head.organization, (entry.file or {})["path"]))


def _result(organization: str, raw: Any) -> Item:
    """A result inline up to 16 KB compressed, else as a file."""
    content = json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode()
    packed = zlib.compress(content)
    if len(packed) <= INLINE_BYTES:
        return {"content": packed}
    return {"file": files.put(organization, content).as_dict()}


def _table() -> Table:
    return Table(settings().ledger_table, "ledger")
