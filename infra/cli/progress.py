"""A batch's progress: a live table on a terminal, a log of lines anywhere else, and `mcpist timeline`.

The timeline is read from the endpoint, not from the table: so the endpoint checks who may see the batch, no right in
AWS is needed, and only the functions know the ledger's format.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, TextIO

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text
from typer import Argument

from infra.cli.document import CommandResult, in_words
from infra.cli.endpoint import Endpoint
from infra.cli.options import Token, Url
from infra.cli.table import paragraph, render_table
from mcpist.batch.timeline import Progress, StepProgress, TimelineRow, critical_path, progress_uri, timeline_rows

FRAMES_PER_SECOND = 8
RESERVED_ROWS = 4  # the title, the head, the row for omitted steps, the prompt
MIN_BAR_WIDTH = 12
MAX_BAR_WIDTH = 80
ROOMY_COLUMNS = 100
_HEAD = ["", "step", "tool", "state", "opened", "began", "ended", "after"]
STATE_STYLES = {
    "succeeded": "green",
    "failed": "bold red",
    "unknown": "bold yellow",
    "skipped": "dim",
    "cancelled": "dim",
    "running": "cyan",
    "ready": "blue",
    "waiting": "dim",
}
# The order in which states keep their rows when the terminal is too small.
STATES_BY_IMPORTANCE = ("running", "failed", "unknown", "ready", "waiting", "cancelled", "skipped", "succeeded")


@contextmanager
def progress_view(out: TextIO) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows a progress: in a live table on a terminal, and in a log everywhere else."""
    console = Console(file=out)
    if console.is_terminal and not console.is_dumb_terminal:
        with LiveTable(console) as table:
            yield table.show
    else:
        yield ProgressLog(out).show


class ProgressLog:
    """Prints a line for each change, with the seconds since the start."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed: dict[str, str] = {}

    def show(self, progress: Progress) -> None:
        """Print the changes since the last call, in their order."""
        changes: list[tuple[float, str]] = []
        for step in progress.steps:
            said = _state_text(step)
            if said and self._printed.get(step.id) != said:
                changes.append((self._moment(step, progress.now), f"{step.id}: {said}"))
                self._printed[step.id] = said
        if progress.done:
            changes.append((max([progress.ended_at, *(moment for moment, _ in changes)]), title(progress)))
        for moment, words in sorted(changes, key=lambda change: change[0]):
            print(f"{max(0.0, moment - progress.started_at):8.2f} s  {words}", file=self._out)
        self._out.flush()

    def _moment(self, step: StepProgress, now: float) -> float:
        """Return the time of a step's last change, as far as it is known."""
        if step.settled:
            return now if step.ended_at is None else step.ended_at
        return step.started_at if step.started_at is not None and step.id not in self._printed else now


class LiveTable(Live):
    """A table that is redrawn; durations continue between two responses of the endpoint."""

    def __init__(self, console: Console) -> None:
        self._progress: Progress | None = None
        self._received_at = 0.0
        self._spinner = Spinner("dots")
        super().__init__(
            console=console, refresh_per_second=FRAMES_PER_SECOND, redirect_stdout=False, redirect_stderr=False
        )

    def __exit__(self, *_: object) -> None:
        self.transient = self._progress is None
        self.stop()

    def show(self, progress: Progress) -> None:
        """Draw this progress from now on."""
        self._progress, self._received_at = progress, time.monotonic()

    def get_renderable(self) -> Group | Text:
        """Return the drawing that rich shows next."""
        if self._progress is None:
            return Text("starting")
        now = self._progress.now + time.monotonic() - self._received_at
        return self.drawn(self._progress, now)

    def drawn(self, progress: Progress, now: float) -> Group:
        """Return the batch with a row for each step, as many as fit into the terminal."""
        elapsed = (progress.ended_at if progress.done else now) - progress.started_at
        return Group(Text(f"{title(progress)}, {elapsed:.1f} s", "bold"), self._table(progress, now))

    def _table(self, progress: Progress, now: float) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("step", no_wrap=True, overflow="ellipsis")
        table.add_column("tool", no_wrap=True, overflow="ellipsis", style="dim")
        table.add_column("state", no_wrap=True)
        table.add_column("time", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, overflow="ellipsis", style="dim")
        shown = _most_important(progress.steps, self.console.height - RESERVED_ROWS)
        for step in shown:
            took = step.duration(now)
            state = Text(step.state, STATE_STYLES.get(step.state, ""))
            row = Text.assemble(self._sign(step), " ", state)
            table.add_row(step.id, step.tool, row, "" if took is None else f"{took:.1f} s", _note(step))
        if left_out := len(progress.steps) - len(shown):
            table.add_row(f"and {left_out} more")
        return table

    def _sign(self, step: StepProgress) -> Text:
        if step.state == "running":
            frame = self._spinner.render(self.console.get_time())
            return frame if isinstance(frame, Text) else Text("*")
        signs = {"succeeded": "✓", "failed": "✗", "unknown": "?", "skipped": "-", "cancelled": "-"}
        return Text(signs.get(step.state, "·"), STATE_STYLES.get(step.state, ""))


