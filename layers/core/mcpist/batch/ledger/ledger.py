"""The ledger: a batch in a table, as its readers see it, and how it is ended from outside.

Items, all under `pk` ORGANIZATION#BATCH:
    batch               the header: who started it, what waits for what, and `seq`, the order in which steps settled
    step#007            one step: its tool and params, who claims it, and its status with a result, a file or an error
    element#007#0042    one element of a step with `each`: its claim, and its status as a step's
    execution#NAME      a further execution of the batch, which one sandbox starts
A step has settled when the header says so; its item has the status before that. An element has settled with its status.
"""

import json
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.batch.ledger import transitions
from mcpist.batch.ledger.items import (
    element_item,
    element_key,
    entry_item,
    header_item,
    read_element,
    read_entry,
    read_header,
    step_key,
    table,
)
from mcpist.batch.ledger.map_results import gather_results
from mcpist.batch.ledger.records import Entry, Header, MapItems, Status
from mcpist.errors import BatchNotFound
from mcpist.files import storage


def partition_key(organization: str, batch: str) -> str:
    """The key that a batch's items stand under, and the only thing that a machine knows."""
    return f"{organization}#{batch}"


def write(header: Header, entries: Iterable[Entry], elements: Iterable[Entry] = ()) -> None:
    """Keep a new batch: its header, its steps, and elements that ended in another one; 25 items a request."""
    items = [header_item(header), *(entry_item(header, entry) for entry in entries)]
    table().put_many([*items, *(element_item(header, element) for element in elements)])


def get_header(pk: str) -> Header:
    """A batch's header as it is now; one whose day is over is gone, even before DynamoDB has removed it."""
    item = table().get(pk, "batch")
    if item is None or item["expires_at"] <= time.time():
        raise BatchNotFound(batch=pk.partition("#")[2])
    return read_header(item)


def get_entries(pk: str, steps: Sequence[int] | None = None) -> list[Entry]:
    """The items of some steps, or of all, in the order of the lines that their user wrote."""
    items = table().query(pk, "step#") if steps is None else table().get_many([(pk, step_key(step)) for step in steps])
    return sorted(map(read_entry, items), key=lambda entry: (entry.line, entry.index))


def get_elements(pk: str, entry: Entry) -> list[Entry]:
    """All elements of a step with `each`, in the order of its list; none before it has begun."""
    if entry.map_items is None:
        return []
    items = {item["element"]: item for item in table().query(pk, element_key(entry.index))}
    return [read_element(entry, element, items.get(element)) for element in range(entry.map_items.count)]


def load_step(pk: str, step: int) -> tuple[Header, Entry]:
    """The header and a step's item, in one request."""
    head, entry, _ = _read_entry_items(pk, step_key(step))
    return head, entry


def load_element(pk: str, step: int, element: int) -> tuple[Header, Entry, Entry]:
    """The header, a step's item and the element of it, in one request."""
    head, entry, item = _read_entry_items(pk, step_key(step), element_key(step, element))
    return head, entry, read_element(entry, element, item)


def load_content(head: Header, stored: Entry | MapItems) -> bytes:
    """The JSON text that a step or an element brought, or that a step with `each` runs over."""
    if stored.content is not None:
        return zlib.decompress(stored.content)
    return storage.get(head.organization, (stored.file or {})["path"])


def load_json(head: Header, stored: Entry | MapItems) -> Any:
    """The JSON that a succeeded step brought; of one with `each` the list of its elements'."""
    return json.loads(load_content(head, stored))


def cancel(pk: str) -> Header:
    """Stop a batch: no further step starts, and running reads are abandoned; the header afterwards.

    Writes that are running settle by themselves, so the batch may be done a little later. A batch that is done stays as
    it is, and is not marked as cancelled.
    """
    head = get_header(pk)
    return head if head.done else _settle_open_steps(transitions.mark_cancelled(head))


def close(head: Header) -> Header:
    """Settle what has not settled after `closes_at`; a sandbox that still holds a live claim settles by itself."""
    return head if head.done or time.time() < head.closes_at else _settle_open_steps(head)


def gather(head: Header, entry: Entry, elements: list[Entry]) -> Entry:
    """End a step with `each` whose elements have all ended; as it then is."""
    found = gather_results(head, entry, elements, lambda element: load_content(head, element))
    return transitions.finish(
        head,
        entry,
        None,
        found.status,
        content=found.content,
        statuses=found.statuses,
        more=found.more,
        account=next((element.account for element in elements if element.account), ""),
        error=found.error,
    )


def _settle_open_steps(head: Header) -> Header:
    """Settle what may be settled of a batch that has been stopped."""
    for entry in get_entries(head.pk, head.open_steps):
        ended = _end_step(head, entry)
        if ended.status is not None:
            head = transitions.settle(head.pk, ended.index, ended.status)
    return head


def _end_step(head: Header, entry: Entry) -> Entry:
    """A step of a stopped batch after it has been ended, if it may be."""
    if entry.status is not None:
        return entry
    if entry.map_items is None:
        return _end_entry(head, entry)
    found = [_end_entry(head, element) for element in get_elements(head.pk, entry)]
    return entry if any(element.status is None for element in found) else gather(head, entry, found)


def _end_entry(head: Header, entry: Entry) -> Entry:
    """A step or an element of a stopped batch after it has been ended, unless a sandbox is to end it."""
    final_status = entry.status or _final_status(head, entry)
    if entry.status is not None or final_status is None:
        return entry
    return transitions.finish(head, entry, entry.claim.owner if entry.claim else None, final_status)


def _final_status(head: Header, entry: Entry) -> Status | None:
    """How a step or an element ends that has not: not at all while a sandbox writes."""
    if entry.claim is None:
        return "cancelled"
    if entry.claim.is_live:
        return "cancelled" if entry.reads and head.cancelled_at is not None else None
    if entry.reads:
        return "failed" if head.cancelled_at is None else "cancelled"
    return "unknown"


def _read_entry_items(pk: str, *keys: str) -> tuple[Header, Entry, Item | None]:
    """The header, the step under the first key, and what there is under the last."""
    items = {item["sk"]: item for item in table().get_many([(pk, "batch"), *((pk, key) for key in keys)])}
    if "batch" not in items or keys[0] not in items:
        raise BatchNotFound(batch=pk.partition("#")[2])
    return read_header(items["batch"]), read_entry(items[keys[0]]), items.get(keys[-1])
