"""A reader of outlines: it returns the JSON that an outline was written from, without nulls and empty values."""

import json
import re
from typing import Any

ROOT = "(root)"
type Head = tuple[str, str, list["Head"], Any]
"""A column: its name, its kind (`value`, `list`, `object`, `table` or `shared`), its columns, the shared value."""

_LITERAL = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
ELEMENT_ENDS = "|;,}"
_JSON = json.JSONDecoder()


def read(text: str) -> Any:
    """Return the value of an outline."""
    try:
        return json.loads(text)
    except ValueError:
        return _Reader(text).value()


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.number = 0

    def value(self) -> Any:
        root = self._fields(0)
        return root.get(ROOT, root)

    def _fields(self, indent: int) -> dict[str, Any]:
        """Read the lines of an object; a list at the root is a field without a name."""
        found: dict[str, Any] = {}
        while self.number < len(self.lines) and _indent(self.lines[self.number]) == indent:
            scanner = _Scanner(self.lines[self.number], indent)
            paths = [scanner.path()]
            while scanner.taken(","):
                paths.append(scanner.path())
            self.number += 1
            value = self._value(scanner, paths[-1], indent + 1, found)
            for path in paths:
                _put(found, path, value)
        return found

    def _value(self, scanner: "_Scanner", names: list[str | int], indent: int, found: Any) -> Any:
        if scanner.taken("[]: "):
            return [scanner.cell(",")] + [scanner.cell(",") for _ in iter(lambda: scanner.taken(","), False)]
        if scanner.taken("{"):
            heads = scanner.heads()
            if scanner.rest == ":":
                return self._table(heads, int(names.pop()), indent)
            scanner.take(": ")
            return scanner.row(heads, ",")
        scanner.take(":")
        if not scanner.rest:
            return self._fields(indent)
        scanner.take(" ")
        beginning = ""
        if re.match(r'\{[^"}]', scanner.rest):
            scanner.take("{")
            beginning = found
            for name in scanner.path("}"):
                beginning = beginning[name]
            scanner.take("}")
        return beginning + scanner.rest if beginning else _plain(scanner.rest)

    def _table(self, heads: list[Head], size: int, indent: int) -> list[Any]:
        rows: list[Any] = []
        width = sum(map(_width, heads))
        for _ in range(size):
            scanner = _Scanner(self.lines[self.number], indent) if width else _Scanner("")
            self.number += 1 if width else 0
            rows.append(scanner.row(heads, ","))
            assert not scanner.rest, scanner.rest
        return rows


class _Scanner:
    def __init__(self, line: str, place: int = 0) -> None:
        self.line, self.place = line, place

    @property
    def rest(self) -> str:
        return self.line[self.place :]

    def next_is(self, text: str) -> bool:
        return self.line.startswith(text, self.place)

    def taken(self, text: str) -> bool:
        found = self.next_is(text)
        self.place += len(text) if found else 0
        return found

    def take(self, text: str) -> None:
        assert self.taken(text), (text, self.rest)

    def match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self.line, self.place)
        assert found, (pattern, self.rest)
        self.place = found.end()
        return found[found.lastindex or 0]

    def name(self, ends: str) -> str:
        """Read one name."""
        return self._json() if self.next_is('"') else self.match(f"[^.{re.escape(ends)}]+")

    def path(self, end: str = ":") -> list[str | int]:
        """Read a path: names with dots between them, and indexes."""
        names: list[str | int] = [ROOT] if self.next_is("[") else [self.name(f"{end}[{{,")]
        while part := self._index_or_name(f"{end}[{{,"):
            names.append(part[0])
        return names

    def _index_or_name(self, ends: str) -> tuple[str | int] | None:
        """Read what follows a name in a path: `[0]` or `.name`."""
        if re.compile(r"\[\d+\]").match(self.line, self.place):
            return (int(self.match(r"\[(\d+)\]")),)
        return (self.name(ends),) if self.taken(".") else None

    def heads(self) -> list[Head]:
        """Read the columns of a table up to the brace that closes them."""
        heads: list[Head] = []
        while not self.taken("}"):
            self.taken(",")
            name = self.name(",={}[")
            if self.taken("[]"):
                kind, inner = ("table", self.heads()) if self.taken("{") else ("list", [])
            else:
                kind, inner = ("object", self.heads()) if self.taken("{") else ("value", [])
            shared = (self.part(kind, inner, ",}"),) if self.taken("=") else None
            heads.append((name, kind, inner, shared))
        return heads

    def row(self, heads: list[Head], ends: str, *, first: bool = True) -> dict[str, Any]:
        """Read a row; the first of the characters that may end a cell is between the cells."""
        row: dict[str, Any] = {}
        for name, kind, inner, shared in heads:
            if shared:
                value = shared[0]
            elif kind == "object":
                value = self.row(inner, ends, first=first)
                first = first and not sum(map(_width, inner))
            else:
                if not first:
                    self.take(ends[0])
                first = False
                value = self.part(kind, inner, ends)
            if value not in (None, [], {}) or value is False or value == 0:
                row[name] = value
        return row

    def part(self, kind: str, inner: list[Head], ends: str) -> Any:
        """Read a cell; `ends` are the characters that may follow it."""
        if not self.rest or self.rest[0] in ends:
            return None
        if kind == "value":
            return self.cell(ends)
        found = [self._element(inner)]
        while self.taken(";"):
            found.append(self._element(inner))
        return found

    def _element(self, inner: list[Head]) -> Any:
        return self.row(inner, ELEMENT_ENDS) if inner else self.cell(ELEMENT_ENDS)

    def cell(self, ends: str) -> Any:
        if self.rest[:1] in {'"', "[", "{"}:
            return self._json()
        return _plain(self.match(f"[^{re.escape(ends)}]*"))

    def _json(self) -> Any:
        value, self.place = _JSON.raw_decode(self.line, self.place)
        return value


def _put(found: dict[str, Any], names: list[str | int], value: Any) -> None:
    """Put a value at its path; the elements of a list come in their order."""
    inner: Any = found
    for name, following in zip(names, [*names[1:], None], strict=True):
        new = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(name, int):
            if name == len(inner):
                inner.append(new)
        else:
            inner.setdefault(name, new)
        inner = inner[name]


def _plain(text: str) -> Any:
    return json.loads(text) if text[:1] in {'"', "[", "{"} or _LITERAL.fullmatch(text) else text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _width(head: Head) -> int:
    _, kind, inner, shared = head
    return 0 if shared else sum(map(_width, inner)) if kind == "object" else 1
