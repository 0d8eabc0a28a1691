"""Choose unused generated machines, and remove them while new batches start."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.batch.machine import machine_usage
from mcpist.batch.machine.machine_usage import USE_WRITE_INTERVAL_SECONDS, DeployedMachine, MachineUse
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry import invocation

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

MIN_REMAINING_MILLISECONDS = 5_000
MAX_UNUSED_SECONDS = 7 * 86_400
# A recorded use may be a day old, and its batch may run for most of an hour.
MIN_IDLE_SECONDS = USE_WRITE_INTERVAL_SECONDS + 3_600
# Of the account's limit, which other programs share.
MAX_LIMIT_FRACTION = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A generated machine that no batch can be using; `last_used_at` is 0 for one that is being removed."""

    machine: DeployedMachine
    use: MachineUse | None
    last_used_at: float


def remove_unused(context: "LambdaContext") -> dict[str, Any]:
    """Remove unused machines while there is time, and return how many there were and which are removed."""
    machines = list(machine_usage.list_machines())
    used = machine_usage.list_uses()
    now = time.time()
    existing = {machine.name for machine in machines}
    for name in (name for name, use in used.items() if use.being_removed and name not in existing):
        machine_usage.delete_use(name)
    candidates = select_machines(machines, used, stack=settings().stack_name, limit=settings().machine_limit, now=now)
    removed: list[str] = []
    try:
        for candidate in candidates:
            if context.get_remaining_time_in_millis() < MIN_REMAINING_MILLISECONDS:
                break
            if remove(candidate):
                removed.append(candidate.machine.name)
    except StoreUnavailable as error:  # most likely throttled: AWS deletes only a few machines a second
        invocation.add_fields(stopped_by=error.text().message)
        invocation.count_error(error.code)
    summary = {"machines": len(machines), "candidates": len(candidates), "removed": removed}
    invocation.add_fields(**summary)
    return summary


def select_machines(
    machines: Sequence[DeployedMachine], used: Mapping[str, MachineUse], *, stack: str, limit: int, now: float
) -> list[Candidate]:
    """Return the machines to remove, least recently used first; more of them while the account is nearly full."""
    generated = [machine for machine in machines if machine_usage.is_generated(machine.name, stack)]
    idle = sorted(_idle_machines(generated, used, now), key=lambda candidate: candidate.last_used_at)
    unused = sum(candidate.last_used_at < now - USE_WRITE_INTERVAL_SECONDS - MAX_UNUSED_SECONDS for candidate in idle)
    excess = len(machines) - int(limit * MAX_LIMIT_FRACTION)
    return idle[: max(unused, excess, 0)]


def _idle_machines(
    machines: Iterable[DeployedMachine], used: Mapping[str, MachineUse], now: float
) -> Iterable[Candidate]:
    """Yield the machines without a recent use, and those that are being removed, which batches avoid already."""
    for machine in machines:
        use = used.get(machine.name)
        last_used_at = max(machine.created_at, use.used_at if use and use.used_at else 0)
        if use and use.being_removed:
            yield Candidate(machine, use, 0)
        elif last_used_at < now - MIN_IDLE_SECONDS:
            yield Candidate(machine, use, last_used_at)


def remove(candidate: Candidate) -> bool:
    """Remove a machine unless another stack created it or a batch has just used it; return whether it was removed."""
    machine = candidate.machine
    being_removed = candidate.use is not None and candidate.use.being_removed
    if not _has_stack_tag(machine) or not (being_removed or machine_usage.mark_removing(machine.name, candidate.use)):
        return False
    with store_errors("Step Functions"):
        client("stepfunctions").delete_state_machine(stateMachineArn=machine.arn)
    return True


def _has_stack_tag(machine: DeployedMachine) -> bool:
    """Return whether the machine's tag names this stack; a prefix of a name alone is no proof."""
    try:
        with store_errors("Step Functions"):
            tags = client("stepfunctions").list_tags_for_resource(resourceArn=machine.arn)["tags"]
    except ResourceMissing:  # it was listed, but has been removed meanwhile
        return False
    return {"key": machine_usage.STACK_TAG, "value": settings().stack_name} in tags
