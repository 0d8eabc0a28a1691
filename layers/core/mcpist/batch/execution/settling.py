"""Settling: how a step of a batch happens once, however often it is entered.

A step is entered, ends (its item has a status then), and settles (the header has its place in the order then). One with
`each` is entered, runs once for each element of its list, and is gathered: then it ends. An element is entered and ends
as a step does, under a claim of its own.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Claim, Ending, Entry, Header
from mcpist.errors import InternalError, McpistError, StoreUnavailable, TooManyElements, to_message
from mcpist.running.run import ToolResult
from mcpist.settings import settings
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import ERRORS

CLAIM_MARGIN_SECONDS = 2
MAX_STORE_RETRIES = 3


class StepBusy(Exception):  # Step Functions retries on this name
    """Another sandbox holds a live claim on the step: come back later."""


@dataclass(frozen=True, slots=True)
class StepAttempt:
    """One invocation that enters a step, an `element` of it, or `gather`s its elements.

    `remaining_seconds` are the seconds until its own deadline, `age_seconds` those since its execution began.
    It is `lost` where all earlier attempts came to nothing.
    """

    pk: str
    step: int
    execution: str
    retry: int
    request_id: str
    remaining_seconds: float
    age_seconds: float = 0
    lost: bool = False
    element: int | None = None
    gather: bool = False

    @property
    def is_execution_expiring(self) -> bool:
        """Whether its execution may end before a step that begins now: then the batch goes on in another one."""
        return self.age_seconds > settings().continue_seconds

    def claim(self) -> Claim:
        """This invocation's claim, which ends some seconds after its own deadline."""
        until = time.time() + self.remaining_seconds + CLAIM_MARGIN_SECONDS
        return Claim(owner=self.request_id, execution=self.execution, retry=self.retry, until=until)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What an attempt came to: the header afterwards, which says what it opened.

    `pending_elements` are the elements that must run before the step can be gathered.
    `must_continue` says that nothing was done, since the batch must go on in another execution, and `replayed` that the
    step had settled before.
    """

    head: Header
    pending_elements: tuple[int, ...] | None = None
    must_continue: bool = False
    replayed: bool = False


class StepWorkProtocol(Protocol):
    """What a step's work needs to know that the ledger does not: tools, and whom they run for."""

    def on_enter(self, head: Header) -> None:
        """Hear first of all whose batch it is."""

    def evaluate_when(self, head: Header, entry: Entry) -> bool:
        """Whether the `when` of the step, or of the element, holds."""

    def evaluate_each(self, head: Header, entry: Entry) -> list[Any]:
        """The list that a step with `each` runs over; a McpistError if it is none."""

    def prepare(self, head: Header, entry: Entry) -> Callable[[], ToolResult]:
        """The work with all it needs at hand, not begun; a McpistError if it cannot be done."""


def enter(attempt: StepAttempt, work: StepWorkProtocol) -> AttemptResult:
    """Bring a step, or an element, as far as it may be brought now.

    A step that is entered before all that it needs has settled is left alone: somebody else will open it.
    """
    if attempt.element is not None:
        return _enter_element(attempt, attempt.element, work)
    head, entry = ledger.load_step(attempt.pk, attempt.step)
    work.on_enter(head)
    if attempt.step in head.seq:
        return AttemptResult(head, replayed=True)
    if not head.is_ready(attempt.step):
        return AttemptResult(head)
    if entry.status is None and not entry.map_items and not attempt.gather:
        if _needs_continuation(attempt, head, entry):
            return AttemptResult(head, must_continue=True)
        entry = _advance(attempt, head, entry, work)
    if entry.status is None and entry.map_items:
        return _enter_map(attempt, head, entry)
    return _settle(attempt, head, entry)


def _settle(attempt: StepAttempt, head: Header, entry: Entry) -> AttemptResult:
    """Settle a step that has ended; who gathers one that has not even begun has come too early."""
    if entry.status is not None:
        return AttemptResult(transitions.settle(head.pk, entry.index, entry.status))
    if attempt.gather and not entry.map_items:
        return AttemptResult(head)
    raise StepBusy(f"step {entry.index}")


def _enter_map(attempt: StepAttempt, head: Header, entry: Entry) -> AttemptResult:
    """Say which elements must run; once they have, end the step and settle it."""
    elements = ledger.get_elements(head.pk, entry)
    pending = tuple(one.element for one in elements if one.status is None and one.element is not None)
    if pending and _needs_continuation(attempt, head, entry):
        return AttemptResult(head, must_continue=True)
    if not (attempt.gather or attempt.lost):
        return AttemptResult(head, pending_elements=pending)
    return _settle(attempt, head, _gather(attempt, head, entry, elements))


def _enter_element(attempt: StepAttempt, number: int, work: StepWorkProtocol) -> AttemptResult:
    """Bring an element to its end; one that the step's list does not have is left alone."""
    head, entry, element = ledger.load_element(attempt.pk, attempt.step, number)
    work.on_enter(head)
    if (
        attempt.step in head.seq
        or entry.map_items is None
        or number >= entry.map_items.count
        or element.status is not None
    ):
        return AttemptResult(head, replayed=True)
    if _needs_continuation(attempt, head, element):
        return AttemptResult(head, must_continue=True)
    if _advance(attempt, head, element, work).status is None:
        raise StepBusy(f"step {attempt.step}, element {number}")
    return AttemptResult(head)


def _needs_continuation(attempt: StepAttempt, head: Header, entry: Entry) -> bool:
    """Whether it is too late in this execution for what may still run; how it ended can always be told."""
    if not attempt.is_execution_expiring or head.is_stopped:
        return False
    ended = entry.claim and (attempt.lost or (not entry.reads and _claim_state(attempt, entry) == "dead"))
    return not ended


