"""Previews: what a model reads of a file instead of its content."""

from collections.abc import Sequence
from typing import Any

from mcpist.files.content_types import JSON
from mcpist.files.values import columns_of, find_rows, parse
from mcpist.render.answer import smallest

MAX_PREVIEW_ROWS = 20
MAX_LISTED_NAMES = 40
MAX_SHAPE_DEPTH = 3


def preview(text: str, content_type: str, max_characters: int) -> str:
    """Return the shape of a text and its beginning; of rows their number, their columns and the first of them."""
    value = _value(text, content_type)
    found = find_rows(value)
    if found is None:
        shape = _text_shape(text) if value is None else f"shape: {describe(value)[: max_characters // 2]}"
        return f"{shape}\nbegins:\n{_head(text, max_characters - len(shape))}"
    place = f" in {found.path}" if found.path else ""
    columns = ", ".join(_some(columns_of(found.rows)))[: max_characters // 2]
    lines = [f"rows: {len(found.rows):,}{place}; columns: {columns}"]
    if found.path:
        lines.append(f"shape: {describe(value)[: max_characters // 4]}")
    return "\n".join([*lines, _first_rows(found.rows[:MAX_PREVIEW_ROWS], max_characters - len("".join(lines)))])


def describe(value: Any, depth: int = 0) -> str:
    """Return the shape of a value, e.g. `{items: [120 of {id: integer, title: text}], total: integer}`."""
    match value:
        case dict() if depth >= MAX_SHAPE_DEPTH or not value:
            return "{...}" if value else "{}"
        case dict():
            fields = [f"{name}: {describe(inner, depth + 1)}" for name, inner in value.items()]
            return "{" + ", ".join(_some(fields)) + "}"
        case list():
            inside = f" of {describe(value[0], depth + 1)}" if value else ""
            return f"[{len(value):,}{inside}]"
        case bool():
            return "boolean"
        case None:
            return "null"
        case int():
            return "integer"
        case float():
            return "number"
    return "text"


def _value(text: str, content_type: str) -> Any:
    """Return the value of a JSON text; None for any other."""
    try:
        return parse(text, content_type) if content_type == JSON else None
    except ValueError:
        return None


def _text_shape(text: str) -> str:
    return f"text: {len(text.splitlines()):,} lines, {len(text):,} characters"


def _head(text: str, max_characters: int) -> str:
    """Return the first lines of a text, or the beginning of a long first one."""
    if len(text) <= max_characters:
        return text
    head = text[: max(0, max_characters)]
    return f"{head[: head.rindex('\n')] if '\n' in head else head}\n…"


def _first_rows(rows: Sequence[dict[str, Any]], max_characters: int) -> str:
    """Return as many of the rows as fit."""
    while len(rows) > 1 and len(smallest(rows)) > max_characters:
        rows = rows[: len(rows) // 2]
    return f"first {len(rows)}:\n{_head(smallest(rows), max_characters)}"


def _some(names: list[str]) -> list[str]:
    more = len(names) - MAX_LISTED_NAMES
    return names if more <= 0 else [*names[:MAX_LISTED_NAMES], f"and {more} more"]
