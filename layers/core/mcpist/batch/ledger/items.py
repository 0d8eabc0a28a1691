"""The ledger's items: how the values of a batch are stored.

A batch may be running while a new release is deployed: `format` says which release wrote it. A release reads its own
format and older ones. It refuses a newer one, so that Step Functions retries and reaches the newer release.
"""

import json
import time
import zlib
from typing import Any

from mcpist.aws.attributes import Item, decode, encode
from mcpist.batch.ledger.records import Entry, Header
from mcpist.errors import NewerFormat, PayloadTooLarge

LEDGER_FORMAT = 3
MAX_PARAMS_BYTES = 300_000

# The item of an element has all fields of an entry but these, which are those of its step.
_STEP_FIELDS = ("index", "step", "effect", "map_items", "shown", "agreed")


def step_key(step: int) -> str:
    """Return the sort key of a step's item."""
    return f"step#{step:03}"


def element_key(step: int, element: int | str = "") -> str:
    """Return the sort key of an element's item, or the prefix of all of a step's elements.

    It does not begin like a step's key, so that a query for steps reads no elements.
    """
    return f"element#{step:03}#{element if element == '' else f'{element:04}'}"


def sort_key(entry: Entry) -> str:
    """Return the sort key of an entry's item."""
    return step_key(entry.index) if entry.element is None else element_key(entry.index, entry.element)


def now() -> float:
    """Return the time as the ledger stores it, rounded to milliseconds."""
    return round(time.time(), 3)


def header_item(head: Header) -> Item:
    """Return the item of a new batch's header, with the counters that its updates need."""
    counters = {"settled": len(head.seq), "counted": sum(head.elements.values())}
    return encode(head) | counters | {"sk": "batch", "format": LEDGER_FORMAT} | _batch_attributes(head)


def read_header(item: Item) -> Header:
    """Return the header of an item; raise NewerFormat where a newer release wrote it."""
    if item["format"] > LEDGER_FORMAT:
        raise NewerFormat(format=item["format"], known=LEDGER_FORMAT)
    return decode(Header, item)


def entry_item(head: Header, entry: Entry) -> Item:
    """Return the item of a step or an element."""
    attributes = encode(entry)
    if entry.element is not None:
        attributes = {name: value for name, value in attributes.items() if name not in _STEP_FIELDS}
    return attributes | {"sk": sort_key(entry)} | _batch_attributes(head)


def read_entry(item: Item) -> Entry:
    """Return the step of an item."""
    return decode(Entry, item)


def read_element(entry: Entry, element: int, item: Item | None) -> Entry:
    """Return an element of a step from its item, or as it is before it has one."""
    return decode(Entry, item or {}, element=element, **{name: getattr(entry, name) for name in _STEP_FIELDS})


def check_size(params: Any, when: Any) -> None:
    """Raise PayloadTooLarge where a step's params and `when`, compressed, do not fit into an item."""
    text = json.dumps([params, when], ensure_ascii=False).encode(errors="replace")
    if len(text) > MAX_PARAMS_BYTES and (size := len(zlib.compress(text))) > MAX_PARAMS_BYTES:
        raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_PARAMS_BYTES)


def _batch_attributes(head: Header) -> Item:
    """Return the attributes of every item of a batch; DynamoDB wants whole seconds in `expires_at`."""
    return {"pk": head.pk, "expires_at": int(head.expires_at)}


def listing_items(head: Header) -> list[Item]:
    """Return the items that list a new batch."""
    sk = f"{round(head.started_at * 1000):013}#{head.batch}"
    keys = [listing_key(head.organization, user) for user in (head.user, None)]
    return [{"pk": pk, "sk": sk, "expires_at": int(head.expires_at)} for pk in keys]


def listing_key(organization: str, user: str | None) -> str:
    """Return the partition of the list of a user's batches, or of all of an organization."""
    return f"{organization}#batches" if user is None else f"{organization}#batches#{user}"
