"""Settling: each step of a batch happens once, however often it is entered.

A step is entered, ends (its item has an ending), and settles (the header has its place in the order). A step with
`each` is entered, runs once for each element of its list, is gathered, and then ends and settles. An element is entered
and ends like a step, under a claim of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from mcpist.aws.attributes import json_bytes
from mcpist.batch.execution.attempts import AttemptResult, StepAttempt, StepBusy, StepWork
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Ending, Entry, Header
from mcpist.errors import ExecutionsExhausted, InternalError, McpistError, StoreUnavailable, TooManyElements, to_message
from mcpist.running.run import ToolResult
from mcpist.telemetry.invocation import beside, count_error

MAX_STORE_RETRIES = 3
# A machine retries a fault 11 times, over a minute.
MAX_EXECUTIONS_RETRIES = 10


def enter(attempt: StepAttempt, work: StepWork) -> AttemptResult:
    """Bring a step or an element as far as possible now.

    Nothing happens to a step that is entered before its needs have settled: their settling opens it.
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
    """Settle a step that has ended; an attempt to gather a step that has not begun changes nothing."""
    if entry.status is not None:
        return AttemptResult(transitions.settle(head.pk, entry.index, entry.status))
    if attempt.gather and not entry.map_items:
        return AttemptResult(head)
    raise StepBusy(f"step {entry.index}")


def _enter_map(attempt: StepAttempt, head: Header, entry: Entry) -> AttemptResult:
    """Return the elements that must run; once they have, end the step and settle it."""
    elements = ledger.get_elements(head.pk, entry)
    pending = tuple(entry.element for entry in elements if entry.status is None and entry.element is not None)
    if pending and _needs_continuation(attempt, head, entry):
        return AttemptResult(head, must_continue=True)
    if not (attempt.gather or attempt.lost):
        return AttemptResult(head, pending_elements=pending)
    # Lost elements and those of a stopped batch are ended first.
    ended = [_end_element(attempt, head, element) for element in elements]
    all_ended = all(element.status is not None for element in ended)
    return _settle(attempt, head, ledger.gather(head, entry, ended) if all_ended else entry)


def _enter_element(attempt: StepAttempt, number: int, work: StepWork) -> AttemptResult:
    """Bring an element to its end; nothing happens for a number that the step's list does not have."""
    head, entry, element = ledger.load_element(attempt.pk, attempt.step, number)
    work.on_enter(head)
    exists = entry.map_items is not None and number < entry.map_items.count
    if attempt.step in head.seq or not exists or element.status is not None:
        return AttemptResult(head, replayed=True)
    if _needs_continuation(attempt, head, element):
        return AttemptResult(head, must_continue=True)
    if _advance(attempt, head, element, work).status is None:
        raise StepBusy(f"step {attempt.step}, element {number}")
    return AttemptResult(head)


def _needs_continuation(attempt: StepAttempt, head: Header, entry: Entry) -> bool:
    """Return whether work that may still run must run in a later execution; ending without work is always possible."""
    if not attempt.is_execution_expiring or head.is_stopped:
        return False
    ends_without_work = attempt.lost or (not entry.reads and _claim_state(attempt, entry) == "dead")
    return not (entry.claim and ends_without_work)


def _advance(attempt: StepAttempt, head: Header, entry: Entry, work: StepWork) -> Entry:
    """Do for a step or an element what this attempt may, and return it as it is afterwards."""
    owner = entry.claim.owner if entry.claim else None
    state = _claim_state(attempt, entry)
    if state == "busy":
        return entry
    if attempt.lost or (state == "dead" and not entry.reads):
        return transitions.finish(head, entry, owner, _lost_ending(attempt, entry))
    if head.is_stopped:
        return transitions.finish(head, entry, owner, Ending("cancelled"))
    if owner is None and head.failed_needs(entry.index):
        return transitions.finish(head, entry, None, Ending("skipped"))
    return _start(attempt, head, entry, work)


def _start(attempt: StepAttempt, head: Header, entry: Entry, work: StepWork) -> Entry:
    """Run a step or an element, or evaluate the list that it runs over, unless its `when` does not hold.

    Everything that can fail without work is done before the claim: it can be tried again at no risk.
    """
    owner = entry.claim.owner if entry.claim else None
    try:
        if not work.evaluate_when(head, entry):
            return transitions.finish(head, entry, owner, Ending("skipped"))
        if entry.step.each and entry.element is None:
            return _store_list(head, entry, work.evaluate_each(head, entry))
        run = work.prepare(head, entry)
    except McpistError as error:
        return transitions.finish(head, entry, owner, _failure(attempt, error))
    return _run(attempt, head, entry, run)


