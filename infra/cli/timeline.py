"""`mcpist timeline`: which step of a batch waited for which, and the critical path.

It reads from the endpoint, not from the table: so the endpoint checks who may see the batch, no right in AWS is needed,
and only the functions know the ledger's format.
"""

import shutil
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from rich.cells import cell_len
from typer import Argument

from infra.cli.document import CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.options import Token, Url
from infra.cli.progress import Progress, Step, parse_progress, progress_uri
from infra.cli.progress_view import title

MIN_BAR_WIDTH = 20
MAX_BAR_WIDTH = 80


@dataclass(frozen=True)
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


def timeline(
    batch_id: Annotated[str, Argument(metavar="BATCH_ID")], url: Url = None, token: Token = None
) -> CommandResult:
    """Show which step of a batch waited for which, and which steps took the batch's time."""
    endpoint = Endpoint.from_options(url, token)
    progress = parse_progress(endpoint.ask(lambda session: session.read(progress_uri(batch_id))))
    lines = timeline_rows(progress)
    drawing = render_timeline(progress, lines, shutil.get_terminal_size((100, 24)).columns)
    return CommandResult([drawing], facts(progress, lines), drawing=drawing)


def timeline_rows(progress: Progress) -> list[TimelineRow]:
    """Return a row for each step, in the order of the batch."""
    steps = {step.id: step for step in progress.steps}
    critical = set(critical_path(progress))
    return [_line(progress, step, steps, critical=step.id in critical) for step in progress.steps]


def critical_path(progress: Progress) -> list[str]:
    """Return the critical path: from the step that ended last, back to the need of each that ended last."""
    steps = {step.id: step for step in progress.steps}
    found: list[str] = []
    at = _last(list(steps.values()))
    while at is not None:
        found.append(at.id)
        at = _last([steps[need] for need in at.needs])
    return found[::-1]


def facts(progress: Progress, lines: list[TimelineRow]) -> dict[str, Any]:
    """Return the timeline for programs."""
    steps = [
        {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(line).items()}
        for line in lines
    ]
    took = round(progress.ended_at - progress.started_at, 3)
    return {
        "batch": progress.batch,
        "done": progress.done,
        "seconds": took,
        "critical": critical_path(progress),
        "steps": steps,
    }


def render_timeline(progress: Progress, lines: list[TimelineRow], columns: int) -> str:
    """Draw a row and a bar for each step; `*` marks the critical path."""
    whole = max(progress.ended_at - progress.started_at, 0.001)
    rows = [_cells(line) for line in lines]
    head = ["", "step", "tool", "state", "opened", "began", "ended", "after"]
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    room = min(max(columns - sum(widths) - 2 * len(widths), MIN_BAR_WIDTH), MAX_BAR_WIDTH)
    scale = f"0{f'{whole:.2f} s':>{room - 1}}"
    critical = " -> ".join(critical_path(progress)) or "nothing ran"
    return "\n".join(
        [
            f"{title(progress)}, {whole:.2f} s; critical path: {critical}",
            _row(head, widths, scale),
            *(_row(row, widths, _bar(line, whole, room)) for row, line in zip(rows, lines, strict=True)),
        ]
    )


def _line(progress: Progress, step: Step, steps: dict[str, Step], *, critical: bool) -> TimelineRow:
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


def _cells(line: TimelineRow) -> list[str]:
    times = ["" if moment is None else f"{moment:.2f}" for moment in (line.opened, line.started, line.ended)]
    return ["*" if line.critical else "", line.id, line.tool, line.state, *times, line.after]


def _row(cells: list[str], widths: list[int], bar: str) -> str:
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([*padded, bar]).rstrip()


def _bar(line: TimelineRow, whole: float, room: int) -> str:
    """Draw dots while a step could have started and a bar while it ran; one that never ran is a `|`."""

    def column(moment: float) -> int:
        return min(round(moment / whole * room), room)

    if line.started is None:
        return "" if line.ended is None else " " * min(column(line.ended), room - 1) + "|"
    first = column(line.started)
    last = max(column(whole if line.ended is None else line.ended), first + 1)
    opened = min(column(line.started if line.opened is None else line.opened), first)
    return " " * opened + "·" * (first - opened) + "█" * (last - first)
