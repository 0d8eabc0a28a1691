"""The picture of a batch: its graph as boxes and lines, each box with its step's id, tool, state and duration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from console.batches.layout import Layout, layout
from mcpist.batch.view.progress import Progress, Step
from mcpist.visible_text import visible

MAX_LABEL_COLUMNS = 20
MAX_TOOL_COLUMNS = 24


@dataclass(frozen=True, slots=True)
class Box:
    """A step of the picture."""

    step: Step
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
class Line:
    """The lines that leave a step or a junction."""

    path: str
    settled: bool
    """Whether the steps behind which it leads on have settled."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A batch as a picture."""

    drawn: Layout
    boxes: Sequence[Box]
    lines: Sequence[Line]


def picture(progress: Progress, critical: Sequence[str] = ()) -> Picture:
    """Return the picture of a batch at a moment; `critical` are the steps on the critical path."""
    number = {step.id: index for index, step in enumerate(progress.steps)}
    drawn = layout(tuple(frozenset(number[need] for need in step.needs) for step in progress.steps))
    boxes = [
        Box(
            step,
            left,
            top,
            fitted(step.id, MAX_LABEL_COLUMNS),
            fitted(step.tool, MAX_TOOL_COLUMNS),
            step.duration(progress.now),
            step.id in critical,
        )
        for step, (left, top) in zip(progress.steps, drawn.boxes, strict=True)
    ]
    lines = [Line(line.path, all(progress.steps[step].settled for step in line.steps)) for line in drawn.lines]
    return Picture(drawn, boxes, lines)


def fitted(text: str, columns: int) -> str:
    """Return a text from outside, cut to so many columns; a wide character takes two."""
    shown, used = visible(text), 0
    for place, character in enumerate(shown):
        used += 2 if east_asian_width(character) in "WF" else 1
        if used > columns:
            return f"{_cut(shown, place)}…"
    return shown


def _cut(text: str, place: int) -> str:
    """Return the beginning of a text, with room for the character that says that it goes on."""
    return text[: max(0, place - 1)]


STATES = ("waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled", "unknown")


def count_states(progress: Progress) -> Mapping[str, int]:
    """Return how many steps have each state, without the states that none has."""
    found = [step.state for step in progress.steps]
    return {state: count for state in STATES if (count := found.count(state))}
