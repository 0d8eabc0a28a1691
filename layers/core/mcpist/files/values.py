"""Values in files: JSON, JSON Lines and YAML, the rows that they hold, and JSON as text in which a line is a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.bounded_yaml import load_yaml
from mcpist.files.content import YAML
from mcpist.render.answer import compact_json
from mcpist.strict_json import load_json

MAX_YAML_CHARACTERS = 2_000_000  # some seconds

type Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a value, and the path of their list in it; empty where the value is the list."""

    rows: Sequence[Row]
    path: str = ""


def parse(text: str, content_type: str) -> Any:
    """Return the value of a file's text; ValueError says what is wrong with it."""
    if content_type == YAML:
        if len(text) > MAX_YAML_CHARACTERS:
            raise ValueError(f"it has more than {MAX_YAML_CHARACTERS:,} characters of YAML, which is slow to read")
        return load_yaml(text)
    try:
        return _parse_json(text)
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise ValueError(f"it is no JSON: {error}") from None
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(_parse_json(line))
        except ValueError as error:
            raise ValueError(f"it is neither JSON nor JSON Lines: line {number}: {error}") from None
    return values


def find_rows(value: Any) -> Rows | None:
    """Return the rows of a value: a list of objects, or the longest one directly inside of an object."""
    if _is_rows(value):
        return Rows(value)
    inside = {name: inner for name, inner in value.items() if _is_rows(inner)} if isinstance(value, dict) else {}
    path = max(inside, key=lambda name: len(inside[name]), default=None)
    return None if path is None else Rows(inside[path], path)


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the columns of rows, in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row))


def readable_json(value: Any) -> bytes:
    """Return a value as JSON in which each row of a list, and each field of an object, has a line of its own."""
    if isinstance(value, dict) and value:
        fields = [f"{compact_json(name)}:{_lines(inner)}" for name, inner in value.items()]
        text = "{\n" + ",\n".join(fields) + "\n}\n"
    else:
        text = f"{_lines(value)}\n"
    return text.encode(errors="replace")


def _lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return compact_json(value)
    return "[\n" + ",\n".join(map(compact_json, value)) + "\n]"


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _parse_json(text: str) -> Any:
    try:
        return load_json(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
