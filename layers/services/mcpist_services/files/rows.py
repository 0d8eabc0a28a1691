"""Rows of a file: chosen by conditions, sorted, and cut down to some columns."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.files.values import Row, columns_of
from mcpist.patterns import compile_pattern
from mcpist.render.shows import value_at
from mcpist.suggestions import nearest
from mcpist.tools.declare.call import PartialList

MAX_CELL_CHARACTERS = 1_000

type Test = Callable[[Any], bool]

_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION = re.compile(
    r"\s*(?P<column>\S+)\s+(?P<operator><=|>=|!=|<|>|=|contains|matches|is|is not)(?:\s+(?P<value>.*))?"
)
_CONDITION_SYNTAX = (
    "write a column, one of = != < <= > >= contains matches, and a value; or: COLUMN is empty, COLUMN is not empty"
)


def select(
    rows: Sequence[Row],
    *,
    columns: Sequence[str] = (),
    where: Sequence[str] = (),
    order_by: str = "",
    offset: int = 0,
    limit: int = 50,
) -> list[Row] | PartialList:
    """Return the rows that meet all conditions, sorted and with the columns that are wanted."""
    known = columns_of(rows)
    for place, column in enumerate(columns):
        _check_column(column, known, rows, f"columns.{place}")
    tests = [_parse(condition, known, rows, f"where.{place}") for place, condition in enumerate(where)]
    fitting = [row for row in rows if all(test(value_at(row, column)) for column, test in tests)]
    wanted = _sorted(fitting, order_by, known)
    end = offset + limit
    shown = [_cells(row, columns) for row in wanted[offset:end]]
    if end >= len(wanted):
        return shown
    return PartialList(shown, f"{len(wanted):,} of {len(rows):,} rows fit: go on with offset={end}.")


def _parse(condition: str, known: Sequence[str], rows: Sequence[Row], field: str) -> tuple[str, Test]:
    """Return the column and the test of a condition; InvalidRequest for one that is none."""
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        raise InvalidRequest(field=field, problem=_CONDITION_SYNTAX)
    column, name, value = parts["column"], parts["operator"], (parts["value"] or "").strip()
    _check_column(column, known, rows, field)
    match name:
        case "is" if value in {"empty", "not empty"}:
            return column, lambda cell: (cell in (None, "", [], {})) == (value == "empty")
        case "=" | "!=":
            return column, lambda cell: _is_equal(cell, value) == (name == "=")
        case "contains":
            return column, lambda cell: value.casefold() in _text(cell).casefold()
        case "matches":
            pattern = compile_pattern(value, field)
            return column, lambda cell: cell is not None and pattern.search(_text(cell)) is not None
        case _ if name in _ORDERED and value:
            return column, lambda cell: _is_ordered(_ORDERED[name], cell, value)
    raise InvalidRequest(field=field, problem=_CONDITION_SYNTAX)


def _is_equal(cell: Any, value: str) -> bool:
    number = _number(value)
    if number is not None and isinstance(cell, int | float) and not isinstance(cell, bool):
        return cell == number
    return _text(cell) == _unquoted(value)


def _is_ordered(compare: Callable[[Any, Any], bool], cell: Any, value: str) -> bool:
    """Compare numbers as numbers and texts, such as dates, as texts; nothing else is before or after anything."""
    number = _number(value)
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return number is not None and compare(cell, number)
    return isinstance(cell, str) and compare(cell, _unquoted(value))


def _sorted(rows: list[Row], order_by: str, known: Sequence[str]) -> list[Row]:
    """Sort by a column, downwards with a minus before its name; numbers come before texts, and empty cells last."""
    if not order_by:
        return rows
    column = order_by.removeprefix("-")
    _check_column(column, known, rows, "order_by")

    def key(row: Row) -> tuple[bool, Any]:
        cell = value_at(row, column)
        is_number = isinstance(cell, int | float)
        return not is_number, cell if is_number else _text(cell)

    filled = [row for row in rows if value_at(row, column) is not None]
    empty = [row for row in rows if value_at(row, column) is None]
    return [*sorted(filled, key=key, reverse=order_by.startswith("-")), *empty]


def _cells(row: Row, columns: Sequence[str]) -> Row:
    wanted = {column: value_at(row, column) for column in columns} if columns else row
    return {name: _short(cell) for name, cell in wanted.items()}


def _short(cell: Any) -> Any:
    is_long = isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS
    return f"{cell[:MAX_CELL_CHARACTERS]}… ({len(cell):,} characters)" if is_long else cell


def _check_column(column: str, known: Sequence[str], rows: Sequence[Row], field: str) -> None:
    """Refuse a column, or a path such as `user.login`, that no row has."""
    if column not in known and all(value_at(row, column) is None for row in rows):
        raise InvalidRequest(field=field, problem=f"no row has {column}. Columns: {nearest(column, known, 20)}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def _text(cell: Any) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case list():
            return ", ".join(map(_text, cell))
    return str(cell)
