"""The results of a step with `each`, put together once all its elements have ended."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mcpist.batch.ledger.records import Ending, Entry, Header, Status
from mcpist.errors import PayloadTooLarge, from_message, to_message
from mcpist.telemetry.invocation import count_error

# Of the JSON of all elements as one list: a sandbox's memory holds it several times.
MAX_LIST_BYTES = 50_000_000
MAX_ERROR_MESSAGE_CHARACTERS = 200
MAX_NOTES = 5


def gather_results(
    head: Header, entry: Entry, elements: Sequence[Entry], content: Callable[[Entry], bytes]
) -> tuple[Ending, bytes | None]:
    """Return how the step ends, and its JSON text: a list with null for each element that did not succeed."""
    status = map_status(elements, continue_on_error=entry.index in head.continue_on_error)
    error = None if status in {"succeeded", "cancelled"} else _first_error(elements)
    result: bytes | None = None
    try:
        result = _join_json(content(element) if element.status == "succeeded" else b"null" for element in elements)
    except PayloadTooLarge as too_large:
        count_error(too_large.code)
        status, error = "failed", to_message(too_large.with_details(line=entry.step.line, id=entry.step.id))
    endings = [element.ending for element in elements if element.ending]
    ending = Ending(
        status,
        more=_notes(elements),
        account=next((ending.account for ending in endings if ending.account), ""),
        error=error,
        statuses=[_element_status(element) for element in elements],
    )
    return ending, result


def map_status(elements: Sequence[Entry], *, continue_on_error: bool) -> Status:
    """Return `succeeded` for one element or more that did, or for an empty list; a write in doubt gives `unknown`."""
    statuses = {element.status for element in elements}
    if "unknown" in statuses and not continue_on_error:
        return "unknown"
    order: tuple[Status, ...] = ("succeeded", "unknown", "failed", "cancelled")
    return next((status for status in order if status in statuses), "succeeded")


def _join_json(texts: Iterable[bytes]) -> bytes:
    """Join JSON texts to one list, without parsing them: they may be large."""
    parts, size = [], 0
    for text in texts:
        size += len(text) + 1
        if size > MAX_LIST_BYTES:
            raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_LIST_BYTES)
        parts.append(text)
    return b"[" + b",".join(parts) + b"]"


def _element_status(element: Entry) -> dict[str, Any]:
    """Return what `${step.elements[0]}` leads to."""
    if element.error is None:
        return {"status": element.status}
    error = from_message(element.error)
    message = error.text().message[:MAX_ERROR_MESSAGE_CHARACTERS]
    return {"status": element.status, "error": {"code": error.code, "message": message}}


def _first_error(elements: Sequence[Entry]) -> dict[str, Any] | None:
    """Return the first element's error, with its place in the list."""
    for element in elements:
        if element.error is not None:
            details = {**element.error["details"], "element": element.element}
            return {**element.error, "details": details}
    return None


def _notes(elements: Sequence[Entry]) -> str:
    """Return how to get the rest of the lists that were cut."""
    notes = [
        f"element {entry.element}: {entry.ending.more}" for entry in elements if entry.ending and entry.ending.more
    ]
    return "\n".join(notes[:MAX_NOTES])
