"""A batch's progress, read from the resource `mcpist://batches/{id}/progress`."""

from typing import Any

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


class Step(_ProgressModel):
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
    started_at: float
    now: float
    steps: tuple[Step, ...]

    @property
    def settled(self) -> int:
        """The number of settled steps."""
        return sum(step.settled for step in self.steps)

    @property
    def ended_at(self) -> float:
        """The end of the last step, or now if the batch still runs."""
        ends = [step.ended_at for step in self.steps if step.ended_at is not None]
        return max(ends, default=self.now) if self.done else self.now


def progress_uri(batch: str) -> str:
    """Return the URI of the resource with a batch's progress."""
    return f"mcpist://batches/{batch}/progress"


def parse_progress(payload: Any) -> Progress:
    """Parse the endpoint's progress."""
    return Progress.model_validate(payload)
