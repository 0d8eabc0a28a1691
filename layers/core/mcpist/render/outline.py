"""The outline: JSON as indented lines, with lists of objects as tables; every value and its path can be read from it.

    total: 2
    items[2]{number,user{login,id},labels[]{name,color},state=open}:
     7,hubot,1,bug|f00;ui|0f0
     8,octocat,2,
    page{size,next}: 2,x

The brackets before a table's columns hold the number of its rows. `user{login,id}` are the fields of an object in it,
`=` gives a value that all rows share, and a column with `[]` holds a list, `;` between its elements and `|` between
their fields. An object of few fields is a row by itself; fields with the same value share a line; `{url}/comments`
begins with another field of the object. A text that could be read as anything else is quoted as in JSON. A value that
fits none of this is JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import inf
from typing import Any

from mcpist.render.outline_texts import encode, is_plain_cell, is_plain_element, is_plain_line, key_of, text_of

INDENT = " "
MAX_SINGLE_COLUMNS = 8  # of a row by itself
MAX_SINGLE_ELEMENTS = 2  # of a list of objects in such a row
MAX_KNOWN_URLS = 64  # of an object, with which each further one is compared
# Of a table, and of each that is in one.
MAX_EMPTY_CELLS, MAX_CELLS_PER_VALUE = 20_000, 32
MAX_COMPARED_FIELDS = 32  # with each object, in search of its equal
EMPTY_CELL_COST = 0.5  # characters: commas that follow each other share tokens

type _Object = Mapping[str, Any]

_OBJECTS, _LISTS = frozenset({dict, type(None)}), frozenset({list, type(None)})
_URL_SEPARATORS = frozenset("/.?#&:{")


def outline(value: Any) -> str:
    """Return the outline of a JSON value."""
    lines: list[str] = []
    if isinstance(value, dict):
        _write_object(lines, value, "")
    elif isinstance(value, list):
        _write_list(lines, "", value, "")
    else:
        lines.append(text_of(value, is_plain_line))
    return "\n".join(lines)


def _write_object(lines: list[str], fields: _Object, indent: str) -> None:
    """Write the fields of an object; those with the same value share a line: `a,b: value`."""
    for names, value in _fields(fields):
        if isinstance(value, str):
            lines.append(f"{indent}{names}: {value}")
        elif isinstance(value, list):
            _write_list(lines, names, value, indent)
        else:
            _write_field(lines, names, value, indent)


def _fields(fields: _Object) -> Iterator[tuple[str, Any]]:
    """Yield the names that have a value, and its text, or the list or object that it is."""
    names: dict[str | int, list[str]] = {}
    values: dict[str | int, Any] = {}
    urls: dict[str, str] = {}
    for number, (first, field_value) in enumerate(fields.items()):
        name, value = key_of(first), field_value
        if isinstance(value, dict):
            name, value = _only_field(name, value)
        key: str | int = number
        if isinstance(value, dict) and value:
            compared = islice(values.items(), MAX_COMPARED_FIELDS)
            key = next((key for key, known in compared if known == value), number)
        elif not isinstance(value, list):
            key = text_of(value, is_plain_line)
            value = _shortened(urls, name, key) if key.startswith("http") else key
        if key in names:
            names[key].append(name)
        else:
            names[key], values[key] = [name], value
    return zip(map(",".join, names.values()), values.values(), strict=True)


def _only_field(name: str, value: Any) -> tuple[str, Any]:
    """Return the path and the value of the only field of an object, of the object that it is, and so on."""
    while isinstance(value, dict) and len(value) == 1:
        ((inner, value),) = value.items()
        name = f"{name}.{key_of(inner)}"
    return name, value


def _shortened(urls: dict[str, str], name: str, url: str) -> str:
    """Return a URL without its beginning where that is a field of the same object: `{url}/comments`."""
    for known, field_name in urls.items():
        if url.startswith(known) and url[len(known) : len(known) + 1] in _URL_SEPARATORS:
            return f"{{{field_name}}}{url[len(known) :]}"
    if '"' not in name and len(urls) < MAX_KNOWN_URLS:
        urls.setdefault(url, name)
    return url


def _write_field(lines: list[str], name: str, value: _Object, indent: str) -> None:
    """Write an object: a small one as the row of a table, another one as fields below its name."""
    if table := _small_table(value):
        lines.append(f"{indent}{name}{{{table.head}}}: {table.only_row}")
        return
    lines.append(f"{indent}{name}:")
    _write_object(lines, value, indent + INDENT)


def _small_table(value: _Object) -> "_Table | None":
    """Return the table whose only row is a small object; None for another one."""
    if len(value) > MAX_SINGLE_COLUMNS or _count_columns(value) > MAX_SINGLE_COLUMNS:
        return None
    table = _Table(1)
    table.add([value])
    return table


def _count_columns(value: _Object) -> float:
    """Return how many columns an object needs as a row; infinite with a list of more objects than one line should hold.

    Nothing is counted once there are too many.
    """
    columns: float = 0
    for inner in value.values():
        if isinstance(inner, dict):
            columns += _count_columns(inner)
        elif isinstance(inner, list) and len(inner) > MAX_SINGLE_ELEMENTS and isinstance(inner[0], (dict, list)):
            return inf
        elif inner is not None:
            columns += 1
        if columns > MAX_SINGLE_COLUMNS:
            break
    return columns


def _write_list(lines: list[str], name: str, values: list[Any], indent: str) -> None:
    kinds = set(map(type, values))
    if kinds <= {dict, type(None)} and dict in kinds:
        _write_rows(lines, name, values, indent)
    elif kinds.isdisjoint({dict, list}):
        lines.append(f"{indent}{name}[]: {','.join([text_of(value, is_plain_cell) for value in values])}")
    else:
        lines.append(f"{indent}{name}: {encode(values)}" if name else encode(values))


def _write_rows(lines: list[str], name: str, rows: list[_Object | None], indent: str) -> None:
    """Write a list of objects as a table, or one by one where one is large or most of a table would be empty."""
    if len(rows) == 1 and rows[0] and (only := _small_table(rows[0])):
        lines.extend([f"{indent}{name}[1]{{{only.head}}}:", f"{indent}{INDENT}{only.only_row}"])
        return
    if len(rows) > 1 and (table := _saving_table(rows)):
        lines.append(f"{indent}{name}[{len(rows)}]{{{table.head}}}:")
        indent += INDENT
        lines += [indent + ",".join(cells) for cells in zip(*table.columns, strict=True)]
        return
    for number, row in enumerate(rows):
        if row:
            _write_field(lines, f"{name}[{number}]", row, indent)
        else:
            lines.append(f"{indent}{name}[{number}]: {{}}")


def _saving_table(rows: Sequence[_Object | None]) -> "_Table | None":
    """Return the table of objects; None where it is longer than they are one by one."""
    table = _Table(len(rows))
    try:
        table.add(rows)
    except _MostlyEmpty:
        return None
    return table if table.saving > 0 else None


class _MostlyEmpty(Exception):  # a signal to who makes a table
    """Most cells of a table would be empty: filling them could take hours."""


@dataclass(slots=True)
class _Table:
    """The columns of a list of objects."""

    height: int
    separator: str = ","
    heads: list[str] = field(default_factory=list)
    columns: list[Sequence[str]] = field(default_factory=list)
    saving: float = 0
    """The characters that the rows would need more as lines, which repeat the names."""

    @property
    def head(self) -> str:
        """The names of the columns, as in the braces."""
        return ",".join(self.heads)

    @property
    def only_row(self) -> str:
        """The row of a table that has one."""
        return ",".join(*zip(*self.columns, strict=True))

    @property
    def is_nested(self) -> bool:
        """Whether it is the value of a table's column."""
        return self.separator != ","

    def add(self, rows: Sequence[_Object | None]) -> None:
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
            if kinds <= _OBJECTS:
                self._add_objects(key_of(name), values)
            else:
                self._add_values(key_of(name), values, filled, are_lists=kinds <= _LISTS)

    def _add_objects(self, name: str, values: Sequence[_Object | None]) -> None:
        inner = _Table(self.height, self.separator)
        inner.add(values)
        self.heads.append(f"{name}{{{inner.head}}}")
        self.columns += inner.columns
        self.saving += inner.saving

    def _add_values(self, name: str, values: list[Any], filled: int, *, are_lists: bool) -> None:
        is_nested = self.is_nested
        if are_lists and not is_nested:
            suffix, cells = _list_cells(values)
            name += suffix
        else:
            is_plain = is_plain_element if is_nested else is_plain_cell
            cells = ["" if value is None else text_of(value, is_plain) for value in values]
        shared = cells[0]
        if (
            self.height > 1
            and not is_nested
            and filled == self.height
            and "}" not in shared
            and cells.count(shared) == self.height
        ):
            self.heads.append(f"{name}={shared}")
            self.saving += (self.height - 1) * len(shared)
        else:
            self.heads.append(name)
            self.columns.append(cells)
            self.saving -= filled + (self.height - filled) * EMPTY_CELL_COST


def _list_cells(values: Sequence[list[Any] | None]) -> tuple[str, list[str]]:
    """Return the cells of a column of lists, and what its name ends with."""
    elements = [element for value in values if value for element in value]
    kinds = set(map(type, elements))
    if kinds.isdisjoint({dict, list}):
        texts = iter([text_of(element, is_plain_element) for element in elements])
        return "[]", _joined(values, texts)
    plain = ["" if value is None else encode(value) for value in values]
    if kinds == {dict}:
        inner = _Table(len(elements), "|")
        try:
            inner.add(elements)
        except _MostlyEmpty:
            return "", plain
        cells = _joined(values, map("|".join, zip(*inner.columns, strict=True)))
        if len(inner.head) + sum(map(len, cells)) < sum(map(len, plain)):
            return f"[]{{{inner.head}}}", cells
    return "", plain


def _joined(values: Sequence[list[Any] | None], texts: Any) -> list[str]:
    """Return the texts of all elements as one cell for each of the lists."""
    return [";".join([next(texts) for _ in value]) if value else "" for value in values]