def _advance(attempt: StepAttempt, head: Header, entry: Entry, work: StepWorkProtocol) -> Entry:
    """The step or element after this invocation did what it may."""
    owner = entry.claim.owner if entry.claim else None
    match _claim_state(attempt, entry):
        case "busy":
            return entry
        case "dead" if attempt.lost or not entry.reads:
            return transitions.finish(head, entry, owner, _lost_ending(attempt, entry))
        case "free" if attempt.lost:
            return transitions.finish(head, entry, None, Ending("failed", error=_lost_error(attempt)))
    if head.is_stopped:
        return transitions.finish(head, entry, owner, Ending("cancelled"))
    if owner is None and head.failed_needs(entry.index):
        return transitions.finish(head, entry, None, Ending("skipped"))
    return _start(attempt, head, entry, work)


def _start(attempt: StepAttempt, head: Header, entry: Entry, work: StepWorkProtocol) -> Entry:
    """Run a step or an element, or make out the list that it runs over, unless its `when` forbids it.

    All that can be known before it is known before the claim: a fault there costs nothing, and is tried again.
    """
    owner = entry.claim.owner if entry.claim else None
    try:
        if not work.evaluate_when(head, entry):
            return transitions.finish(head, entry, owner, Ending("skipped"))
        if entry.step.each and entry.element is None:
            return _store_list(head, entry, work.evaluate_each(head, entry))
        run = work.prepare(head, entry)
    except McpistError as error:
        _raise_if_retryable(attempt, error)
        return transitions.finish(head, entry, owner, Ending("failed", error=_to_error(error)))
    entry = transitions.claim(head, entry, attempt.claim())
    mine = entry.status is None and entry.claim is not None and entry.claim.owner == attempt.request_id
    return _run(attempt, head, entry, run) if mine else entry


def _run(attempt: StepAttempt, head: Header, entry: Entry, run: Callable[[], ToolResult]) -> Entry:
    """Do the work, for which this sandbox alone has the claim."""
    end = partial(transitions.finish, head, entry, attempt.request_id)
    try:
        result = run()
    except McpistError as error:
        if entry.reads:
            _raise_if_retryable(attempt, error)
        return end(Ending("failed", error=_to_error(error)))
    try:
        content = json.dumps(result.json, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    except (TypeError, ValueError, RecursionError):
        return end(_lost_ending(attempt, entry))
    return end(Ending("succeeded", more=result.more, account=result.account), content)


def _store_list(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step runs over, if it is not too long; an empty one ends it."""
    if not values:
        return ledger.gather(head, entry, [])
    limit = entry.step.each_limit
    if len(values) <= limit:
        room = transitions.count_elements(head, entry.index, len(values))
        if room is None:
            return transitions.store_list(head, entry, values)
        limit = room
    place = {"line": entry.step.line, "id": entry.step.id, "field": "each", "reference": entry.step.each}
    error = TooManyElements(**place, elements=len(values), limit=limit)
    return transitions.finish(head, entry, None, Ending("failed", error=_to_error(error)))


def _gather(attempt: StepAttempt, head: Header, entry: Entry, elements: list[Entry]) -> Entry:
    """End a step whose elements have all ended; those of a stopped batch, and those that were lost, are ended first."""
    found = [_end_element(attempt, head, element) for element in elements]
    return entry if _has_unfinished(found) else ledger.gather(head, entry, found)


def _end_element(attempt: StepAttempt, head: Header, element: Entry) -> Entry:
    """An element after the Map that was to run it: whoever claims it still, lives outside this execution."""
    if element.status is not None or (element.claim and element.claim.is_live):
        return element
    owner = element.claim.owner if element.claim else None
    if attempt.lost:
        ending = _lost_ending(attempt, element) if element.claim else Ending("failed", error=_lost_error(attempt))
        return transitions.finish(head, element, owner, ending)
    if head.is_stopped and not (element.claim and not element.reads):
        return transitions.finish(head, element, owner, Ending("cancelled"))
    return element


def _claim_state(attempt: StepAttempt, entry: Entry) -> Literal["free", "busy", "dead"]:
    """Whether it is unclaimed, or its claim lives or is dead.

    A claim is dead past its end, or when the same execution has come back with a later retry: Step Functions
    retries only after it has seen the former invocation end.
    """
    claim = entry.claim
    if claim is None:
        return "free"
    ended = claim.execution == attempt.execution and (claim.retry < attempt.retry or attempt.lost)
    return "dead" if ended or not claim.is_live else "busy"


def _raise_if_retryable(attempt: StepAttempt, error: McpistError) -> None:
    """Raise a store's outage, a few times: Step Functions waits and comes back. What fails for good is the step's."""
    if isinstance(error, StoreUnavailable) and attempt.retry < MAX_STORE_RETRIES and not attempt.lost:
        raise error


def _has_unfinished(elements: list[Entry]) -> bool:
    return any(element.status is None for element in elements)


def _lost_ending(attempt: StepAttempt, entry: Entry) -> Ending:
    """Return how work ends that a sandbox may have done before it was lost: a write is in doubt."""
    return Ending("failed" if entry.reads else "unknown", error=_lost_error(attempt))


def _lost_error(attempt: StepAttempt) -> dict[str, Any]:
    return _to_error(InternalError(request_id=attempt.request_id))


def _to_error(error: McpistError) -> dict[str, Any]:
    """The error that a step or an element ends with."""
    count(ERRORS, by=error.code)
    return to_message(error)
