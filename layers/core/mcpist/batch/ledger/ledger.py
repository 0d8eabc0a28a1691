"""The ledger: a batch in a table, as its readers see it, and how it is ended from outside.

Items, all under `pk` ORGANIZATION#BATCH:
    batch               the header: who started it, its graph, and `seq`, the order in which steps settled
    step#007            one step: its request, its claim, and its ending with a result or an error
    element#007#0042    one element of a step with `each`: its claim and its ending
    execution#NAME      a further execution of the batch, which one sandbox starts
    resumed             the batch that resumes this one
Two items list the batch, with its start and its id as sort key: one under `pk` ORGANIZATION#batches, the other under
ORGANIZATION#batches#USER. A page of the newest batches costs two requests, however many there are.
A step first ends, by its item, and then settles, by the header. An element has no place in the header: it only ends.
"""

import json
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import IS_NEW, ledger_table
from mcpist.batch.ledger import transitions
from mcpist.batch.ledger.gathering import Gathering
from mcpist.batch.ledger.items import (
    element_key,
    entry_item,
    header_item,
    listing_items,
    listing_key,
    read_element,
    read_entry,
    read_header,
    step_key,
)
from mcpist.batch.ledger.records import Ending, Entry, Header, Status, StoredJson
from mcpist.batch.ledger.records import partition_key as partition_key
from mcpist.errors import AlreadyResumed, BatchNotFound, InvalidRequest
from mcpist.files import storage
from mcpist.memory import Memory

MAX_PAGE_BATCHES = 50
RESUMED = "resumed"
CURSOR = re.compile(r"[0-9]{13}#b_[0-9a-f]{16}")
_FIRST, _LAST = "0", "9" * 14
# The steps of batches that were done when they were written, which never change: their answer follows.
_written: Memory[str, list[Entry]] = Memory(seconds=30, max_entries=4)


def write(header: Header, entries: Iterable[Entry], elements: Iterable[Entry] = ()) -> None:
    """Store a new batch: its steps, elements that ended in another batch, and last its header; 25 items a request.

    AlreadyResumed, and no header, where another batch resumes the same one.
    """
    entries = list(entries)
    items = [entry_item(header, entry) for entry in (*entries, *elements)]
    if header.done:
        _written.put(header.pk, entries)
    last = [header_item(header), *listing_items(header)]
    if not header.resumes:
        ledger_table().put_many([*items, *last])
        return
    ledger_table().put_many(items)
    old = {"pk": partition_key(header.organization, header.resumes), "sk": RESUMED}
    guard = {**old, "batch": header.batch, "expires_at": int(header.expires_at)}
    if not ledger_table().transact(last, [], guard=guard, condition=IS_NEW, values={}):
        raise AlreadyResumed(batch=header.resumes, by=find_successor(old["pk"]))


def write_once(header: Header, entries: Iterable[Entry]) -> None:
    """Store a new batch by updates alone, as the step runner may; one that is stored already stays as it is."""
    items = [*(entry_item(header, entry) for entry in entries), *listing_items(header), header_item(header)]
    for item in items:
        fields = {name: value for name, value in item.items() if name not in {"pk", "sk"}}
        with suppress(ConditionFailed):
            ledger_table().set(item["pk"], item["sk"], fields, condition=IS_NEW)


def forget_executions(pk: str) -> None:
    """Delete the records of further executions, where all of them are lost: the same names may start again."""
    for item in ledger_table().query(pk, "execution#"):
        ledger_table().delete(pk, item["sk"])


def find_successor(pk: str) -> str:
    """Return the id of the batch that resumes a batch; empty if none does."""
    return str((ledger_table().get(pk, RESUMED) or {}).get("batch", ""))


def get_header(pk: str) -> Header:
    """Return a batch's header; BatchNotFound also for one that has expired and that DynamoDB has not deleted yet."""
    item = ledger_table().get(pk, "batch")
    if item is None or item["expires_at"] <= time.time():
        raise BatchNotFound(batch=pk.partition("#")[2])
    return read_header(item)


def get_entries(pk: str, steps: Sequence[int] | None = None) -> list[Entry]:
    """Return some steps, or all, in the order of the lines in which they were written."""
    if steps is None:
        found = _written.get(pk) or map(read_entry, ledger_table().query(pk, "step#"))
    else:
        found = map(read_entry, ledger_table().get_many([(pk, step_key(step)) for step in steps]))
    return sorted(found, key=lambda entry: (entry.step.line, entry.index))


def get_elements(pk: str, entry: Entry) -> list[Entry]:
    """Return all elements of a step with `each` in the order of its list; none before it has begun."""
    return list(iterate_elements(pk, entry))


def iterate_elements(pk: str, entry: Entry) -> Iterator[Entry]:
    """Iterate over the same elements, a page of their items at a time."""
    count = entry.map_items.count if entry.map_items else 0
    items = ledger_table().iterate(pk, element_key(entry.index)) if count else iter(())
    item = next(items, None)
    for element in range(count):
        is_stored = item is not None and item["element"] == element
        yield read_element(entry, element, item if is_stored else None)
        item = next(items, None) if is_stored else item


