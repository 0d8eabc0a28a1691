"""The picture of a batch: its graph as boxes and lines, and its timeline as bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.batches.layout import Layout, layout
from mcpist.batch.timeline import Progress, TimelineRow, timeline_rows

STATES = ("waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled", "unknown")
CHART_WIDTH = 1_000
"""The width of the whole time; a browser stretches it to the room that there is."""
MIN_STEP_BAR_WIDTH = 6


@dataclass(frozen=True, slots=True)
class Picture:
    """A batch as a picture."""

    drawn: Layout
    settled: frozenset[int]
    """The steps that have settled; a line has where all are that it leads on behind."""


type StepBar = tuple[TimelineRow, int, int, int]
"""A row of the timeline with its places on the scale of the whole time.

They are the end of its last need, its begin and its width, which is 0 for a step that never ran.
"""


def picture(progress: Progress) -> Picture:
    """Return the picture of a batch at a moment."""
    number = {step.id: index for index, step in enumerate(progress.steps)}
    drawn = layout(tuple(frozenset(number[need] for need in step.needs) for step in progress.steps))
    return Picture(drawn, frozenset(index for index, step in enumerate(progress.steps) if step.settled))


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
        return row, at, at, 0
    end = max(place(whole if row.ended is None else row.ended), MIN_STEP_BAR_WIDTH)
    begins = min(place(row.started), end - MIN_STEP_BAR_WIDTH)
    opened = begins if row.opened is None else min(place(row.opened), begins)
    return row, opened, begins, end - begins