def read(attempt: StepAttempt, head: Header, entry: Entry, work: StepWork) -> Entry:
    """Run a step that only reads, of a batch that is not stored yet, and return the step as it ended."""
    started_at = now()
    ending, content = _read(attempt, head, entry, work)
    ending = transitions.with_result(head, ending, content)
    return replace(entry, started_at=started_at, ended_at=now(), ending=ending)


def _read(attempt: StepAttempt, head: Header, entry: Entry, work: StepWork) -> tuple[Ending, bytes | None]:
    if head.failed_needs(entry.index):
        return Ending("skipped"), None
    try:
        if not work.evaluate_when(head, entry):
            return Ending("skipped"), None
        run = work.prepare(head, entry)
    except McpistError as error:
        return _failure(attempt, error), None
    return _work(attempt, entry, run)


def _run(attempt: StepAttempt, head: Header, entry: Entry, run: Callable[[], ToolResult]) -> Entry:
    """Do the work under this sandbox's claim, and end the step with what came of it.

    A read may happen twice, so it does not wait for the claim: only its ending does.
    """
    claim = partial(transitions.claim, head, entry, attempt.claim())
    if entry.reads:
        claimed = beside(claim)
        try:
            ended = _work(attempt, entry, run)
        finally:
            entry = claimed()
        return transitions.finish(head, entry, attempt.request_id, *ended) if _is_mine(attempt, entry) else entry
    entry, owner = claim(), attempt.request_id
    return transitions.finish(head, entry, owner, *_work(attempt, entry, run)) if _is_mine(attempt, entry) else entry


def _is_mine(attempt: StepAttempt, entry: Entry) -> bool:
    """Whether a step that has not ended is claimed by this attempt."""
    return entry.status is None and entry.claim is not None and entry.claim.owner == attempt.request_id


def _work(attempt: StepAttempt, entry: Entry, run: Callable[[], ToolResult]) -> tuple[Ending, bytes | None]:
    """Return how the work ends, and the JSON of its result."""
    try:
        result = run()
    except McpistError as error:
        if entry.reads:
            _raise_if_retryable(attempt, error)
        in_doubt = not entry.reads and error.details.get("may_have_happened")
        return Ending("unknown" if in_doubt else "failed", error=_to_message(error)), None
    try:
        content = json_bytes(result.json)
    except (TypeError, ValueError, RecursionError):
        return _lost_ending(attempt, entry), None
    return Ending("succeeded", more=result.more, account=result.account), content


def _store_list(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step runs over, unless it is too long; an empty one ends the step."""
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
    return transitions.finish(head, entry, None, Ending("failed", error=_to_message(error)))


def _end_element(attempt: StepAttempt, head: Header, element: Entry) -> Entry:
    """End an element that no sandbox runs any more after its Map; a live claim belongs to another execution."""
    if element.status is not None or (element.claim and element.claim.is_live):
        return element
    owner = element.claim.owner if element.claim else None
    if attempt.lost:
        return transitions.finish(head, element, owner, _lost_ending(attempt, element))
    if head.is_stopped and not (element.claim and not element.reads):
        return transitions.finish(head, element, owner, Ending("cancelled"))
    return element


def _claim_state(attempt: StepAttempt, entry: Entry) -> Literal["free", "busy", "dead"]:
    """Return the state of a claim: `free` where there is none.

    It is dead after its end, or when the same execution returns with a later retry: Step Functions retries only after
    it has seen the earlier invocation end.
    """
    claim = entry.claim
    if claim is None:
        return "free"
    ended = claim.execution == attempt.execution and (claim.retry < attempt.retry or attempt.lost)
    return "dead" if ended or not claim.is_live else "busy"


def _raise_if_retryable(attempt: StepAttempt, error: McpistError) -> None:
    """Raise an error that Step Functions may retry a few times; after that the step fails with it.

    A store is unavailable, or the AWS account runs no more functions: then this sandbox makes room for another.
    """
    retries = {StoreUnavailable: MAX_STORE_RETRIES, ExecutionsExhausted: MAX_EXECUTIONS_RETRIES}
    allowed = next((most for kind, most in retries.items() if isinstance(error, kind)), 0)
    if attempt.retry < allowed and not attempt.lost:
        raise error


def _failure(attempt: StepAttempt, error: McpistError) -> Ending:
    """Return how a step ends whose work could not begin, unless another attempt may."""
    _raise_if_retryable(attempt, error)
    return Ending("failed", error=_to_message(error))


def _lost_ending(attempt: StepAttempt, entry: Entry) -> Ending:
    """Return how work ends whose sandbox was lost: in doubt if it had begun and may have written."""
    error = _to_message(InternalError(request_id=attempt.request_id))
    return Ending("unknown" if entry.claim and not entry.reads else "failed", error=error)


def _to_message(error: McpistError) -> dict[str, Any]:
    """Return the stored form of the error that a step or an element ends with, and count it."""
    count_error(error.code)
    return to_message(error)
