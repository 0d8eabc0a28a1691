"""Elements: what a step with `each` comes to, once all its elements have ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpist.batch.ledger.items import pack
from mcpist.batch.ledger.records import Entry, Header, Status
from mcpist.errors import PayloadTooLarge, from_message, to_message
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import ERRORS

MAX_LIST_BYTES = 50_000_000
"""Of all elements' JSON as one list: several times as much passes through a sandbox's memory."""

MAX_ERROR_MESSAGE_CHARACTERS = 200
MAX_NOTES = 5


@dataclass(frozen=True, slots=True)
class MapResult:
    """How a step ended: the JSON text of its list, and for each element `{"status"}`, packed."""

    status: Status
    content: bytes | None = field(repr=False)
    statuses: bytes = field(repr=False)
    more: str
    error: Mapping[str, Any] | None


def gather_results(
    head: Header, entry: Entry, elements: Sequence[Entry], content: Callable[[Entry], bytes]
) -> MapResult:
    """The step's end by its elements'; one that did not succeed is null in the list."""
    statuses = pack([_element_status(element) for element in elements])
    status = map_status(elements, continue_on_error=entry.index in head.continue_on_error)
    more = _notes(elements)
    error = None if status in {"succeeded", "cancelled"} else _first_error(elements)
    try:
        joined = _join_json(content(element) if element.status == "succeeded" else b"null" for element in elements)
    except PayloadTooLarge as too_large:
        count(ERRORS, by=too_large.code)
        message = to_message(too_large.with_details(line=entry.line, id=entry.id))
        return MapResult("failed", None, statuses, more, message)
    return MapResult(status, joined, statuses, more, error)


def map_status(elements: Sequence[Entry], *, continue_on_error: bool) -> Status:
    """A step with `each` succeeds with at least one element, or with none to run; a write in doubt makes it unknown."""
    found = {element.status for element in elements}
    if "unknown" in found and not continue_on_error:
        return "unknown"
    order: tuple[Status, ...] = ("succeeded", "unknown", "failed", "cancelled")
    return next((status for status in order if status in found), "succeeded")


def _join_json(texts: Iterable[bytes]) -> bytes:
    """JSON texts as one list, which is never read: it may be large."""
    parts, size = [], 0
    for text in texts:
        size += len(text) + 1
        if size > MAX_LIST_BYTES:
            raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_LIST_BYTES)
        parts.append(text)
    return b"[" + b",".join(parts) + b"]"


def _element_status(element: Entry) -> dict[str, Any]:
    """An element's end as `${step.elements[0]}` has it."""
    if element.error is None:
        return {"status": element.status}
    shown = from_message(element.error)
    message = shown.text().message[:MAX_ERROR_MESSAGE_CHARACTERS]
    return {"status": element.status, "error": {"code": shown.code, "message": message}}


def _first_error(elements: Sequence[Entry]) -> dict[str, Any] | None:
    """The first element's error, with its place in the list."""
    for element in elements:
        if element.error is not None:
            details = {**element.error["details"], "element": element.element}
            return {**element.error, "details": details}
    return None


def _notes(elements: Sequence[Entry]) -> str:
    """How to go on with the lists that were cut."""
    notes = [f"element {element.element}: {element.more}" for element in elements if element.more]
    return "\n".join(notes[:MAX_NOTES])
