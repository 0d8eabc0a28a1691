"""The picture of a batch: its graph as boxes and lines, each box with its step's id, tool, state and duration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from console.batches.layout import Layout, layout
from mcpist.batch.timeline import Progress, StepProgress, TimelineRow, timeline_rows
from mcpist.visible_text import visible

MAX_LABEL_COLUMNS = 20
MAX_TOOL_COLUMNS = 24
STATES = ("waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled", "unknown")
CHART_WIDTH = 1_000
"""The width of the whole time; a browser stretches it to the room that there is."""
MIN_STEP_BAR_WIDTH = 6


@dataclass(frozen=True, slots=True)
class StepBox:
    """A step of the picture."""

    step: StepProgress
    left: int
    top: int
    label: str
    """The step's id, as far as it has room."""
    tool: str
    seconds: float | None
    """The duration, so far where it still runs."""
    critical: bool

    @property
    def is_map(self) -> bool:
        """Whether it runs for each element of a list."""
        return self.step.elements is not None


@dataclass(frozen=True, slots=True)
class Picture:
    """A batch as a picture."""

    drawn: Layout
    boxes: Sequence[StepBox]
    settled: frozenset[int]
    """The steps that have settled; a line has where all are that it leads on behind."""


@dataclass(frozen=True, slots=True)
class StepBar:
    """A row of the timeline, with its places on the scale of the whole time."""

    row: TimelineRow
    waits_from: int
    """The end of its last need."""
    begins: int
    width: int
    """0 for a step that never ran."""

    @property
    def seconds(self) -> float | None:
        """The duration; None before its end."""
        row = self.row
        return None if row.started is None or row.ended is None else row.ended - row.started


def picture(progress: Progress, critical: Sequence[str] = ()) -> Picture:
    """Return the picture of a batch at a moment; `critical` are the steps on the critical path."""
    number = {step.id: index for index, step in enumerate(progress.steps)}
    drawn = layout(tuple(frozenset(number[need] for need in step.needs) for step in progress.steps))
    boxes = []
    for step, place in zip(progress.steps, drawn.boxes, strict=True):
        label, tool = fitted(step.id, MAX_LABEL_COLUMNS), fitted(step.tool, MAX_TOOL_COLUMNS)
        boxes.append(StepBox(step, *place, label, tool, step.duration(progress.now), step.id in critical))
    return Picture(drawn, boxes, frozenset(index for index, step in enumerate(progress.steps) if step.settled))


def fitted(text: str, columns: int) -> str:
    """Return a text from outside, cut to so many columns; a wide character takes two."""
    shown, used = visible(text), 0
    for place, character in enumerate(shown):
        used += 2 if east_asian_width(character) in "WF" else 1
        if used > columns:
            return f"{shown[: max(0, place - 1)]}…"  # which takes a column, too
    return shown


def count_states(progress: Progress) -> Mapping[str, int]:
    """Return how many steps have each state, without the states that none has."""
    found = [step.state for step in progress.steps]
    return {state: count for state in STATES if (count := found.count(state))}


def bars(progress: Progress) -> Sequence[StepBar]:
    """Return a bar for each step, in the order in which they could begin."""
    whole = max(progress.ended_at - progress.started_at, 0.001)
    return [_bar(row, whole) for row in sorted(timeline_rows(progress), key=lambda row: _begin(row, whole))]


def _begin(row: TimelineRow, whole: float) -> float:
    """Return when a step began, else when it ended without; those that wait come last."""
    return next((moment for moment in (row.started, row.ended, row.opened) if moment is not None), whole)


def _bar(row: TimelineRow, whole: float) -> StepBar:
    def place(moment: float) -> int:
        return min(round(moment / whole * CHART_WIDTH), CHART_WIDTH)

    if row.started is None:
        at = place(whole if row.ended is None else row.ended)
        return StepBar(row, at, at, 0)
    end = max(place(whole if row.ended is None else row.ended), MIN_STEP_BAR_WIDTH)
    begins = min(place(row.started), end - MIN_STEP_BAR_WIDTH)
    opened = begins if row.opened is None else min(place(row.opened), begins)
    return StepBar(row, opened, begins, end - begins)
