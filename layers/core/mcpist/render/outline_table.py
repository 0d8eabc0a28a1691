"""The tables of an outline: lists of objects, and objects of few fields, as rows below one head."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Any

from mcpist.render.outline_texts import (
    ValueReference,
    encode,
    is_plain_cell,
    is_plain_element,
    is_plain_head,
    key_of,
    quote,
    text_of,
)

MAX_SINGLE_COLUMNS = 8  # of a row by itself
MAX_SINGLE_ELEMENTS = 2  # of a list of objects in such a row
# Of a table, and of each that is in one.
MAX_EMPTY_CELLS, MAX_CELLS_PER_VALUE = 20_000, 32
EMPTY_CELL_COST = 0.5  # characters: commas that follow each other share tokens

type Fields = Mapping[str, Any]

_OBJECTS, _LISTS, _REFERRED = frozenset({dict, type(None)}), frozenset({list, type(None)}), {dict, ValueReference}


def single_row(value: Fields) -> "OutlineTable | None":
    """Return the table whose only row is a small object; None for another one."""
    if len(value) > MAX_SINGLE_COLUMNS or _count_columns(value) > MAX_SINGLE_COLUMNS:
        return None
    table = OutlineTable(1)
    table.add([value])
    return table


def _count_columns(value: Fields) -> float:
    """Return how many columns an object needs as a row; infinite with a list that one line should not hold.

    Nothing is counted once there are too many.
    """
    columns: float = 0
    for inner in value.values():
        if isinstance(inner, dict):
            columns += _count_columns(inner)
        elif isinstance(inner, list) and not _fits_line(inner):
            return inf
        elif inner is not None:
            columns += 1
        if columns > MAX_SINGLE_COLUMNS:
            break
    return columns


def _fits_line(values: list[Any]) -> bool:
    """Whether a list is no more objects than a line should hold, and has no objects in lists in them."""
    if not values or not isinstance(values[0], (dict, list)):
        return True
    return len(values) <= MAX_SINGLE_ELEMENTS and not any(
        isinstance(inner, list) and inner and isinstance(inner[0], dict)
        for value in values
        if isinstance(value, dict)
        for inner in value.values()
    )


def saving_table(rows: Sequence[Fields | None]) -> "OutlineTable | None":
    """Return the table of objects; None where it is longer than they are one by one."""
    table = OutlineTable(len(rows))
    try:
        table.add(rows)
    except _MostlyEmpty:
        return None
    return table if table.saving > 0 else None


class _MostlyEmpty(Exception):  # a signal to who makes a table
    """Most cells of a table would be empty: filling them could take hours."""


@dataclass(slots=True)
class OutlineTable:
    """The columns of a list of objects."""

    height: int
    separator: str = ","
    heads: list[str] = field(default_factory=list)
    columns: list[Sequence[str]] = field(default_factory=list)
    saving: float = 0
    """The characters that the rows would need more as lines, which repeat the names."""

    @property
    def head(self) -> str:
        """The names of the columns, in braces."""
        return f"{{{' '.join(self.heads)}}}"

    @property
    def rows(self) -> Iterator[str]:
        """The cells of each row as a text; none without columns."""
        return map(self.separator.join, zip(*self.columns, strict=True))

    @property
    def is_nested(self) -> bool:
        """Whether it is the value of a table's column."""
        return self.separator != ","

    def add(self, rows: Sequence[Fields | None]) -> None:
        """Add the columns of objects, one in each row or none; _MostlyEmpty where that takes too long."""
        names = dict.fromkeys(chain.from_iterable(filter(None, rows)))
        filled_cells = sum(map(len, filter(None, rows)))
        if len(names) * self.height > MAX_EMPTY_CELLS + MAX_CELLS_PER_VALUE * filled_cells:
            raise _MostlyEmpty
        for name in names:
            values = [row.get(name) if row else None for row in rows]
            filled = self.height - values.count(None)
            self.saving += filled * (len(name) + 3) - len(name) - 2
            kinds = set(map(type, values))
            if kinds >= _REFERRED:
                values = [value.value if isinstance(value, ValueReference) else value for value in values]
                kinds = set(map(type, values))
            if kinds <= _OBJECTS:
                self._add_objects(key_of(name), values)
            else:
                self._add_values(key_of(name), values, filled, are_lists=kinds <= _LISTS)

    def _add_objects(self, name: str, values: Sequence[Fields | None]) -> None:
        inner = OutlineTable(self.height, self.separator)
        inner.add(values)
        self.heads.append(name + inner.head)
        self.columns += inner.columns
        self.saving += inner.saving

    def _add_values(self, name: str, values: list[Any], filled: int, *, are_lists: bool) -> None:
        if are_lists and not self.is_nested:
            suffix, cells = _list_cells(values)
            name += suffix
        else:
            is_plain = is_plain_element if self.is_nested else is_plain_cell
            cells = ["" if value is None else text_of(value, is_plain) for value in values]
        is_full = filled == self.height > 1 and not self.is_nested
        if is_full and cells.count(cells[0]) == self.height and (shared := _in_head(cells[0], values[0])):
            self.heads.append(f"{name}={shared}")
            self.saving += (self.height - 1) * len(shared)
        else:
            self.heads.append(name)
            self.columns.append(cells)
            self.saving -= filled + (self.height - filled) * EMPTY_CELL_COST


def _in_head(cell: str, value: Any) -> str:
    """Return a cell as all rows share it; an empty text where the names around it would read as part of it."""
    if is_plain_head(cell):
        return cell
    return quote(value) if isinstance(value, str) else ""


def _list_cells(values: Sequence[list[Any] | None]) -> tuple[str, list[str]]:
    """Return the cells of a column of lists, and what its name ends with."""
    elements = [element for value in values if value for element in value]
    kinds = set(map(type, elements))
    if kinds.isdisjoint({dict, list}):
        texts = iter([text_of(element, is_plain_element) for element in elements])
        return "[]", _joined(values, texts)
    plain = ["" if value is None else encode(value) for value in values]
    if kinds == {dict}:
        inner = OutlineTable(len(elements), "|")
        try:
            inner.add(elements)
        except _MostlyEmpty:
            return "", plain
        cells = _joined(values, inner.rows)
        if len(inner.head) + sum(map(len, cells)) < sum(map(len, plain)):
            return f"[]{inner.head}", cells
    return "", plain


def _joined(values: Sequence[list[Any] | None], texts: Any) -> list[str]:
    """Return the texts of all elements as one cell for each of the lists."""
    return [";".join([next(texts) for _ in value]) if value else "" for value in values]
