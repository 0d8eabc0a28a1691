"""A batch as people watch it: its progress, and afterwards which step waited for which, on the critical path."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

SETTLED_STATES = ("succeeded", "failed", "skipped", "cancelled", "unknown")


class _ProgressModel(BaseModel):
    """A frozen model that ignores the fields of a newer endpoint."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Elements(_ProgressModel):
    """The counts of a step with `each`: all elements, settled ones and failed ones."""

    count: int
    settled: int
    failed: int = 0


class StepProgress(_ProgressModel):
    """A step; `state` is its outcome, or `running`, `ready` or `waiting`. Times are seconds since the epoch.

    A `kept` step has its result from the batch that this one resumes, and no times.
    """

    id: str
    tool: str
    state: str
    needs: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None
    elements: Elements | None = None
    kept: bool = False

    @property
    def settled(self) -> bool:
        """Whether the step has settled."""
        return self.state in SETTLED_STATES

    def duration(self, now: float) -> float | None:
        """The seconds that the step ran, or has run so far; None before its start."""
        return None if self.started_at is None else max(0.0, (self.ended_at or now) - self.started_at)


class Progress(_ProgressModel):
    """A batch; `now` is the time of the response, by the same clock as all its times."""

    batch: str
    done: bool
    cancelled: bool = False
    started_at: float
    now: float
    steps: tuple[StepProgress, ...]

    @property
    def settled(self) -> int:
        """The number of settled steps, without those that were cancelled."""
        return sum(step.settled and step.state != "cancelled" for step in self.steps)

    @property
    def state(self) -> str:
        """The state of the batch, in words."""
        if self.cancelled:
            return "cancelled" if self.done else "being cancelled"
        return describe_end(step.state for step in self.steps) if self.done else "running"

    @property
    def ended_at(self) -> float:
        """The end of the last step, or now if the batch still runs."""
        ends = [step.ended_at for step in self.steps if step.ended_at is not None]
        return max(ends, default=self.now) if self.done else self.now


def progress_uri(batch: str) -> str:
    """Return the URI of the resource with a batch's progress."""
    return f"mcpist://batches/{batch}/progress"


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


def describe_end(outcomes: Iterable[str]) -> str:
    """Return the state of a batch that is done, in words: whether all went well."""
    return "done" if {"failed", "unknown"}.isdisjoint(outcomes) else "done with errors"


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


def _row(progress: Progress, step: StepProgress, steps: dict[str, StepProgress], *, critical: bool) -> TimelineRow:
    def since(moment: float | None) -> float | None:
        return None if moment is None else max(0.0, moment - progress.started_at)

    need = _last([steps[need] for need in step.needs])
    opened = None if step.waits_for else need.ended_at if need else progress.started_at
    after = need.id if need else ""
    ended = since(step.ended_at)
    return TimelineRow(step.id, step.tool, step.state, after, since(opened), since(step.started_at), ended, critical)


def _last(steps: list[StepProgress]) -> StepProgress | None:
    """Return the step that ended last."""
    return max((step for step in steps if step.ended_at is not None), key=lambda step: step.ended_at or 0, default=None)
