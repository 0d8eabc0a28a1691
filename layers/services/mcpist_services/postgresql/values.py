"""Values of PostgreSQL's texts: what JSON holds exactly is a value of it, all else a text."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MAX_SAFE_INTEGER = 2**53
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?")

# The forms in which the server writes values, whatever its own settings are.
FORMS = {"datestyle": "ISO", "timezone": "UTC", "intervalstyle": "iso_8601", "bytea_output": "hex"}


@dataclass(slots=True)
class StatementResult:
    """The result of one statement."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    """The values in the order of the columns, as JSON has them."""
    command: str = ""
    """The command that was carried out with its number of rows, e.g. `UPDATE 3`."""
    is_cut: bool = False
    """Whether rows are left out, since they are larger than MAX_FETCHED_BYTES."""


def rows_of(result: StatementResult) -> list[dict[str, Any]]:
    """Return rows as objects; of columns with one name the second is `name_2`."""
    names = _unique_names(result.columns)
    return [dict(zip(names, row, strict=True)) for row in result.rows]


def _unique_names(columns: Sequence[str]) -> list[str]:
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def _integer(text: str) -> int | str:
    number = int(text)
    return number if abs(number) <= _MAX_SAFE_INTEGER else text


def _float(text: str) -> float | str:
    return float(text) if math.isfinite(float(text)) else text


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _moment(text: str) -> str:
    found = _MOMENT.fullmatch(text)
    return f"{found[1]}T{found[2]}" + ("Z" if found[3] else "") if found else text


# By the OID of a type: bool; int8, int2, int4, oid; float4, float8; json, jsonb; timestamp, timestamptz.
CONVERTERS: Mapping[int, Callable[[str], Any]] = {
    16: "t".__eq__,
    **dict.fromkeys((20, 21, 23, 26), _integer),
    **dict.fromkeys((700, 701), _float),
    **dict.fromkeys((114, 3802), _json),
    **dict.fromkeys((1114, 1184), _moment),
}
