"""Which generated machines have had their day, and their removal while batches go on starting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcpist.aws.stores import client, reaching, refused
from mcpist.batch.machine import uses
from mcpist.batch.machine.uses import NOTED_SECONDS, Standing, Use
from mcpist.settings import settings

UNUSED_SECONDS = 7 * 86_400
# A note may be a day old, and a batch may run for most of an hour after it.
QUIET_SECONDS = NOTED_SECONDS + 3_600
# Of the account's limit: other programs make machines, too.
FULL = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A generated machine that nobody can be using, and since when nobody does."""

    machine: Standing
    use: Use | None
    last: float


def chosen(
    machines: Sequence[Standing], used: Mapping[str, Use], *, stack: str, limit: int, now: float
) -> list[Candidate]:
    """The machines to remove, least recently used first: the unused, and more while the account is nearly full."""
    ours = [machine for machine in machines if uses.generated(machine.name, stack)]
    quiet = sorted(_quiet(ours, used, now), key=lambda candidate: candidate.last)
    unused = sum(candidate.last < now - NOTED_SECONDS - UNUSED_SECONDS for candidate in quiet)
    excess = len(machines) - int(limit * FULL)
    return quiet[: max(unused, excess, 0)]


def _quiet(machines: Iterable[Standing], used: Mapping[str, Use], now: float) -> Iterable[Candidate]:
    """Those that are not in use; one that has begun to leave comes first, since batches go around it already."""
    for machine in machines:
        use = used.get(machine.name)
        last = max(machine.created_at, use.used_at if use and use.used_at else 0)
        if use and use.leaving:
            yield Candidate(machine, use, 0)
        elif last < now - QUIET_SECONDS:
            yield Candidate(machine, use, last)


def remove(candidate: Candidate) -> bool:
    """Remove a machine, unless another stack made it or a batch has just wanted it; whether it is gone."""
    machine = candidate.machine
    leaving = candidate.use is not None and candidate.use.leaving
    if not _is_ours(machine) or not (leaving or uses.leave(machine.name, candidate.use)):
        return False
    with reaching("Step Functions"):
        client("stepfunctions").delete_state_machine(stateMachineArn=machine.arn)
    return True


def _is_ours(machine: Standing) -> bool:
    """Whether the tag says so, too: of two long stack names, machines' names keep the same beginning."""
    try:
        with reaching("Step Functions"):
            tags = client("stepfunctions").list_tags_for_resource(resourceArn=machine.arn)["tags"]
    except Exception as error:
        if refused(error, "ResourceNotFound"):  # it was listed, but has gone meanwhile
            return False
        raise
    return {"key": uses.STACK_TAG, "value": settings().stack} in tags
