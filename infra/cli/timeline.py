"""`mcpist timeline`: which step of a batch waited for which, and the critical path.

It reads from the endpoint, not from the table: so the endpoint checks who may see the batch, no right in AWS is needed,
and only the functions know the ledger's format.
"""

import shutil
from dataclasses import asdict
from typing import Annotated, Any

from rich.cells import cell_len
from typer import Argument

from infra.cli.document import CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.options import Token, Url
from infra.cli.progress_view import title
from infra.cli.table import render_table
from mcpist.batch.timeline import Progress, TimelineRow, critical_path, parse_progress, progress_uri, timeline_rows

MIN_BAR_WIDTH = 20
MAX_BAR_WIDTH = 80


def timeline(
    batch_id: Annotated[str, Argument(metavar="BATCH_ID")], url: Url = None, token: Token = None
) -> CommandResult:
    """Show which step of a batch waited for which, and which steps took the batch's time."""
    endpoint = Endpoint.from_options(url, token)
    progress = parse_progress(endpoint.read(progress_uri(batch_id)))
    lines = timeline_rows(progress)
    drawing = render_timeline(progress, lines, shutil.get_terminal_size((100, 24)).columns)
    return CommandResult([drawing], facts(progress, lines), drawing=drawing)


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
            render_table(
                [*head, scale], [[*row, _bar(line, whole, room)] for row, line in zip(rows, lines, strict=True)]
            ),
        ]
    )


def _cells(line: TimelineRow) -> list[str]:
    times = ["" if moment is None else f"{moment:.2f}" for moment in (line.opened, line.started, line.ended)]
    return ["*" if line.critical else "", line.id, line.tool, line.state, *times, line.after]


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
