"""A reader of outlines: it returns the JSON that an outline was written from, without nulls and empty values."""

import json
import re
from dataclasses import dataclass
from typing import Any

ROOT = "(root)"
type Head = tuple[list[str | int], str, list["Head"], Any]
"""A column: its path, its kind (`value`, `list`, `object`, `table` or `shared`), its columns, the shared value."""

_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
NAME_ENDS = " .:,={}["
HEAD_ENDS = " }"
_JSON = json.JSONDecoder()


@dataclass(frozen=True)
class Reference:
    """A field of the object that it is in or of the nearest one around it, and what follows in a URL."""

    name: str
    rest: str


def read(text: str) -> Any:
    """Return the value of an outline."""
    try:
        return json.loads(text)
    except ValueError:
        return _resolved(_Reader(text).value(), ())


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
            self.number += 1
            if scanner.taken("{"):
                heads = scanner.heads()
                scanner.take(": ")
                found |= scanner.row(heads, ",")
                continue
            paths = [scanner.path()]
            while scanner.taken(" "):
                paths.append(scanner.path())
            value = self._value(scanner, paths[-1], indent + 1)
            for path in paths:
                _put(found, path, value)
        return found

    def _value(self, scanner: "_Scanner", names: list[str | int], indent: int) -> Any:
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
        return scanner.cell("")

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

    def name(self) -> str:
        """Read one name."""
        return self._json() if self.next_is('"') else self.match(f"[^{re.escape(NAME_ENDS)}]+")

    def path(self) -> list[str | int]:
        """Read a path: names with dots between them, and indexes."""
        names: list[str | int] = [ROOT] if self.next_is("[") else [self.name()]
        while part := self._index_or_name():
            names.append(part[0])
        return names

    def _index_or_name(self) -> tuple[str | int] | None:
        """Read what follows a name in a path: `[0]` or `.name`."""
        if re.compile(r"\[\d+\]").match(self.line, self.place):
            return (int(self.match(r"\[(\d+)\]")),)
        return (self.name(),) if self.taken(".") else None

    def heads(self) -> list[Head]:
        """Read the columns of a table up to the brace that closes them."""
        heads: list[Head] = []
        while not self.taken("}"):
            self.taken(" ")
            name = self.path()
            if self.taken("[]"):
                kind, inner = ("table", self.heads()) if self.taken("{") else ("list", [])
            else:
                kind, inner = ("object", self.heads()) if self.taken("{") else ("value", [])
            shared = (self.part(kind, inner, HEAD_ENDS),) if self.taken("=") else None
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
                _put(row, name, value)
        return row

    def part(self, kind: str, inner: list[Head], ends: str) -> Any:
        """Read a cell; `ends` are the characters that may follow it."""
        if not self.rest or self.rest[0] in ends:
            return None
        if kind == "value":
            return self.cell(ends)
        element_ends = "|;" + ends
        found: list[Any] = []
        while not found or self.taken(";"):
            found.append(self.row(inner, element_ends) if inner else self.cell(element_ends))
        return found

    def cell(self, ends: str) -> Any:
        """Read a value; in the head of a table braces belong to it in pairs."""
        if re.compile(r'["\[]|\{["}]').match(self.line, self.place):
            return self._json()
        name = self.match(r"\{([^{}]*)\}") if self.next_is("{") else ""
        other = f"[^{re.escape(ends)}]" if ends else "."
        text = self.match(r"(?:\{[^{}\s]*\}|[^{}\s" + re.escape(ends) + "])*" if HEAD_ENDS in ends else f"{other}*")
        return Reference(name, text) if name else _plain(text)

    def _json(self) -> Any:
        value, self.place = _JSON.raw_decode(self.line, self.place)
        return value


def _resolved(value: Any, scopes: tuple[dict[str, Any], ...]) -> Any:
    """Return a value in which each reference is what it stands for."""
    if isinstance(value, dict):
        return {name: _resolved(inner, (*scopes, value)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(element, scopes) for element in value]
    if isinstance(value, Reference):
        depth = max(depth for depth, scope in enumerate(scopes) if value.name in scope)
        found = _resolved(scopes[depth][value.name], scopes[: depth + 1])
        return found + value.rest if value.rest else found
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
    return json.loads(text) if _LITERAL.fullmatch(text) else text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _width(head: Head) -> int:
    _, kind, inner, shared = head
    return 0 if shared else sum(map(_width, inner)) if kind == "object" else 1
