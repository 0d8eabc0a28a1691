"""Going on: starting the executions in which a batch continues."""

from typing import Any

from mcpist.batch.execution import executions
from mcpist.batch.execution.settling import Entered, Entrance, StepBusy
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.errors import InternalError


def begin(head: Header, machine: str) -> None:
    """Start an execution of the relay for each step that may run now."""
    _relay(head, [step for step in head.open if head.ready(step)], machine)


def relay(entrance: Entrance, entered: Entered, machine: str) -> None:
    """Start an execution of the relay for each step that the settling of this one opened.

    Where the step had settled before, its successors have most likely been started: of those nobody has begun yet.
    """
    head = entered.head
    opened = head.go(entrance.step)
    if entered.replayed and opened:
        found = ledger.entries(head.pk, opened)
        opened = [entry.index for entry in found if entry.index not in head.seq and entry.claim is None]
    _relay(head, opened, machine)


def continue_(entrance: Entrance, head: Header, machine: str, *, relayed: bool) -> None:
    """Start the same machine again, once: settled steps replay there, and the others run."""
    name = executions.following(entrance.execution)
    match executions.take(head, name, entrance.request):
        case "taken":
            raise StepBusy(name)
        case "mine":
            given: dict[str, Any] = {"batch": head.pk} | ({"step": entrance.step} if relayed else {})
            _start(machine, name, given, entrance.request)
            executions.note(head, name)


def _relay(head: Header, steps: list[int], machine: str) -> None:
    for step in steps:
        _start(machine, f"{head.batch}-{step}", {"batch": head.pk, "step": step}, head.batch)


def _start(machine: str, name: str, given: dict[str, Any], request: str) -> None:
    """Start an execution; a machine that is running is there."""
    if not executions.begin(machine, name, given):
        raise InternalError(request_id=request)
