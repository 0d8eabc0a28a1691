"""Start the executions in which a batch continues."""

from typing import Any

from mcpist.batch.execution import executions
from mcpist.batch.execution.attempts import AttemptResult, StepAttempt, StepBusy
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.errors import InternalError


def start_ready_steps(head: Header, machine: str) -> None:
    """Start an execution of the relay for each step that is ready."""
    _start_steps(head, [step for step in head.open_steps if head.is_ready(step)], machine)


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
    for step in steps:
        _start_execution(machine, f"{head.batch}-{step}", {"batch": head.pk, "step": step}, head.batch)


def _start_execution(machine: str, name: str, payload: dict[str, Any], request: str) -> None:
    """Start an execution of a machine that has executions already, so it must exist."""
    if not executions.start_execution(machine, name, payload):
        raise InternalError(request_id=request)
