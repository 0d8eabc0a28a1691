"""Transitions: the conditional writes by which a batch advances, each of which one writer wins.

What is written once never changes again. A writer that comes second reads what the first has written and continues from
there, so retries, duplicate deliveries and second executions all see the same.
"""

import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import batched
from typing import Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, encode, json_bytes
from mcpist.aws.clients import AwsError, ConditionFailed
from mcpist.aws.table import MAX_TRANSACTION_ITEMS, ItemChange, ledger_table
from mcpist.batch.ledger.items import now, read_element, read_entry, read_header, sort_key
from mcpist.batch.ledger.records import Claim, Ending, Entry, Header, MapItems, Opening, Status, StoredJson
from mcpist.errors import StoreUnavailable
from mcpist.files import storage
from mcpist.people.in_flight import end_batch
from mcpist.settings import settings
from mcpist.spending import release_steps, spending
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import BATCH_STEPS

MAX_INLINE_RESULT_BYTES = 16_384
MAX_INLINE_LIST_BYTES = 4_096  # each element reads the item of its step, and DynamoDB counts by 4 KB
MAX_ELEMENTS = 10_000


def claim(head: Header, entry: Entry, new_claim: Claim) -> Entry:
    """Claim a step or an element that is unclaimed, or whose claim is dead, and return it as it is afterwards."""
    expected = "#claim.#owner = :before" if entry.claim else "attribute_not_exists(#claim)"
    values: Item = {":mine": new_claim.owner} | ({":before": entry.claim.owner} if entry.claim else {})
    change: Item = {"claim": encode(new_claim), "started_at": now()}
    condition = f"attribute_not_exists(#ending) AND ({expected} OR #claim.#owner = :mine)"
    return _update_entry(head, entry, change, condition, values)


def finish(head: Header, entry: Entry, owner: str | None, ending: Ending, content: bytes | None = None) -> Entry:
    """Store how a step or an element ended and return it as it is afterwards; `content` is the JSON of its result.

    `owner` holds its claim, None an unclaimed one. Nothing changes where it has ended already, where another sandbox
    claims it, or where it has begun to run for each element since it was read.
    """
    change = _ending_change(entry, with_result(head, ending, content))
    same = "" if entry.map_items else " AND attribute_not_exists(#map_items)"
    return _update_entry(head, entry, change, _ending_condition(owner) + same, {":owner": owner} if owner else {})


def finish_all(head: Header, ended: Sequence[Entry], rows: Sequence[Item] = ()) -> bool:
    """Store how elements ended, with the audit rows of their work, and return whether all have ended.

    Each has the claim that it was read with. It is one transaction for each hundred. Where one is refused, since
    another sandbox was faster, or a store is unavailable, each ending is written by itself as `finish` does; then a
    row that is lost is only counted.
    """
    room, have_ended = MAX_TRANSACTION_ITEMS - min(len(ended), MAX_TRANSACTION_ITEMS), True
    audit.write_collected(rows[room:])
    for elements in batched(ended, MAX_TRANSACTION_ITEMS, strict=False):
        try:
            changes = [_element_change(head, element) for element in elements]
            ledger_table().set_all(changes, {settings().audit_table: rows[:room]})
        except (AwsError, StoreUnavailable):
            audit.write_collected(rows[:room])
            ended_now = [_finish_one(head, element) for element in elements]
            have_ended = have_ended and all(ended_now)
        rows = ()
    audit.write_collected(rows[:room])
    return have_ended


def _finish_one(head: Header, element: Entry) -> bool:
    """Store how an element ended, and return whether it has ended."""
    if element.ending is None:
        raise TypeError(f"element {element.element} has not ended")
    return finish(head, element, element.claim.owner if element.claim else None, element.ending).status is not None


def _element_change(head: Header, element: Entry) -> ItemChange:
    """Return the change by which an element ends, with the condition of `finish`."""
    owner = element.claim.owner if element.claim else None
    change = _ending_change(element, element.ending) | _element_attributes(head, element)
    values = {":owner": owner} if owner else {}
    return ItemChange(head.pk, sort_key(element), change, _ending_condition(owner), values)


def _ending_change(entry: Entry, ending: Ending | None) -> Item:
    """Return the attributes of an ending; an element that nobody claimed begins with it."""
    change: Item = {"ending": ending and encode(ending, omit_defaults=True), "ended_at": now()}
    return change if entry.claim or entry.started_at is None else change | {"started_at": entry.started_at}


def _ending_condition(owner: str | None) -> str:
    return f"attribute_not_exists(#ending) AND {'#claim.#owner = :owner' if owner else 'attribute_not_exists(#claim)'}"


def with_result(head: Header, ending: Ending, content: bytes | None) -> Ending:
    """Return an ending with the JSON of its result, which is in a file where it is large."""
    return ending if content is None else replace(ending, result=_store_json(head, content))


