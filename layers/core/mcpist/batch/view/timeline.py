"""The timeline of a batch: which step waited for which, and the critical path."""

from dataclasses import dataclass

from mcpist.batch.view.progress import Progress, Step


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A step in time, in seconds since the batch's start."""

    id: str
    tool: str
    state: str
    after: str
    """The need that ended last, for which the step waited."""
    opened: float | None
    """The end of that need."""
    started: float | None
    ended: float | None
    critical: bool
    """Whether the step is on the critical path."""

    @property
    def waited(self) -> float | None:
        """The seconds from `opened` to `started`: the overhead of the machine."""
        return None if self.started is None or self.opened is None else max(0.0, self.started - self.opened)


def timeline_rows(progress: Progress) -> list[TimelineRow]:
    """Return a row for each step, in the order of the batch."""
    steps = {step.id: step for step in progress.steps}
    critical = set(critical_path(progress))
    return [_row(progress, step, steps, critical=step.id in critical) for step in progress.steps]


def critical_path(progress: Progress) -> list[str]:
    """Return the critical path: from the step that ended last, back to the need of each that ended last."""
    steps = {step.id: step for step in progress.steps}
    found: list[str] = []
    at = _last(list(steps.values()))
    while at is not None:
        found.append(at.id)
        at = _last([steps[need] for need in at.needs])
    return found[::-1]


def _row(progress: Progress, step: Step, steps: dict[str, Step], *, critical: bool) -> TimelineRow:
    def since(moment: float | None) -> float | None:
        return None if moment is None else max(0.0, moment - progress.started_at)

    need = _last([steps[need] for need in step.needs])
    opened = None if step.waits_for else need.ended_at if need else progress.started_at
    after = need.id if need else ""
    ended = since(step.ended_at)
    return TimelineRow(step.id, step.tool, step.state, after, since(opened), since(step.started_at), ended, critical)


def _last(steps: list[Step]) -> Step | None:
    """Return the step that ended last."""
    return max((step for step in steps if step.ended_at is not None), key=lambda step: step.ended_at or 0, default=None)
