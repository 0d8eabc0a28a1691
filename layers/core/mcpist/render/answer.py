"""The compact answer: the smallest of compact JSON, TOON and Markdown."""

import json
from typing import Any

from mcpist.render.project import Row, project
from mcpist.render.shows import Shows


def compact(raw: Any, shows: Shows) -> str:
    """A tool's JSON as the model reads it."""
    rows = project(raw, shows)
    single = not isinstance(raw, list) and not shows.rows
    if shows.text and single and rows:
        return document(rows[0], shows.text)
    filled = [{name: value for name, value in row.items() if value not in (None, "", [], {})} for row in rows]
    if single and filled:
        return smallest(filled[0])
    return min(smallest(rows), smallest(filled), key=len)


def document(row: Row, text: str) -> str:
    """A Markdown document under the lines of its other columns."""
    lines = [f"{name}: {_inline(value)}" for name, value in row.items() if name != text and value not in (None, "", [])]
    return "\n".join([*lines, "", str(row[text] or "")]) if lines else str(row[text] or "")


def smallest(value: Any) -> str:
    """Compact JSON or TOON, whichever is shorter."""
    from toon_format import encode

    return min(minified(value), encode(value), key=len)


def minified(value: Any) -> str:
    """JSON without spaces, with every character as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _inline(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else minified(value)