def count_elements(head: Header, step: int, length: int) -> int | None:
    """Add the elements of a step to the batch's, once; return None, or where they exceed the limit what is left of it.

    They are reserved from the organization's day first, so that no element runs that its limit refuses, and
    released where the batch does not take them. Raises StepLimitReached where too few are left.
    """
    if step in head.elements:
        return None
    reserved_at = time.time()
    spending.reserve_steps(head.organization, length, reserved_at)
    try:
        ledger_table().update(
            head.pk,
            "batch",
            f"SET #elements.#{step} = :length, #counted = #counted + :length",
            values={":length": length, ":room": MAX_ELEMENTS - length},
            condition=f"attribute_not_exists(#elements.#{step}) AND #counted <= :room",
        )
    except ConditionFailed:
        release_steps(head.organization, length, reserved_at)
        head = _load_header(head.pk)
        return None if step in head.elements else MAX_ELEMENTS - sum(head.elements.values())
    return None


def store_list(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step with `each` runs over, once, and return the step as it is afterwards."""
    map_items = MapItems(len(values), _store_json(head, json_bytes(values), MAX_INLINE_LIST_BYTES))
    change: Item = {"map_items": encode(map_items), "started_at": now()}
    return _update_entry(head, entry, change, "attribute_not_exists(#ending) AND attribute_not_exists(#map_items)")


def settle(pk: str, step: int, status: Status) -> Header:
    """Give a step that has ended its place in the order of settling, once, and return the header."""
    head = _update_header(
        pk,
        f"SET #seq.#{step} = #settled, #outcome.#{step} = :status, #settled = #settled + :one",
        {":status": status, ":one": 1},
        f"attribute_not_exists(#seq.#{step})",
    )
    if head is None:
        head = _load_header(pk)
    else:
        invocation.count(BATCH_STEPS, by=status)
        if head.done:
            end_batch(head.organization, head.user, head.batch)
    if head.done:  # again after a sandbox that was killed: the event is stored once
        tell_of_end(head)
    return head


def tell_of_end(head: Header) -> None:
    """Tell those who asked for it that a batch is done."""
    from mcpist.events import own  # a cold start need not wait for it

    statuses = {id_: head.outcome[step] for step, id_ in enumerate(head.ids) if step in head.outcome}
    own.batch_finished(head.organization, head.user, head.batch, statuses, head.depth)


def mark_cancelled(head: Header) -> Header:
    """Mark a batch that is not done as cancelled, so that no further step starts, and return the header."""
    is_open = "attribute_not_exists(#cancelled_at) AND #settled < :steps"
    marked = _update_header(head.pk, "SET #cancelled_at = :now", {":steps": len(head.ids)}, is_open)
    return marked or _load_header(head.pk)


def mark_relayed(head: Header) -> Header:
    """Mark a batch as running on the relay, and return the header."""
    marked = _update_header(head.pk, "SET #form = :form", {":form": "relay"}, "attribute_exists(#form)")
    return marked or _load_header(head.pk)


def mark_undone(head: Header, batch: str) -> None:
    """Name in a failed batch the one that takes back what succeeded, which exists; empty where there is none."""
    _update_header(head.pk, "SET #undone_by = :batch", {":batch": batch}, "attribute_not_exists(#undone_by)")


def mark_opened(head: Header, opening: Opening) -> None:
    """Add an opening of the results to a batch, which does not change the batch itself."""
    change = "SET #openings = list_append(if_not_exists(#openings, :none), :new)"
    values = {":none": [], ":new": [encode(opening)]}
    ledger_table().update(head.pk, "batch", change, values=values, condition="attribute_exists(#form)")


def _update_header(pk: str, change: str, values: Item, condition: str) -> Header | None:
    """Return the header after a change; None where the condition fails."""
    try:
        change, values = f"{change}, #changed_at = :now", {**values, ":now": now()}
        return read_header(ledger_table().update(pk, "batch", change, values=values, condition=condition))
    except ConditionFailed:
        return None


def _update_entry(head: Header, entry: Entry, change: Item, condition: str, values: Item | None = None) -> Entry:
    """Return a step or an element after a change, or as it is where the condition fails."""
    if entry.element is not None:  # its first change creates the item
        change = change | _element_attributes(head, entry)
    try:
        item = ledger_table().set(head.pk, sort_key(entry), change, condition=condition, values=values)
    except ConditionFailed:
        item = ledger_table().get(head.pk, sort_key(entry)) or {}
    return read_entry(item) if entry.element is None else read_element(entry, entry.element, item)


def _element_attributes(head: Header, element: Entry) -> Item:
    return {"element": element.element, "expires_at": int(head.expires_at)}


def _store_json(head: Header, content: bytes, max_inline: int = MAX_INLINE_RESULT_BYTES) -> StoredJson:
    """Return a JSON text as it is stored: inline if it is small enough when compressed, else in a file."""
    packed = zlib.compress(content)
    if len(packed) <= max_inline:
        return StoredJson(packed)
    sha256 = storage.digest_of(content)
    path = storage.result_path(head.organization, sha256)
    storage.store(path, content, "application/json")
    return StoredJson(file={"path": path, "sha256": sha256, "size_bytes": len(content)})


def _load_header(pk: str) -> Header:
    return read_header(ledger_table().get(pk, "batch") or {})
