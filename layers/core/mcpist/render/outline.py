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

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring as quote
from typing import Any

INDENT = " "
MAX_SINGLE_COLUMNS = 8  # of a row by itself
MAX_SINGLE_ELEMENTS = 2  # of a list of objects in such a row
MAX_COMPARED_FIELDS = 32  # with each object, in search of its equal
MAX_KNOWN_KEYS = 10_000
EMPTY_CELL_COST = 0.5  # characters: commas that follow each other share tokens

type _Object = Mapping[str, Any]
type _FindEnd = Callable[[str], object]

_URL_SEPARATORS = frozenset("/.?#&:{")
_LITERAL_STARTS = frozenset("tfn-0123456789")
_is_literal = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?").fullmatch
_line_end = re.compile(r"[\x00-\x1f]").search
_cell_end = re.compile(r"[\x00-\x1f,]").search
_element_end = re.compile(r"[\x00-\x1f,;|}]").search
_is_plain_key = re.compile(r"[^\W\d](?:[\w @$/+-]*[\w@$/+-])?").fullmatch
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def outline(value: Any) -> str:
    """Return the outline of a JSON value."""
    lines: list[str] = []
    if isinstance(value, dict):
        _write_object(lines, value, "")
    elif isinstance(value, list):
        _write_list(lines, "", value, "")
    else:
        lines.append(_text(value, _line_end))
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
    groups: dict[str | int, tuple[list[str], Any]] = {}
    urls: dict[str, str] = {}
    for number, (first, field_value) in enumerate(fields.items()):
        name, value = _only_field(_key(first), field_value)
        key: str | int = number
        if isinstance(value, dict) and value:
            compared = islice(groups.items(), MAX_COMPARED_FIELDS)
            key = next((key for key, (_, known) in compared if known == value), number)
        elif not isinstance(value, list):
            key = _text(value, _line_end)
            value = _shortened(urls, name, key) if key.startswith("http") else key
        groups.setdefault(key, ([], value))[0].append(name)
    return ((",".join(names), value) for names, value in groups.values())


def _only_field(name: str, value: Any) -> tuple[str, Any]:
    """Return the path and the value of the only field of an object, of the object that it is, and so on."""
    while isinstance(value, dict) and len(value) == 1:
        ((inner, value),) = value.items()
        name = f"{name}.{_key(inner)}"
    return name, value


def _shortened(urls: dict[str, str], name: str, url: str) -> str:
    """Return a URL without its beginning where that is a field of the same object: `{url}/comments`."""
    for known, field_name in urls.items():
        if url.startswith(known) and url[len(known) : len(known) + 1] in _URL_SEPARATORS:
            return f"{{{field_name}}}{url[len(known) :]}"
    if '"' not in name:
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
    if len(value) > MAX_SINGLE_COLUMNS or _has_long_list(value):
        return None
    table = _Table(1)
    table.add([value])
    return table if len(table.columns) <= MAX_SINGLE_COLUMNS else None


def _has_long_list(value: _Object) -> bool:
    """Whether an object has, at any depth, a list of more objects than one line should hold."""
    return any(
        (isinstance(inner, dict) and _has_long_list(inner))
        or (isinstance(inner, list) and len(inner) > MAX_SINGLE_ELEMENTS and isinstance(inner[0], dict | list))
        for inner in value.values()
    )


def _write_list(lines: list[str], name: str, values: list[Any], indent: str) -> None:
    kinds = set(map(type, values))
    if kinds <= {dict, type(None)} and dict in kinds:
        _write_rows(lines, name, values, indent)
    elif kinds.isdisjoint({dict, list}):
        lines.append(f"{indent}{name}[]: {','.join(_text(value, _cell_end) for value in values)}")
    else:
        lines.append(f"{indent}{name}: {_encode(values)}" if name else _encode(values))


def _write_rows(lines: list[str], name: str, rows: list[_Object | None], indent: str) -> None:
    """Write a list of objects as a table, or one by one where one is large or most of a table would be empty."""
    if len(rows) == 1 and rows[0] and (only := _small_table(rows[0])):
        lines.extend([f"{indent}{name}[1]{{{only.head}}}:", f"{indent}{INDENT}{only.only_row}"])
        return
    if len(rows) > 1:
        table = _Table(len(rows))
        table.add(rows)
        if table.saving > 0:
            lines.append(f"{indent}{name}[{len(rows)}]{{{table.head}}}:")
            indent += INDENT
            lines += [indent + ",".join(cells) for cells in zip(*table.columns, strict=True)]
            return
    for number, row in enumerate(rows):
        if row:
            _write_field(lines, f"{name}[{number}]", row, indent)
        else:
            lines.append(f"{indent}{name}[{number}]: {{}}")


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
        """Add the columns of objects, one in each row or none."""
        for name in dict.fromkeys(name for row in rows if row for name in row):
            values = [row.get(name) if row else None for row in rows]
            filled = self.height - values.count(None)
            self.saving += filled * (len(name) + 3) - len(name) - 2
            if {dict, type(None)}.issuperset(map(type, values)):
                self._add_objects(_key(name), values)
            else:
                self._add_values(_key(name), values, filled)

    def _add_objects(self, name: str, values: Sequence[_Object | None]) -> None:
        inner = _Table(self.height, self.separator)
        inner.add(values)
        self.heads.append(f"{name}{{{inner.head}}}")
        self.columns += inner.columns
        self.saving += inner.saving

    def _add_values(self, name: str, values: list[Any], filled: int) -> None:
        if not self.is_nested and {list, type(None)}.issuperset(map(type, values)):
            suffix, cells = _list_cells(values)
            name += suffix
        else:
            find_end = _element_end if self.is_nested else _cell_end
            cells = ["" if value is None else _text(value, find_end) for value in values]
        shared = cells[0]
        if (
            self.height > 1
            and not self.is_nested
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
        texts = iter([_text(element, _element_end) for element in elements])
        return "[]", _joined(values, texts)
    plain = ["" if value is None else _encode(value) for value in values]
    if kinds == {dict}:
        inner = _Table(len(elements), "|")
        inner.add(elements)
        cells = _joined(values, map("|".join, zip(*inner.columns, strict=True)))
        if len(inner.head) + sum(map(len, cells)) < sum(map(len, plain)):
            return f"[]{{{inner.head}}}", cells
    return "", plain


def _joined(values: Sequence[list[Any] | None], texts: Any) -> list[str]:
    """Return the texts of all elements as one cell for each of the lists."""
    return [";".join([next(texts) for _ in value]) if value else "" for value in values]


def _text(value: Any, find_end: _FindEnd) -> str:
    """Return a value as it is written where the characters that `find_end` finds would end it."""
    if not isinstance(value, str):
        return _encode(value)
    first, last = value[:1], value[-1:]
    if not first or first in '"[{' or first.isspace() or last.isspace() or find_end(value):
        return quote(value)
    return quote(value) if first in _LITERAL_STARTS and _is_literal(value) else value


@lru_cache(MAX_KNOWN_KEYS)
def _key(name: str) -> str:
    return name if _is_plain_key(name) else quote(name)
