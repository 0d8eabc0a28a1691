"""Advancing: what one attempt does for a step or an element that has not ended, each under a claim of its own."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from mcpist.aws.attributes import json_bytes
from mcpist.batch.execution.attempts import StepAttempt
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger import transitions
from mcpist.batch.ledger.gathering import Gathering
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Ending, Entry, Header
from mcpist.errors import ExecutionsExhausted, InternalError, McpistError, StoreUnavailable, TooManyElements, to_message
from mcpist.running.run import ToolResult
from mcpist.telemetry.invocation import beside, count_error

type Run = Callable[[], ToolResult]
"""The work of a tool, with everything that it needs."""

MAX_STORE_RETRIES = 3
# A machine retries a fault 11 times, over a minute.
MAX_EXECUTIONS_RETRIES = 10


def advance(attempt: StepAttempt, head: Header, entry: Entry, work: ToolStepWork) -> Entry:
    """Do for a step or an element what this attempt may, and return it as it is afterwards."""
    owner = entry.claim.owner if entry.claim else None
    state = claim_state(attempt, entry)
    if state == "busy":
        return entry
    if attempt.lost or (state == "dead" and not entry.reads):
        return transitions.finish(head, entry, owner, lost_ending(attempt, entry))
    if head.is_stopped:
        return transitions.finish(head, entry, owner, Ending("cancelled"))
    if owner is None and head.failed_needs(entry.index):
        return transitions.finish(head, entry, None, Ending("skipped"))
    return _start(attempt, head, entry, work)


def _start(attempt: StepAttempt, head: Header, entry: Entry, work: ToolStepWork) -> Entry:
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


def read(attempt: StepAttempt, head: Header, entry: Entry, work: ToolStepWork) -> Entry:
    """Run a step that only reads, of a batch that is not stored yet, and return the step as it ended."""
    run = prepare_read(attempt, head, entry, work)
    if isinstance(run, Ending):
        return replace(entry, started_at=now(), ended_at=now(), ending=run)
    return run_read(attempt, head, entry, run)


def prepare_read(attempt: StepAttempt, head: Header, entry: Entry, work: ToolStepWork) -> Ending | Run:
    """Return the work of a read that nobody claims, or how it ends without any."""
    if head.failed_needs(entry.index):
        return Ending("skipped")
    try:
        return work.prepare(head, entry) if work.evaluate_when(head, entry) else Ending("skipped")
    except McpistError as error:
        return _failure(attempt, error)


def run_read(attempt: StepAttempt, head: Header, entry: Entry, run: Run) -> Entry:
    """Run a read, and return it as it ended; its ending is not stored yet."""
    started_at = now()
    ending = transitions.with_result(head, *_work(attempt, entry, run))
    return replace(entry, started_at=started_at, ended_at=now(), ending=ending)


def _run(attempt: StepAttempt, head: Header, entry: Entry, run: Run) -> Entry:
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
        return transitions.finish(head, entry, attempt.request_id, *ended) if is_mine(attempt, entry) else entry
    entry, owner = claim(), attempt.request_id
    return transitions.finish(head, entry, owner, *_work(attempt, entry, run)) if is_mine(attempt, entry) else entry


def is_mine(attempt: StepAttempt, entry: Entry) -> bool:
    """Whether a step that has not ended is claimed by this attempt."""
    return entry.status is None and entry.claim is not None and entry.claim.owner == attempt.request_id


def _work(attempt: StepAttempt, entry: Entry, run: Run) -> tuple[Ending, bytes | None]:
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
        return lost_ending(attempt, entry), None
    return Ending("succeeded", more=result.more, account=result.account), content


def _store_list(head: Header, entry: Entry, values: list[Any]) -> Entry:
    """Store the list that a step runs over, unless it is too long; an empty one ends the step."""
    if not values:
        return transitions.finish(head, entry, None, *Gathering().ending(head, entry))
    limit = entry.step.each_limit
    if len(values) <= limit:
        room = transitions.count_elements(head, entry.index, len(values))
        if room is None:
            return transitions.store_list(head, entry, values)
        limit = room
    place = {"line": entry.step.line, "id": entry.step.id, "field": "each", "reference": entry.step.each}
    error = TooManyElements(**place, elements=len(values), limit=limit)
    return transitions.finish(head, entry, None, Ending("failed", error=_to_message(error)))


def claim_state(attempt: StepAttempt, entry: Entry) -> Literal["free", "busy", "dead"]:
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


def lost_ending(attempt: StepAttempt, entry: Entry) -> Ending:
    """Return how work ends whose sandbox was lost: in doubt if it had begun and may have written."""
    error = _to_message(InternalError(request_id=attempt.request_id))
    return Ending("unknown" if entry.claim and not entry.reads else "failed", error=error)


def _to_message(error: McpistError) -> dict[str, Any]:
    """Return the stored form of the error that a step or an element ends with, and count it."""
    count_error(error.code)
    return to_message(error)
