"""The ledger's items: a batch's values as the table keeps them, with times in whole milliseconds.

A batch may be under way while a release takes the place of another: `format` says which one wrote it. This one reads
its own and all older ones, and of a newer one says so, so that Step Functions tries again and meets the newer release.
"""

import json
import time
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.aws.table import Table
from mcpist.batch.ledger.records import Claim, Entry, Header, MapItems
from mcpist.errors import NewerFormat, PayloadTooLarge
from mcpist.settings import settings

LEDGER_FORMAT = 2
MAX_PARAMS_BYTES = 300_000


def table() -> Table:
    """The table of the ledger."""
    return Table(settings().ledger_table, "ledger")


def step_key(step: int) -> str:
    """The sort key of a step's item."""
    return f"step#{step:03}"


def element_key(step: int, element: int | str = "") -> str:
    """The sort key of an element's item, or the prefix of all of a step's.

    It does not begin as a step's does: who reads a batch's steps reads no elements.
    """
    return f"element#{step:03}#{element if element == '' else f'{element:04}'}"


def sort_key(entry: Entry) -> str:
    """The sort key of an entry."""
    return step_key(entry.index) if entry.element is None else element_key(entry.index, entry.element)


def now_milliseconds() -> int:
    """Now, as the table keeps it."""
    return int(time.time() * 1000)


def pack(value: Any) -> bytes:
    """A value as compressed JSON."""
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def unpack(packed: bytes) -> Any:
    """The value of compressed JSON."""
    return json.loads(zlib.decompress(packed))


def header_item(head: Header) -> Item:
    """A new batch's header as it is first written."""
    return {
        "pk": head.pk,
        "sk": "batch",
        "format": LEDGER_FORMAT,
        "organization": head.organization,
        "batch": head.batch,
        "user": head.user,
        "issuer": head.issuer,
        "sub": head.sub,
        "roles": list(head.roles),
        "warrant": head.warrant,
        "ids": list(head.ids),
        "needs": [sorted(needs) for needs in head.needs],
        "fans": sorted(head.map_steps),
        "lenient": sorted(head.continue_on_error),
        "form": head.form,
        "resumes": head.resumes,
        "correlation": head.correlation,
        "started_at": int(head.started_at * 1000),
        "closes_at": int(head.closes_at * 1000),
        "expires_at": int(head.expires_at),
        "seq": {f"s{step}": place for step, place in head.seq.items()},
        "outcome": {f"s{step}": status for step, status in head.outcome.items()},
        "elements": {f"s{step}": count for step, count in head.elements.items()},
        "settled": len(head.seq),
        "counted": sum(head.elements.values()),
    }


def read_header(item: Item) -> Header:
    """The header of an item; NewerFormat where a newer release wrote it."""
    if item["format"] > LEDGER_FORMAT:
        raise NewerFormat(format=item["format"], known=LEDGER_FORMAT)
    return Header(
        pk=item["pk"],
        organization=item["organization"],
        batch=item["batch"],
        user=item["user"],
        issuer=item["issuer"],
        sub=item["sub"],
        roles=tuple(item["roles"]),
        warrant=item["warrant"],
        ids=tuple(item["ids"]),
        needs=tuple(map(frozenset, item["needs"])),
        started_at=item["started_at"] / 1000,
        closes_at=item["closes_at"] / 1000,
        expires_at=item["expires_at"],
        map_steps=frozenset(item.get("fans", ())),
        continue_on_error=frozenset(item.get("lenient", ())),
        form=item.get("form", "machine"),
        resumes=item.get("resumes", ""),
        correlation=item.get("correlation", ""),
        cancelled_at=_seconds(item.get("cancelled_at")),
        changed_at=_seconds(item.get("changed_at")),
        seq=_by_step(item["seq"]),
        outcome=_by_step(item["outcome"]),
        elements=_by_step(item.get("elements", {})),
    )


