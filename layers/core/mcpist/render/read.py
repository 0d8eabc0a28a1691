"""A reader of compact answers: it returns the JSON that TOON, with our additions or without, was written from."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from mcpist.render.toon import INDENT, JSON_NAME, LIST_NAME, SHARED

_JSON = json.JSONDecoder()
_HEADER = re.compile(r"\[(\d+)\]")
_NAME = re.compile(r"[^ ,{}()\[\]:\"]+")
_ONLY_FIELDS = re.compile(r"((?:\{[^ ,{}()\[\]:\"]+)+)(\}+)")
_IN_CELL, _IN_ELEMENT = re.compile(r"[^,]*"), re.compile(r"[^|;]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_REFERENCE = re.compile(r"\{([^{}]+)\}(.*)", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Reference:
    """A field of the object that it is in or of the nearest one around it, and what follows in a URL."""

    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's name, and the columns in it if it is an object or a list of objects."""

    name: str
    columns: "tuple[_Column, ...]" = ()
    is_list: bool = False


def read(text: str) -> Any:
    """Return the value of a compact answer; a list that is a whole answer is the field `items`, as references call it.

    Raises ValueError for a text that is none, such as a document's Markdown.
    """
    try:
        value = json.loads(text)
    except ValueError:
        try:
            return _resolved(_Reader(text).document(), ())
        except (RecursionError, IndexError, StopIteration) as error:
            raise ValueError("it is not a compact answer") from error
    return {LIST_NAME: value} if isinstance(value, list) else value


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.number = 0

    def document(self) -> Any:
        """Read all lines: those of an object, or the only one of a value."""
        if len(self.lines) == 1 and _Scanner(self.lines[0]).is_value:
            return _value(self.lines[0])
        value = self._fields("")
        if self.number < len(self.lines):
            self._fail("it is not in its place")
        return value

    def _next(self, indent: str) -> str | None:
        """Return the next line without its margin; None if it has another one."""
        if self.number == len(self.lines) or not self.lines[self.number].startswith(indent):
            return None
        line = self.lines[self.number].removeprefix(indent)
        return None if line.startswith(" ") else line

    def _fields(self, indent: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        shared: dict[str, Any] = {}
        while (line := self._next(indent)) is not None:
            self.number += 1
            self._read_field(found, shared, _Scanner(line), indent)
        return found

    def _read_field(self, found: dict[str, Any], shared: dict[str, Any], line: "_Scanner", indent: str) -> None:
        if line.takes(f"{JSON_NAME}: "):
            found |= json.loads(line.rest)
            return
        if line.starts("{"):
            found |= line.row(line.columns())
            return
        paths = [line.path()]
        while line.takes(" "):
            paths.append(line.path())
        if line.starts("["):
            name = paths[0][0]
            rows = self._list(line, indent)
            found[name] = [_merged(row, shared[name]) for row in rows] if name in shared else rows
            return
        value = line.row(line.columns()) if line.starts("{") else self._after_name(line, indent)
        for first, *rest in paths:
            # A real name with a star is in quotes.
            is_shared = first.endswith(SHARED) and not line.is_quoted
            _put(shared if is_shared else found, [first.removesuffix(SHARED) if is_shared else first, *rest], value)

    def _after_name(self, line: "_Scanner", indent: str) -> Any:
        if not line.takes(":"):
            self._fail("a name has no colon")
        if not line.rest:
            return self._fields(indent + INDENT)
        line.takes(" ")
        return [] if line.rest == "[]" else _value(line.rest)

    def _list(self, line: "_Scanner", indent: str) -> list[Any]:
        count = line.count()
        columns = line.columns() if line.starts("{") else ()
        if not line.takes(":"):
            self._fail("a list has no colon")
        if line.takes(" "):
            values = [_value(token) for token in line.cells()]
        elif columns:
            values = [self._row(columns, indent + INDENT) for _ in range(count)]
        else:
            values = [self._item(indent + INDENT) for _ in range(count)]
        if len(values) != count:
            self._fail(f"{count} values are declared, and {len(values)} are there")
        return values

    def _row(self, columns: tuple[_Column, ...], indent: str) -> dict[str, Any]:
        line = self._next(indent)
        if line is None:
            self._fail("a row is missing")
        self.number += 1
        return _Scanner(line).row(columns, is_line=True)

    def _item(self, indent: str) -> Any:
        line = self._next(indent)
        if line is None or not line.startswith("-"):
            self._fail("an element is missing")
        if line == "-":
            self.number += 1
            return {}
        rest = _Scanner(line[2:])
        if rest.starts("["):
            self.number += 1
            return self._list(rest, indent)
        if rest.is_value:
            self.number += 1
            return _value(rest.rest)
        self.lines[self.number] = f"{indent}{INDENT}{rest.rest}"
        return self._fields(indent + INDENT)

    def _fail(self, problem: str) -> NoReturn:
        raise ValueError(f"line {self.number}: {problem}")


class _Scanner:
    """A line, and the place in it up to which it is read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.is_quoted = False
        """Whether the last name was in quotes."""

    @property
    def rest(self) -> str:
        return self.text[self.place :]

    @property
    def is_value(self) -> bool:
        """Whether it is a value without a name."""
        if self.text.startswith('"'):
            return _JSON.raw_decode(self.text)[1] == len(self.text)
        return ":" not in self.text

    def starts(self, text: str) -> bool:
        return self.text.startswith(text, self.place)

    def takes(self, text: str) -> bool:
        is_there = self.starts(text)
        self.place += len(text) if is_there else 0
        return is_there

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise ValueError(f"{self.rest[:20]!r} is not understood")
        self.place = found.end()
        return found

    def token(self, pattern: re.Pattern[str]) -> str:
        """Read a text in quotes, or up to where a pattern ends."""
        if not self.starts('"'):
            return self._match(pattern)[0]
        start = self.place
        self.place = _JSON.raw_decode(self.text, start)[1]
        return self.text[start : self.place]

    def count(self) -> int:
        return int(self._match(_HEADER)[1])

    def name(self) -> str:
        self.is_quoted = self.starts('"')
        token = self.token(_NAME)
        return str(json.loads(token)) if self.is_quoted else token

    def path(self) -> list[str]:
        """Read a name, and those of the only field of its object and so on: `a{b{c}}`."""
        path = [self.name()]
        while not self.is_quoted and (only := _ONLY_FIELDS.match(self.text, self.place)):
            if only[1].count("{") != len(only[2]):
                break
            self.place = only.end()
            path += only[1][1:].split("{")
        return path

    def columns(self) -> tuple[_Column, ...]:
        """Read the columns of a table, from the brace that opens them to that which closes them."""
        self.place += 1
        found: list[_Column] = []
        while not self.takes("}"):
            if found:
                self.place += 1  # a comma or a space
            name = self.name()
            if self.starts("{"):
                found.append(_Column(name, self.columns()))
            elif self.takes("("):
                end = self.text.index(")", self.place)
                names = self.text[self.place : end].split()
                self.place = end + 1
                found.append(_Column(name, tuple(map(_Column, names)), is_list=True))
            else:
                found.append(_Column(name))
        return tuple(found)

    def cells(self) -> Iterator[str]:
        yield self.token(_IN_CELL)
        while self.takes(","):
            yield self.token(_IN_CELL)
        if self.rest:
            raise ValueError(f"{self.rest[:20]!r} is not understood")

    def row(self, columns: tuple[_Column, ...], *, is_line: bool = False) -> dict[str, Any]:
        """Read the cells of a row, in a line of its own or after a colon."""
        if not is_line and not self.takes(": "):
            raise ValueError(f"{self.rest[:20]!r} is not understood")
        cells = self.cells() if is_line or _width(columns) > 1 else iter([self.rest])
        row = _row(columns, cells)
        if next(cells, None) is not None:
            raise ValueError("a row has more cells than names")
        return row


def _width(columns: tuple[_Column, ...]) -> int:
    return sum(_width(column.columns) if column.columns and not column.is_list else 1 for column in columns)


def _row(columns: tuple[_Column, ...], cells: Iterator[str]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column in columns:
        if column.columns and not column.is_list:
            value: Any = _row(column.columns, cells) or _ABSENT
        else:
            cell = next(cells)
            value = _ABSENT if not cell else _list_cell(cell, column.columns) if column.is_list else _value(cell)
        if value is not _ABSENT:
            row[column.name] = value
    return row


def _list_cell(cell: str, columns: tuple[_Column, ...]) -> list[Any]:
    """Return the elements of a list in a cell."""
    scanner = _Scanner(json.loads(cell) if cell.startswith('"') else cell)
    found: list[Any] = []
    while not found or scanner.takes(";"):
        if not columns:
            found.append(_value(scanner.token(_IN_ELEMENT)))
            continue
        element: dict[str, Any] = {}
        for number, column in enumerate(columns):
            if number:
                scanner.takes("|")
            if token := scanner.token(_IN_ELEMENT):
                _put(element, column.name.split("."), _value(token))
        found.append(element)
    return found


def _value(token: str) -> Any:
    if token.startswith('"'):
        return json.loads(token)
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if _NUMBER.fullmatch(token):
        return json.loads(token)
    found = _REFERENCE.fullmatch(token)
    return _Reference(found[1], found[2]) if found else token


def _put(found: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        found = found.setdefault(name, {})
    found[path[-1]] = value


def _merged(row: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the fields that all rows have."""
    both = {name: _merged(row[name], value) for name, value in shared.items() if isinstance(row.get(name), dict)}
    return {**shared, **row, **both}


def _resolved(value: Any, scopes: tuple[dict[str, Any], ...]) -> Any:
    """Return a value in which each reference is what it stands for."""
    if isinstance(value, dict):
        return {name: _resolved(inner, (*scopes, value)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(element, scopes) for element in value]
    if isinstance(value, _Reference):
        depth = max(depth for depth, scope in enumerate(scopes) if value.name in scope)
        found = _resolved(scopes[depth][value.name], scopes[: depth + 1])
        return found + value.rest if value.rest else found
    return value
