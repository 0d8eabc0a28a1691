"""The step runner's handler: `{batch, step, retry, execution, ...}` in, `{batch, go}` out.

Optional fields of the event: `lost` for a step whose attempts all failed, `element` for the numbers of some elements of
a step with `each`, `gather` for the step after its elements, `relay` on the fixed machine, where `step` -1 is the start
of a batch. The response names in `each` the elements that must run first: in groups, each for one invocation, where the
event has `groups`. A machine of a release before 2026-11-27 takes them one by one, and sends one number as `element`.
"""

import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mcpist.aws.snapshot import prepare
from mcpist.batch.execution import executions
from mcpist.batch.execution.attempts import AttemptResult, StepAttempt, StepBusy, StepWaits
from mcpist.batch.execution.settling import enter
from mcpist.batch.execution.step_work import ToolStepWork
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller, Proof
from mcpist.errors import InternalError
from mcpist.events import own as own  # it tells of files
from mcpist.people import directory
from mcpist.render.shows import Shows
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE, preloads

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOGGED_FIELDS = ("batch", "step", "element", "gather", "retry", "lost")

# The message of an exception may quote arguments or results; StepBusy and StepWaits make Step Functions retry.
DOOR = Door("step_runner", logs_messages=False, retried=(StepBusy, StepWaits))
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=("mcpist.running.send", *(f"mcpist_services.{name}.tools" for name in NAMES), *preloads()),
)


def run_attempt(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Run the attempt that an event describes."""
    response = _run(_parse(event, context), event)
    invocation.add_fields(opened=list(response["go"]))
    return response


def _run(attempt: StepAttempt, event: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to the machine; on the relay no step, since the opened ones have been started here."""
    response: dict[str, Any] = {"batch": attempt.pk, "go": {}}
    relayed = event.get("relay", False)
    if attempt.step < 0:  # the start of a batch on the relay, before any step has settled
        head = ledger.get_header(attempt.pk)
        _log_entered(head)
        _start_steps(head, [step for step in head.open_steps if head.is_ready(step)], event["machine"])
        return response
    with ToolStepWork(attempt, permissions_of, find_shows, _log_entered) as work:
        result = enter(attempt, work)
        if result.head.awaits_undo:
            from mcpist.batch.execution.undo import undo_failed  # few batches want it

            undo_failed(result.head, permissions_of(result.head), f"{event['machine'].rpartition('-')[0]}-relay")
    if result.must_continue:
        continue_batch(attempt, result.head, event["machine"], relayed=relayed)
        return response
    if result.pending_groups is not None:
        return {**response, "each": [list(group) if attempt.groups else group[0] for group in result.pending_groups]}
    if attempt.elements:
        return response
    if relayed:
        start_opened_steps(attempt, result, event["machine"])
        return response
    response["go"] = {f"s{step}": True for step in result.head.opened_by(attempt.step)}
    return response


def permissions_of(head: Header) -> Permissions:
    """Return the permissions of the user who started a batch, read anew for each step."""
    return Permissions(_caller(head), CATALOGUE)


def find_shows(head: Header, module: str, tool: str) -> Shows:
    """Return the fields of a tool's answers; only those of a module that is no file depend on the caller."""
    catalogue = CATALOGUE if module in CATALOGUE.names else CATALOGUE.of(_caller(head))
    return catalogue.shows(module, tool)


def _caller(head: Header) -> Caller:
    caller = directory.identify(
        head.subject,
        organization=head.organization,
        roles=head.roles,
        proof=Proof("warrant", head.warrant) if head.warrant else None,
    )
    return replace(caller, client=head.client, reading_only=head.reading_only, pins=head.pins)


def _log_entered(head: Header) -> None:
    """Log the request under the correlation id of the batch, which its header holds."""
    invocation.bind_correlation(head.correlation, head.traceparent)
    invocation.log_request()


def _parse(event: dict[str, Any], context: "LambdaContext") -> StepAttempt:
    elements = event.get("element", [])
    return StepAttempt(
        pk=event["batch"],
        step=event["step"],
        execution=event["execution"],
        retry=event.get("retry", 0),
        request_id=context.aws_request_id,
        remaining_seconds=context.get_remaining_time_in_millis() / 1000,
        age_seconds=_age_seconds(event.get("started", "")),
        lost=event.get("lost", False),
        elements=tuple(elements if isinstance(elements, list) else [elements]),
        gather=event.get("gather", False),
        groups=event.get("groups", False),
    )


def _age_seconds(started: str) -> float:
    """Return the seconds since the execution began; 0 for a machine of an older release, which does not send it."""
    return time.time() - datetime.fromisoformat(started).timestamp() if started else 0


def start_opened_steps(attempt: StepAttempt, result: AttemptResult, machine: str) -> None:
    """Start an execution of the relay for each step that settling this one opened.

    Where the step had settled before, its dependents were most likely started then: only those without a claim are
    started again.
    """
    head = result.head
    opened = head.opened_by(attempt.step)
    if result.replayed and opened:
        entries = ledger.get_entries(head.pk, opened)
        opened = [entry.index for entry in entries if entry.index not in head.seq and entry.claim is None]
    _start_steps(head, opened, machine)


def continue_batch(attempt: StepAttempt, head: Header, machine: str, *, relayed: bool) -> None:
    """Start the same machine again, once; settled steps replay there, and the others run."""
    name = executions.next_execution_name(attempt.execution)
    match executions.acquire_start(head, name, attempt.request_id):
        case "taken":
            raise StepBusy(name)
        case "mine":
            payload: dict[str, Any] = {"batch": head.pk} | ({"step": attempt.step} if relayed else {})
            _start_execution(machine, name, payload, attempt.request_id)
            executions.mark_started(head, name)


def _start_steps(head: Header, steps: list[int], machine: str) -> None:
    """Start an execution of the relay for each of some steps."""
    for step in steps:
        _start_execution(machine, f"{head.batch}-{step}", {"batch": head.pk, "step": step}, head.batch)


def _start_execution(machine: str, name: str, payload: dict[str, Any], request: str) -> None:
    """Start an execution of a machine that has executions already, so it must exist."""
    if not executions.start_execution(machine, name, payload):
        raise InternalError(request_id=request)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Settle one step, or run some of its elements, and name the steps that this opened."""
    logged = {name: event[name] for name in LOGGED_FIELDS if name in event}
    response: dict[str, Any] = DOOR.answer(context, lambda: run_attempt(event, context), correlation=None, **logged)
    return response