def entry_item(head: Header, entry: Entry) -> Item:
    """A step as it is first written: before it has begun, or with what another batch has made of it."""
    attributes: Item = {
        "pk": head.pk,
        "sk": step_key(entry.index),
        "index": entry.index,
        "line": entry.line,
        "id": entry.id,
        "module": entry.module,
        "tool": entry.tool,
        "effect": entry.effect,
        "params": pack(entry.params),
        "output": entry.output,
        "raw_output": entry.raw_output,
        "each": entry.each,
        "each_limit": entry.each_limit,
        "when": pack(entry.when),
        "timeout": entry.timeout,
        "expires_at": int(head.expires_at),
    }
    return attributes | _end_attributes(entry) | (map_items_attributes(entry.map_items) if entry.map_items else {})


def element_item(head: Header, entry: Entry) -> Item:
    """An element that has ended in another batch."""
    place: Item = {"pk": head.pk, "sk": sort_key(entry), "element": entry.element, "expires_at": int(head.expires_at)}
    return place | _end_attributes(entry)


def map_items_attributes(map_items: MapItems) -> Item:
    """The list of a step with `each`, as it stands in the step's item."""
    kept = {"list": map_items.content, "list_file": map_items.file}
    return {"count": map_items.count} | {name: value for name, value in kept.items() if value is not None}


def claim_item(claim: Claim) -> Item:
    """A claim as it stands in its step's item."""
    return {
        "owner": claim.owner,
        "execution": claim.execution,
        "retry": claim.retry,
        "until": int(claim.until * 1000),
    }


def check_size(params: Any, when: Any) -> None:
    """PayloadTooLarge where a step's params and `when` do not fit into an item, compressed."""
    text = json.dumps([params, when], ensure_ascii=False).encode(errors="replace")
    if len(text) > MAX_PARAMS_BYTES and (size := len(zlib.compress(text))) > MAX_PARAMS_BYTES:
        raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_PARAMS_BYTES)


def read_entry(item: Item) -> Entry:
    """The step of an item."""
    entry = Entry(
        index=item["index"],
        line=item.get("line", item["index"] + 1),
        id=item["id"],
        module=item["module"],
        tool=item["tool"],
        effect=item["effect"],
        params=unpack(item["params"]),
        output=item["output"],
        raw_output=item["raw_output"],
        each=item.get("each", ""),
        each_limit=item.get("each_limit", 0),
        when=unpack(item["when"]) if "when" in item else None,
        timeout=item.get("timeout"),
    )
    map_items = MapItems(item["count"], item.get("list"), item.get("list_file")) if "count" in item else None
    return replace(entry, map_items=map_items, **_progress_fields(item))


def read_element(entry: Entry, element: int, item: Item | None) -> Entry:
    """An element of a step, from its item, or as it is before it has one."""
    return replace(entry, element=element, **_progress_fields(item or {}))


def _progress_fields(item: Item) -> dict[str, Any]:
    """What has become of a step or an element so far."""
    claim = item.get("claim")
    return {
        "claim": Claim(**{**claim, "until": claim["until"] / 1000}) if claim else None,
        "status": item.get("status"),
        "content": item.get("content"),
        "file": item.get("file"),
        "statuses": item.get("statuses"),
        "more": item.get("more", ""),
        "account": item.get("account", ""),
        "error": json.loads(item["error"]) if "error" in item else None,
        "started_at": _seconds(item.get("started_at")),
        "ended_at": _seconds(item.get("ended_at")),
    }


def _end_attributes(entry: Entry) -> Item:
    """What a step or an element ended with; nothing before it has ended."""
    if entry.status is None:
        return {}
    kept: Item = {
        "status": entry.status,
        "content": entry.content,
        "file": entry.file,
        "statuses": entry.statuses,
        "more": entry.more or None,
        "account": entry.account or None,
        "error": None if entry.error is None else json.dumps(entry.error),
        "started_at": None if entry.started_at is None else int(entry.started_at * 1000),
        "ended_at": None if entry.ended_at is None else int(entry.ended_at * 1000),
    }
    return {name: value for name, value in kept.items() if value is not None}


def _by_step(kept: Mapping[str, Any]) -> dict[int, Any]:
    """A map whose keys `s7` are steps."""
    return {int(name[1:]): value for name, value in kept.items()}


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