def title(progress: Progress) -> str:
    """Describe a batch in one line."""
    return in_words(f"batch {progress.batch}: {progress.state}, {progress.settled} of {len(progress.steps)} steps")


def _state_text(step: StepProgress) -> str:
    """Describe a step's state for a line; empty before its start."""
    if step.state in {"waiting", "ready"}:
        return ""
    if step.kept:
        return f"{step.state} before"
    counted = f", {_element_counts(step)}" if step.elements else ""
    took = step.duration(step.ended_at) if step.settled and step.ended_at else None
    return f"{step.state}{counted}" + ("" if took is None else f" in {took:.2f} s")


def _note(step: StepProgress) -> str:
    if step.waits_for and step.state == "waiting":
        return f"waits for {', '.join(step.waits_for)}"
    return "kept from the batch that this one resumes" if step.kept else _element_counts(step)


def _element_counts(step: StepProgress) -> str:
    """Describe the elements of an `each`: `3/12`, with the failed ones."""
    if step.elements is None:
        return ""
    failed = f" ({step.elements.failed} failed)" if step.elements.failed else ""
    return f"{step.elements.settled}/{step.elements.count}{failed}"


def _most_important(steps: tuple[StepProgress, ...], room: int) -> list[StepProgress]:
    """Return the most important steps, in their own order."""
    ranked = sorted(
        steps, key=lambda step: STATES_BY_IMPORTANCE.index(step.state) if step.state in STATES_BY_IMPORTANCE else 0
    )
    kept = {step.id for step in ranked[: max(room, 1)]}
    return [step for step in steps if step.id in kept]


def timeline(
    batch_id: Annotated[str, Argument(metavar="BATCH_ID")], url: Url = None, token: Token = None
) -> CommandResult:
    """Show which step of a batch waited for which, and which steps took the batch's time."""
    endpoint = Endpoint.from_options(url, token)
    progress = Progress.model_validate(endpoint.read(progress_uri(batch_id)))
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
    # Where there is little room, the bar alone says when a step could have started.
    shown = [0, 1, 2, 3, *([4] if columns >= ROOMY_COLUMNS else []), 5, 6, 7]
    head, *rows = [[cells[place] for place in shown] for cells in (_HEAD, *map(_cells, lines))]
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    room = min(max(columns - sum(widths) - 2 * len(widths), MIN_BAR_WIDTH), MAX_BAR_WIDTH)
    scale = f"0{f'{whole:.2f} s':>{room - 1}}"
    critical = " -> ".join(critical_path(progress)) or "nothing ran"
    return "\n".join(
        [
            paragraph(f"{title(progress)}, {whole:.2f} s; {in_words('critical path')}: {critical}", 2, columns),
            render_table(
                [*head, scale],
                [[*row, _bar(line, whole, room)] for row, line in zip(rows, lines, strict=True)],
                columns,
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
    first = min(column(line.started), room - 1)
    last = max(column(whole if line.ended is None else line.ended), first + 1)
    opened = min(column(line.started if line.opened is None else line.opened), first)
    return " " * opened + "·" * (first - opened) + "█" * (last - first)
