"""A batch's progress as the endpoint tells it: the resource `mcpist://batches/{id}/progress`."""

from typing import Any

from pydantic import BaseModel, ConfigDict

SETTLED_STATES = ("succeeded", "failed", "skipped", "cancelled", "unknown")


class _ProgressModel(BaseModel):
    """What a newer endpoint tells besides is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Elements(_ProgressModel):
    """How many elements a step with `each` has, and how many of them have settled and failed."""

    count: int
    settled: int
    failed: int = 0


class Step(_ProgressModel):
    """A step; `state` is how it settled, or `running`, `ready` or `waiting`. Times are seconds since the epoch.

    A `kept` one brought its result in the batch that this one resumes, and has no times.
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
        """Whether it has ended for good."""
        return self.state in SETTLED_STATES

    def duration(self, now: float) -> float | None:
        """The seconds that it ran, or has run so far; None for one that did not begin."""
        return None if self.started_at is None else max(0.0, (self.ended_at or now) - self.started_at)


class Progress(_ProgressModel):
    """A batch; `now` is the moment of the answer, by the same clock as all its times."""

    batch: str
    done: bool
    started_at: float
    now: float
    steps: tuple[Step, ...]

    @property
    def settled(self) -> int:
        """How many steps have ended for good."""
        return sum(step.settled for step in self.steps)

    @property
    def ended_at(self) -> float:
        """When its last step ended; for one that still runs, now."""
        ends = [step.ended_at for step in self.steps if step.ended_at is not None]
        return max(ends, default=self.now) if self.done else self.now


def progress_uri(batch: str) -> str:
    """The resource that tells a batch's progress."""
    return f"mcpist://batches/{batch}/progress"


def parse_progress(payload: Any) -> Progress:
    """The progress in what the endpoint told."""
    return Progress.model_validate(payload)