def load_elements(pk: str, step: int, numbers: Sequence[int]) -> tuple[Header, Entry, list[Entry]]:
    """Return the header, a step, and those of some elements that its list has, in one request."""
    keys = ["batch", step_key(step), *(element_key(step, number) for number in numbers)]
    items = {item["sk"]: item for item in ledger_table().get_many([(pk, key) for key in keys])}
    if not {"batch", keys[1]} <= items.keys():
        raise BatchNotFound(batch=pk.partition("#")[2])
    entry = read_entry(items[keys[1]])
    count = entry.map_items.count if entry.map_items else 0
    found = [read_element(entry, one, items.get(element_key(step, one))) for one in numbers if one < count]
    return read_header(items["batch"]), entry, found


def load_content(head: Header, stored: StoredJson | None) -> bytes:
    """Return the text of a stored JSON, whose hash is right where it is in a file; None stands for null."""
    if stored is None:
        return b"null"
    if stored.file is not None:
        return storage.load(storage.result_path(head.organization, stored.file["sha256"]), stored.file["sha256"])
    return zlib.decompress(stored.content or b"")


def load_json(head: Header, stored: StoredJson | None) -> Any:
    """Return the value of a stored JSON."""
    return json.loads(load_content(head, stored))


def list_recent(
    organization: str, user: str | None = None, before: str = "", limit: int = 20
) -> tuple[list[Header], str]:
    """Return the batches of a user, or of everybody, that began before a cursor and have not expired, the newest first.

    With them comes the `before` of the next page; empty on the last one.
    """
    if before and not CURSOR.fullmatch(before):
        raise InvalidRequest(field="before", problem="take it from the page before")
    limit = min(limit, MAX_PAGE_BATCHES)
    pk = listing_key(organization, user)
    found, _ = ledger_table().query_page("pk", pk, (_FIRST, before or _LAST), limit=limit + 1, descending=True)
    keys = [item["sk"] for item in found]
    ids = [key.partition("#")[2] for key in keys[:limit]]
    items = ledger_table().get_many([(partition_key(organization, batch), "batch") for batch in ids])
    heads = {item["batch"]: read_header(item) for item in items if item["expires_at"] > time.time()}
    return [heads[batch] for batch in ids if batch in heads], keys[limit] if len(keys) > limit else ""


def cancel(pk: str) -> Header:
    """Stop a batch and return its header: no further step starts, and running reads are abandoned.

    Running writes end and settle by themselves, so the batch may be done a little later. A batch that is done is not
    marked as cancelled.
    """
    head = get_header(pk)
    return head if head.done else _settle_open_steps(transitions.mark_cancelled(head))


def close(head: Header) -> Header:
    """Settle after `closes_at` what has not settled, but not steps whose sandboxes still hold live claims."""
    return head if head.done or time.time() < head.closes_at else _settle_open_steps(head)


def gather(head: Header, entry: Entry) -> Gathering:
    """Return the elements of a step with `each`, gathered as far as they have ended."""
    gathering = Gathering()
    for element in iterate_elements(head.pk, entry):
        gathering.add(element, lambda one: load_content(head, one.result))
    return gathering


def finish_gathered(head: Header, entry: Entry, gathering: Gathering) -> Entry:
    """End a step with `each`, unless elements have not ended, and return it as it is afterwards."""
    return entry if gathering.pending else transitions.finish(head, entry, None, *gathering.ending(head, entry))


def _settle_open_steps(head: Header) -> Header:
    """Settle what can be settled of a batch that was stopped."""
    for entry in get_entries(head.pk, head.open_steps):
        ended = _end_step(head, entry)
        if ended.status is not None:
            head = transitions.settle(head.pk, ended.index, ended.status)
    return head


def _end_step(head: Header, entry: Entry) -> Entry:
    """End a step of a stopped batch unless a sandbox still runs it, and return it."""
    if entry.status is not None:
        return entry
    if entry.map_items is None:
        status, owner = _final_status(head, entry), entry.claim.owner if entry.claim else None
        return transitions.finish(head, entry, owner, Ending(status)) if status else entry
    gathering = gather(head, entry)
    if gathering.pending:
        ended = [(element, _final_status(head, element)) for element in gathering.pending]
        transitions.finish_all(head, [replace(one, ending=Ending(status)) for one, status in ended if status])
        gathering = gather(head, entry)
    return finish_gathered(head, entry, gathering)


def _final_status(head: Header, entry: Entry) -> Status | None:
    """Return how a step or an element ends when its batch is stopped; None while a sandbox may still write."""
    if entry.claim is None:
        return "cancelled"
    if entry.claim.is_live:
        return "cancelled" if entry.reads and head.cancelled_at is not None else None
    if entry.reads:
        return "failed" if head.cancelled_at is None else "cancelled"
    return "unknown"
