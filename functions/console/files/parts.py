"""A part of a file for a page: some lines, or some rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.files.content_types import JSON, YAML
from mcpist.files.records import FileRecord
from mcpist.files.values import columns_of, find_rows, parse
from mcpist.render.answer import compact_json

PAGE_LINES = 200
PAGE_ROWS = 50
MAX_COLUMNS = 12
MAX_LINE_CHARACTERS = 400
MAX_CELL_CHARACTERS = 120
MAX_PAGE_CHARACTERS = 30_000


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: lines, or columns with rows."""

    first: int
    """The number of the first line or row, from 0 on."""
    total: int
    """The number of lines or rows of the file."""
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def end(self) -> int:
        """The number after the last one."""
        return self.first + len(self.lines or self.rows)


def lines_of(text: str, first: int) -> Part:
    """Return some lines of a text from one on; long lines are cut, and fewer lines are taken where they are many."""
    every = text.splitlines()
    taken: list[str] = []
    room = MAX_PAGE_CHARACTERS
    for line in every[first : first + PAGE_LINES]:
        shown = _cut(line, MAX_LINE_CHARACTERS)
        room -= len(shown)
        if room < 0 and taken:
            break
        taken.append(shown)
    return Part(first, len(every), lines=taken)


def rows_of(file: FileRecord, text: str, first: int) -> Part | None:
    """Return some rows of a JSON or YAML file from one on; None for a file that holds no table."""
    if file.content_type not in {JSON, YAML}:
        return None
    try:
        found = find_rows(parse(text, file.content_type))
    except ValueError:
        return None
    if found is None:
        return None
    columns = columns_of(found.rows)[:MAX_COLUMNS]
    shown = [[_cell(row.get(column)) for column in columns] for row in found.rows[first : first + PAGE_ROWS]]
    return Part(first, len(found.rows), columns=columns, rows=shown)


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else compact_json(value)
    return _cut(text, MAX_CELL_CHARACTERS)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"
