"""Tables and paragraphs as plain text, for a terminal."""

import shutil
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from rich.cells import cell_len, chop_cells

from infra.cli.document import in_words
from mcpist.visible_text import visible

GAP = 2
# A column is not made narrower than its longest word, up to this.
MAX_WORD_CELLS = 24
MIN_CELLS = 10


def moment(value: str | float) -> str:
    """Return a time of ISO 8601, or in epoch seconds, to the minute in UTC."""
    time = datetime.fromisoformat(value) if isinstance(value, str) else datetime.fromtimestamp(value, UTC)
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def terminal_width() -> int:
    """Return the columns of the terminal; without one nothing is too wide."""
    return shutil.get_terminal_size((10_000, 24)).columns


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]], width: int = 0) -> str:
    """Render a table that fits a width, or the terminal; a cell can neither add a row nor steer a terminal."""
    return "\n".join(table_rows(head, rows, width))


def table_rows(head: Sequence[str], rows: Iterable[Sequence[str]], available: int = 0) -> list[str]:
    """Return the head and the rows of a table, each of as many lines as its longest cell needs."""
    table = [[visible(cell) for cell in line] for line in (map(in_words, head), *rows)]
    widths = _widths(list(zip(*table, strict=True)), available or terminal_width())
    return [
        "\n".join(
            (" " * GAP)
            .join(cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
            .rstrip()
            for line in zip_longest(*map(wrapped, cells, widths), fillvalue="")
        )
        for cells in table
    ]


def paragraph(text: str, indent: int, width: int = 0) -> str:
    """Return a text in lines of a width, or the terminal's; those after the first are indented."""
    first, *others = wrapped(text, (width or terminal_width()) - indent)
    return "\n".join([first, *(" " * indent + line for line in others)])


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most a width, broken between words, or inside of one that is longer."""
    if cell_len(text) <= width:
        return [text]
    first, *words = text.split(" ")
    lines = _chopped(first, width)
    for word in words:
        joined = f"{lines[-1]} {word}"
        if cell_len(joined) <= width:
            lines[-1] = joined
        elif word.isascii() and cell_len(word) <= width:
            lines.append(word)
        else:  # a text in Japanese has hardly a space
            lines[-1:] = _chopped(joined, width)
    return lines


def _chopped(text: str, width: int) -> list[str]:
    """Return a text in pieces of at most a width; none begins with a Japanese comma or full stop."""
    if cell_len(text) <= width:
        return [text]
    pieces = chop_cells(text, width if text.isascii() else max(width - 2, 2))  # which leaves room for such a mark
    for place in range(1, len(pieces)):
        if pieces[place].startswith(("、", "。")):
            pieces[place - 1 : place + 1] = [pieces[place - 1] + pieces[place][0], pieces[place][1:]]
    return [pieces[0], *(piece.lstrip(" ") for piece in pieces[1:] if piece)]


def _widths(columns: Sequence[Sequence[str]], available: int) -> list[int]:
    """Return the widths of the columns: as wide as their widest cells, the widest ones narrowed until all fit."""
    widths = [max(map(cell_len, column)) for column in columns]
    longest = [max(cell_len(word) for cell in column for word in _words(cell)) for column in columns]
    bars = [any("  " in cell for cell in column) for column in columns]
    for most in (MAX_WORD_CELLS, MIN_CELLS):
        least = [cells if bar else min(most, cells) for bar, cells in zip(bars, longest, strict=True)]
        while sum(widths) + GAP * (len(widths) - 1) > available:
            wide = [(width, place) for place, width in enumerate(widths) if width > least[place]]
            if not wide:
                break
            widths[max(wide)[1]] -= 1
    return widths


def _words(cell: str) -> list[str]:
    # Several spaces are the drawing of a bar.
    return [cell] if "  " in cell else cell.split(" ")
