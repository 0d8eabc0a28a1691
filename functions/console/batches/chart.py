"""The timeline of a batch as bars: when each step could have begun, and when it ran."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcpist.batch.view.progress import Progress
from mcpist.batch.view.timeline import TimelineRow, timeline_rows

CHART_WIDTH = 1_000
"""The width of the whole time; a browser stretches it to the room that there is."""
MIN_BAR_WIDTH = 6


@dataclass(frozen=True, slots=True)
class Bar:
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


def bars(progress: Progress) -> Sequence[Bar]:
    """Return a bar for each step, in the order in which they could begin."""
    whole = max(progress.ended_at - progress.started_at, 0.001)
    rows = timeline_rows(progress)
    order = sorted(range(len(rows)), key=lambda index: (_begin(rows[index], whole), index))
    return [_bar(rows[index], whole) for index in order]


def _begin(row: TimelineRow, whole: float) -> float:
    """Return when a step began, else when it ended without; those that wait come last."""
    return next((moment for moment in (row.started, row.ended, row.opened) if moment is not None), whole)


def _bar(row: TimelineRow, whole: float) -> Bar:
    def place(moment: float) -> int:
        return min(round(moment / whole * CHART_WIDTH), CHART_WIDTH)

    if row.started is None:
        at = place(whole if row.ended is None else row.ended)
        return Bar(row, at, at, 0)
    end = max(place(whole if row.ended is None else row.ended), MIN_BAR_WIDTH)
    begins = min(place(row.started), end - MIN_BAR_WIDTH)
    opened = begins if row.opened is None else min(place(row.opened), begins)
    return Bar(row, opened, begins, end - begins)
