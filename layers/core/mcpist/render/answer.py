"""The compact answer: the smallest of compact JSON, TOON and Markdown."""

import json
import re
from typing import Any

from mcpist.render.project import Row, project
from mcpist.render.shows import ANY_COLUMN, Shows

_ZERO_FRACTION = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.0+(?=Z?$|[+-]\d\d:?\d\d$)")


def compact(raw: Any, shows: Shows) -> str:
    """A tool's JSON as the model reads it: without what is null or empty. A text of unknown columns is that text."""
    if isinstance(raw, str) and ANY_COLUMN in shows.fields:
        return raw
    rows = project(raw, shows)
    single = len(rows) == 1 and not isinstance(raw, list) and not shows.rows
    if shows.text and single:
        return document(rows[0], shows.text)
    filled = [{name: _trim_fraction(value) for name, value in row.items() if not is_empty(value)} for row in rows]
    return smallest(filled[0] if single else filled)


def document(row: Row, text: str) -> str:
    """A Markdown document under the lines of its other columns."""
    lines = [f"{name}: {_inline(value)}" for name, value in row.items() if name != text and not is_empty(value)]
    body = "" if row[text] is None else _inline(row[text])
    return "\n".join([*lines, "", body]) if lines and body else "\n".join(lines) or body


def smallest(value: Any) -> str:
    """Compact JSON, or TOON with the lists and objects inside rows flattened: whichever is shorter."""
    if not value:
        return compact_json(value)
    from toon_format import encode

    flat = _table(value) if isinstance(value, list) else _flat(value)
    return min(compact_json(value), encode(flat), key=len)


def compact_json(value: Any) -> str:
    """JSON without spaces, with every character as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _trim_fraction(value: Any) -> Any:
    """A moment without a fraction of zeros, which several services write out to seven digits."""
    return _ZERO_FRACTION.sub(r"\1", value) if isinstance(value, str) else value


def is_empty(value: Any) -> bool:
    """Whether a value tells nothing; 0 and False tell something."""
    return value is None or value in ("", [], {})


def _table(rows: list[Row]) -> list[Row]:
    """Flat rows with the same columns, as TOON writes them shortest: names once, then values."""
    flat = [_flat(row) for row in rows]
    columns = dict.fromkeys(name for row in flat for name in row)
    return [{name: row.get(name) for name in columns} for row in flat]


def _flat(row: Row, place: str = "") -> Row:
    """A row whose objects are dotted columns, and whose lists of plain values are one text."""
    flat: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{place}{name}.")
        else:
            flat[f"{place}{name}"] = _inline(value) if isinstance(value, list) else value
    return flat


def _inline(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(item if isinstance(item, str) else compact_json(item) for item in value)
    return value if isinstance(value, str) else compact_json(value)
