"""Values between JSON and PostgreSQL's texts: what JSON holds exactly is a value of it, all else a text."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from mcpist_services.postgresql.protocol import ResultColumn

_BOOL, _TIMESTAMP, _TIMESTAMP_WITH_ZONE = 16, 1114, 1184
_INTEGERS = frozenset({20, 21, 23, 26})
_FLOATS = frozenset({700, 701})
_JSON = frozenset({114, 3802})
_MAX_SAFE_INTEGER = 2**53
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?")

# The forms in which the server writes values, whatever its own settings are.
FORMS = {"datestyle": "ISO", "timezone": "UTC", "intervalstyle": "iso_8601", "bytea_output": "hex"}


def rows_of(columns: Sequence[ResultColumn], rows: Sequence[Sequence[str | None]]) -> list[dict[str, Any]]:
    """Return rows as objects; of columns with one name the second is `name_2`."""
    names = _unique_names(columns)
    kinds = [column.type for column in columns]
    return [{name: _value(kind, text) for name, kind, text in zip(names, kinds, row, strict=True)} for row in rows]


def parameter(value: str | float | bool | None) -> str | None:
    """Return a value as PostgreSQL reads it, whatever the parameter's type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _unique_names(columns: Sequence[ResultColumn]) -> list[str]:
    names: list[str] = []
    for column in columns:
        name, number = column.name, 1
        while name in names:
            number += 1
            name = f"{column.name}_{number}"
        names.append(name)
    return names


def _value(kind: int, text: str | None) -> Any:
    if text is None:
        return None
    if kind == _BOOL:
        return text == "t"
    if kind in _INTEGERS:
        number = int(text)
        return number if abs(number) <= _MAX_SAFE_INTEGER else text
    if kind in _FLOATS:
        return float(text) if math.isfinite(float(text)) else text
    if kind in _JSON:
        return _json(text)
    if kind in {_TIMESTAMP, _TIMESTAMP_WITH_ZONE} and (found := _MOMENT.fullmatch(text)):
        return f"{found[1]}T{found[2]}" + ("Z" if found[3] else "")
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
