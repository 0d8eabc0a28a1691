"""Results of statements, and their values: what JSON holds exactly is a value of it, all else a text."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_MAX_SAFE_INTEGER = 2**53
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?")


@dataclass(slots=True)
class StatementResult:
    """The result of one statement."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    """The values in the order of the columns, as JSON has them."""
    command: str = ""
    """What was carried out, e.g. `UPDATE`."""
    affected: int | None = None
    """The number of rows that it changed or returned."""
    is_cut: bool = False
    """Whether rows are left out, since they are larger than MAX_FETCHED_BYTES."""


def rows_of(result: StatementResult) -> list[dict[str, Any]]:
    """Return rows as objects; of columns with one name the second is `name_2`."""
    names = _unique_names(result.columns)
    return [dict(zip(names, row, strict=True)) for row in result.rows]


def _unique_names(columns: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}  # the last one of each name: a server may send as many columns of one as it likes
    for column in columns:
        name = column
        while name in names:
            numbers[column] = numbers.get(column, 1) + 1
            name = f"{column}_{numbers[column]}"
        names[name] = None
    return list(names)


def integer(text: str) -> int | str:
    """Return an integer, or its digits where JSON would not hold it exactly."""
    found = int(text)
    return found if abs(found) <= _MAX_SAFE_INTEGER else text


def number(text: str) -> float | str:
    """Return a float, or its name where JSON has none."""
    return float(text) if math.isfinite(float(text)) else text


def json_value(text: str) -> Any:
    """Return a value of JSON, or the text where it cannot be read."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def moment(text: str) -> str:
    """Return a date with a time of day in the form of ISO 8601; one that was shown with the zone UTC ends with Z."""
    found = _MOMENT.fullmatch(text)
    return f"{found[1]}T{found[2]}" + ("Z" if found[3] else "") if found else text
