"""Facts: what becomes of a batch, each written once, by conditions that let one writer win.

A fact never changes again. Whoever comes second reads what the first has written and goes on from there, so retries,
duplicate deliveries and second executions all see the same.
"""

import json
import time
import zlib
from collections.abc import Mapping
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.batch.ledger.items import (
    claim_item,
    map_items_attributes,
    now_milliseconds,
    read_element,
    read_entry,
    read_header,
    sort_key,
    table,
)
from mcpist.batch.ledger.records import Claim, Entry, Header, MapItems, Status
from mcpist.files import storage
from mcpist.people import quota
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import BATCH_STEPS

MAX_INLINE_BYTES = 16_384
MAX_ELEMENTS = 1_000


def claim(head: Header, entry: Entry, new_claim: Claim) -> Entry:
    """Claim a step or an element as it was read, unclaimed or by a claim that is dead now; as it then is."""
    expected = "#claim.#owner = :before" if entry.claim else "attribute_not_exists(#claim)"
    values: Item = {":mine": new_claim.owner} | ({":before": entry.claim.owner} if entry.claim else {})
    change: Item = {"claim": claim_item(new_claim), "started_at": now_milliseconds()}
    condition = f"attribute_not_exists(#status) AND ({expected} OR #claim.#owner = :mine)"
    return _update_entry(head, entry, change, condition, values)


def finish(
    head: Header,
    entry: Entry,
    owner: str | None,
    status: Status,
    *,
    content: bytes | None = None,
    statuses: bytes | None = None,
    more: str = "",
    account: str = "",
    error: Mapping[str, Any] | None = None,
) -> Entry:
    """Store how a step or an element ended, for the claim's owner, or for nobody's claim; as it then is.

    Where it has ended already, or another sandbox claims it, or it has begun to run for each element, that stands.
    `content` is the JSON text that it brought.
    """
    change: Item = {"status": status, "ended_at": now_milliseconds()}
    change |= {} if content is None else _store_json(head, content)
    change |= {} if statuses is None else {"statuses": statuses}
    change |= {"more": more} if more else {}
    change |= {"account": account} if account else {}
    change |= {} if error is None else {"error": json.dumps(error)}
    held = "#claim.#owner = :owner" if owner else "attribute_not_exists(#claim)"
    whole = "" if entry.map_items else " AND attribute_not_exists(#count)"
    condition = f"attribute_not_exists(#status) AND {held}{whole}"
    return _update_entry(head, entry, change, condition, {":owner": owner} if owner else {})


def count_elements(head: Header, step: int, length: int) -> int | None:
    """Count the elements of a step into the batch's, once; where they do not fit, how many would.

    They are taken from what the organization has left of its day before they count here, so that none runs that was
    refused, and given back where they do not count; StepLimitReached where that is less.
    """
    if step in head.elements:
        return None
    now = time.time()
    quota.reserve_steps(head.organization, length, now)
    try:
        table().update(
            head.pk,
            "batch",
            f"SET #elements.#s{step} = :length, #counted = #counted + :length",
            values={":length": length, ":room": MAX_ELEMENTS - length},
            condition=f"attribute_not_exists(#elements.#s{step}) AND #counted <= :room",
        )
    except ConditionFailed:
        quota.release_steps(head.organization, length, now)
        head = _load_header(head.pk)
        return None if step in head.elements else MAX_ELEMENTS - sum(head.elements.values())
    return None


def store_list(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step with `each` runs over, once; the step as it then is."""
    packed = _store_json(head, json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    map_items = MapItems(len(values), packed.get("content"), packed.get("file"))
    change = map_items_attributes(map_items) | {"started_at": now_milliseconds()}
    return _update_entry(head, entry, change, "attribute_not_exists(#status) AND attribute_not_exists(#count)")


def settle(pk: str, step: int, status: Status) -> Header:
    """Put a step that has ended into the header's order, once; the header as it is afterwards."""
    head = _try_update_header(
        pk,
        f"SET #seq.#s{step} = #settled, #outcome.#s{step} = :status, #settled = #settled + :one",
        {":status": status, ":one": 1},
        f"attribute_not_exists(#seq.#s{step})",
    )
    if head is None:
        return _load_header(pk)
    invocation.count(BATCH_STEPS, by=status)
    return head


def mark_cancelled(head: Header) -> Header:
    """Note that the batch is cancelled: no further step starts. One that is done stays as it is."""
    return _update_header(
        head.pk,
        "SET #cancelled_at = :now",
        {":now": now_milliseconds(), ":steps": len(head.ids)},
        "attribute_not_exists(#cancelled_at) AND #settled < :steps",
    )


def mark_relayed(head: Header) -> Header:
    """Note that the batch runs on the relay after all."""
    return _update_header(head.pk, "SET #form = :form", {":form": "relay"}, "attribute_exists(#form)")


def _update_header(pk: str, change: str, values: Item, condition: str) -> Header:
    """The header after a change, or as it is where the condition does not hold."""
    return _try_update_header(pk, change, values, condition) or _load_header(pk)


def _try_update_header(pk: str, change: str, values: Item, condition: str) -> Header | None:
    """The header after a change; None where the condition does not hold."""
    try:
        change, values = f"{change}, #changed_at = :now", {**values, ":now": now_milliseconds()}
        return read_header(table().update(pk, "batch", change, values=values, condition=condition))
    except ConditionFailed:
        return None


def _update_entry(head: Header, entry: Entry, change: Item, condition: str, values: Item | None = None) -> Entry:
    """A step or an element after a change, or as it is where the condition does not hold."""
    if entry.element is not None:  # its first change makes the item
        change = change | {"element": entry.element, "expires_at": int(head.expires_at)}
    try:
        item = table().update(
            head.pk,
            sort_key(entry),
            "SET " + ", ".join(f"#{name} = :{name}" for name in change),
            values={f":{name}": value for name, value in change.items()} | (values or {}),
            condition=condition,
        )
    except ConditionFailed:
        item = table().get(head.pk, sort_key(entry)) or {}
    return read_entry(item) if entry.element is None else read_element(entry, entry.element, item)


def _store_json(head: Header, content: bytes) -> Item:
    """A JSON text as an item has it: inline up to 16 KB compressed, else in a file."""
    packed = zlib.compress(content)
    if len(packed) <= MAX_INLINE_BYTES:
        return {"content": packed}
    return {"file": storage.put(head.organization, content).as_dict()}


def _load_header(pk: str) -> Header:
    return read_header(table().get(pk, "batch") or {})
