"""The tables of TOON: lists of objects as rows below one head.

The head is TOON's. What TOON has not is a name or a text to it: lists inside cells, `labels(name color)` with cells
such as `bug|f00;ui|0f0`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from mcpist.render.toon_texts import (
    ValueReference,
    is_plain_cell,
    is_plain_element,
    is_plain_name,
    key_of,
    quote,
    text_of,
)

MAX_SINGLE_COLUMNS = 8  # of a row by itself
# Of a table, and of each that is in one.
MAX_EMPTY_CELLS, MAX_CELLS_PER_VALUE = 20_000, 32
EMPTY_CELL_COST = 0.5  # characters: commas that follow each other share tokens
SHARED_LINE_COST = 12  # characters: what a line for the values of all rows needs beside them

type Fields = Mapping[str, Any]

_OBJECTS, _LISTS, _REFERRED = frozenset({dict, type(None)}), frozenset({list, type(None)}), {dict, ValueReference}


class NoTable(Exception):  # a signal to who makes a table
    """Values that no table can hold, or of which most cells would be empty: filling them could take hours."""


def is_flat(value: Fields) -> bool:
    """Whether an object has few fields, and no object or list in it."""
    return len(value) <= MAX_SINGLE_COLUMNS and not any(
        type(inner) in (dict, list, ValueReference) for inner in value.values()
    )


def saving_table(rows: Sequence[Fields], *, is_pure: bool, can_share: bool) -> "ToonTable | None":
    """Return the table of objects; None where it is longer than they are one by one, or they fit none."""
    if len(rows) == 1 and not is_pure and not is_flat(rows[0]):
        return None
    try:
        table = ToonTable(len(rows), is_pure, can_share and not is_pure and len(rows) > 1)
        table.add(rows)
        if table.shared and (table.shared_gain < SHARED_LINE_COST or not table.columns):
            table = ToonTable(len(rows), is_pure)
            table.add(rows)
    except NoTable:
        return None
    if not table.columns or (len(table.columns) == 1 and "" in table.columns[0]):  # a row would have no line
        return None
    return table if table.saving > 0 or len(rows) == 1 else None


@dataclass(slots=True)
class ToonTable:
    """The columns of a list of objects."""

    height: int
    is_pure: bool = False
    """Whether it is TOON without additions."""
    shares: bool = False
    """Whether values that all rows have are kept out of the rows."""
    is_nested: bool = False
    """Whether its rows are the elements of lists in the cells of another one."""
    heads: list[str] = field(default_factory=list)
    columns: list[Sequence[str]] = field(default_factory=list)
    shared: dict[str, Any] = field(default_factory=dict)
    """The fields that are the same in all rows."""
    shared_gain: float = 0
    """The characters that the rows would need more with them."""
    saving: float = 0
    """The characters that the rows would need more as lines, which repeat the names."""

    @property
    def head(self) -> str:
        """The names of the columns, in braces."""
        return f"{{{','.join(self.heads)}}}"

    @property
    def rows(self) -> Iterator[str]:
        """The cells of each row as a text."""
        return map("|".join if self.is_nested else ",".join, zip(*self.columns, strict=True))

    def add(self, rows: Sequence[Fields | None]) -> None:
        """Add the columns of objects, of which some may be absent."""
        names = dict.fromkeys(chain.from_iterable(filter(None, rows)))
        filled_cells = sum(map(len, filter(None, rows)))
        if len(names) * self.height > MAX_EMPTY_CELLS + MAX_CELLS_PER_VALUE * filled_cells:
            raise NoTable
        for name in names:
            values = [row.get(name) if row else None for row in rows]
            filled = self.height - values.count(None)
            self.saving += filled * (len(name) + 3) - len(name) - 2
            kinds = set(map(type, values))
            if kinds >= _REFERRED:
                values = [value.value if isinstance(value, ValueReference) else value for value in values]
                kinds = set(map(type, values))
            if kinds <= _OBJECTS:
                self._add_objects(name, values)
            else:
                self._add_values(name, values, filled, are_lists=kinds <= _LISTS)

    def _name(self, name: str) -> str:
        if not self.is_nested:
            return key_of(name)
        if not is_plain_name(name) or "." in name:  # a dot is between the names of a field and of one in it
            raise NoTable
        return name

    def _add_objects(self, name: str, values: Sequence[Fields | None]) -> None:
        inner = ToonTable(self.height, self.is_pure, self.shares, self.is_nested)
        inner.add(values)
        if self.is_nested:
            self.heads += [f"{self._name(name)}.{head}" for head in inner.heads]
        elif inner.heads:
            self.heads.append(self._name(name) + inner.head)
        if inner.shared:
            self.shared[name] = inner.shared
            self.shared_gain += inner.shared_gain - len(name) - 2
        self.columns += inner.columns
        self.saving += inner.saving

    def _add_values(self, name: str, values: list[Any], filled: int, *, are_lists: bool) -> None:
        suffix = ""
        if are_lists:
            if self.is_pure or self.is_nested or not is_plain_name(name):
                raise NoTable
            suffix, cells = list_cells(values)
            cells = [cell if not cell or is_plain_cell(cell) else quote(cell) for cell in cells]
        else:
            empty = "null" if self.is_pure else ""
            is_plain = is_plain_element if self.is_nested else is_plain_cell
            try:
                cells = [empty if value is None else text_of(value, is_plain) for value in values]
            except TypeError:
                raise NoTable from None
        if self.shares and filled == self.height and cells.count(cells[0]) == self.height:
            self.shared[name] = values[0]
            gain = (self.height - 1) * (len(cells[0]) + 1) - 1
            self.shared_gain += gain
            self.saving += gain
        else:
            self.heads.append(name + suffix if suffix else self._name(name))
            self.columns.append(cells)
            self.saving -= filled + (self.height - filled) * EMPTY_CELL_COST


def list_cells(values: Sequence[list[Any] | None]) -> tuple[str, list[str]]:
    """Return the end of the name of a column of lists, and its cells."""
    elements = [element for value in values if value for element in value]
    kinds = set(map(type, elements))
    if kinds.isdisjoint({dict, list}):
        return "()", _joined(values, iter([text_of(element, is_plain_element) for element in elements]))
    if kinds != {dict}:
        raise NoTable
    inner = ToonTable(len(elements), is_nested=True)
    inner.add(elements)
    texts = list(inner.rows)
    if "" in texts:
        raise NoTable
    return f"({' '.join(inner.heads)})", _joined(values, iter(texts))


def _joined(values: Sequence[list[Any] | None], texts: Iterator[str]) -> list[str]:
    """Return the texts of all elements as one cell for each of the lists."""
    return [";".join([next(texts) for _ in value]) if value else "" for value in values]
