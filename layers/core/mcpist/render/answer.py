"""The compact answer: the smallest of compact JSON, TOON and Markdown."""

import json
import re
from typing import Any

from mcpist.render.project import Row, project
from mcpist.render.shows import ANY_COLUMN, Shows

_ZERO_FRACTION = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.0+(?=Z?$|[+-]\d\d:?\d\d$)")


def compact(raw: Any, shows: Shows) -> str:
    """Render a tool's JSON for the model, without null and empty values; a text of unknown columns stays as it is."""
    if isinstance(raw, str) and ANY_COLUMN in shows.fields:
        return raw
    rows = project(raw, shows)
    single = len(rows) == 1 and not isinstance(raw, list) and not shows.rows
    if shows.text and single:
        return document(rows[0], shows.text)
    filled = [{name: _trim_fraction(value) for name, value in row.items() if not is_empty(value)} for row in rows]
    return smallest(filled[0] if single else filled)


def compact_each(raw: list[Any], shows: Shows) -> str:
    """Render the results for the elements of a list: one text after the other, or the rows of all as one table."""
    results = [result for result in raw if result is not None]
    if shows.text:
        return "\n".join(compact(result, shows) for result in results)
    rows = [row for result in results for row in project(result, shows)]
    return smallest([{name: value for name, value in row.items() if not is_empty(value)} for row in rows])


def document(row: Row, text: str) -> str:
    """Render a row as its Markdown text, with one line for each of the other columns above it."""
    lines = [f"{name}: {_inline(value)}" for name, value in row.items() if name != text and not is_empty(value)]
    body = "" if row[text] is None else _inline(row[text])
    return "\n".join([*lines, "", body]) if lines and body else "\n".join(lines) or body


def smallest(value: Any) -> str:
    """Return the shorter of compact JSON and TOON; in TOON the lists and objects inside rows are flattened."""
    if not value:
        return compact_json(value)
    from toon_format import encode

    flat = _table(value) if isinstance(value, list) else _flat(value)
    return min(compact_json(value), encode(flat), key=len)


def compact_json(value: Any) -> str:
    """Return JSON without spaces and without escaped characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _trim_fraction(value: Any) -> Any:
    """Remove a fraction of zeros from a timestamp: several services write seven of them."""
    return _ZERO_FRACTION.sub(r"\1", value) if isinstance(value, str) else value


def is_empty(value: Any) -> bool:
    """Whether a value carries no information; 0 and False do."""
    return value is None or value in ("", [], {})


def _table(rows: list[Row]) -> list[Row]:
    """Flatten rows and give all of them the same columns, which TOON then names once."""
    flat = [_flat(row) for row in rows]
    columns = dict.fromkeys(name for row in flat for name in row)
    return [{name: row.get(name) for name in columns} for row in flat]


def _flat(row: Row, prefix: str = "") -> Row:
    """Flatten a row: objects become dotted columns, lists of plain values become one text."""
    flat: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = _inline(value) if isinstance(value, list) else value
    return flat


def _inline(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(item if isinstance(item, str) else compact_json(item) for item in value)
    return value if isinstance(value, str) else compact_json(value)
