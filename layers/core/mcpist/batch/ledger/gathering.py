"""The gathering of a step with `each`: how its elements ended becomes how the step ends."""

from collections.abc import Callable
from typing import Any

from mcpist.aws.attributes import pack
from mcpist.batch.ledger.records import Ending, Entry, Header, Status
from mcpist.errors import PayloadTooLarge, from_message, to_message
from mcpist.telemetry.invocation import count_error

# Of the JSON of all elements as one list: a sandbox's memory holds it several times.
MAX_GATHERED_BYTES = 50_000_000
# Compressed. A thousand different errors take about as much.
MAX_STATUSES_BYTES = 65_536
MAX_ERROR_MESSAGE_CHARACTERS = 200
MAX_NOTES = 5


class Gathering:
    """The elements of a step, added in the order of its list; of their items only what the step needs is kept."""

    def __init__(self) -> None:
        self.pending: list[Entry] = []
        """The elements that have not ended."""
        self._statuses: list[dict[str, Any]] = []
        self._results: list[bytes] = []
        self._size = 0
        self._notes: list[str] = []
        self._account = ""
        self._error: dict[str, Any] | None = None

    def add(self, element: Entry, load: Callable[[Entry], bytes]) -> None:
        """Add the next element; `load` returns the JSON of one that succeeded. With a pending one it is not called."""
        if element.ending is None:
            self.pending.append(element)
            return
        if element.ending.more and len(self._notes) < MAX_NOTES:
            self._notes.append(f"element {element.element}: {element.ending.more}")
        self._account = self._account or element.ending.account
        self._statuses.append(_element_status(element))
        if self._error is None and element.error is not None:
            self._error = {**element.error, "details": {**element.error["details"], "element": element.element}}
        if not self.pending and self._size <= MAX_GATHERED_BYTES:
            self._add_result(load(element) if element.status == "succeeded" else b"null")

    def _add_result(self, content: bytes) -> None:
        self._size += len(content) + 1
        self._results.append(content)
        if self._size > MAX_GATHERED_BYTES:
            self._results.clear()

    def ending(self, head: Header, entry: Entry) -> tuple[Ending, bytes | None]:
        """Return how the step ends, and its JSON text: a list with null for each element that did not succeed."""
        statuses: set[Any] = {one["status"] for one in self._statuses}
        status = map_status(statuses, continue_on_error=entry.index in head.continue_on_error)
        error = None if status in {"succeeded", "cancelled"} else self._error
        result: bytes | None = None
        if self._size > MAX_GATHERED_BYTES:
            too_large = PayloadTooLarge(size_bytes=self._size, limit_bytes=MAX_GATHERED_BYTES)
            count_error(too_large.code)
            status, error = "failed", to_message(too_large.with_details(line=entry.step.line, id=entry.step.id))
        else:  # joined without parsing them: they may be large
            result = b"[" + b",".join(self._results) + b"]"
        more, packed = "\n".join(self._notes), _pack_statuses(self._statuses)
        return Ending(status, more=more, account=self._account, error=error, packed_statuses=packed), result


def map_status(statuses: set[Status], *, continue_on_error: bool) -> Status:
    """Return `succeeded` for one element or more that did, or for an empty list; a write in doubt gives `unknown`."""
    if "unknown" in statuses and not continue_on_error:
        return "unknown"
    order: tuple[Status, ...] = ("succeeded", "unknown", "failed", "cancelled")
    return next((status for status in order if status in statuses), "succeeded")


def _element_status(element: Entry) -> dict[str, Any]:
    """Return the value of `${step.elements[0]}`."""
    if element.error is None:
        return {"status": element.status}
    error = from_message(element.error)
    message = error.text().message[:MAX_ERROR_MESSAGE_CHARACTERS]
    return {"status": element.status, "error": {"code": error.code, "message": message}}


def _pack_statuses(statuses: list[dict[str, Any]]) -> bytes:
    """Return the statuses compressed; without the messages of errors where the item of a step has no room for them."""
    if len(packed := pack(statuses)) <= MAX_STATUSES_BYTES:
        return packed
    without = [one | {"error": {**one["error"], "message": ""}} if "error" in one else one for one in statuses]
    return pack(without)
