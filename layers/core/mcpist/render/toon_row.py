"""Rows of single objects, beside or below their names: `{login plan{name}}: ada,free`, with short lists in cells."""

from collections.abc import Mapping
from math import inf
from typing import Any

from mcpist.render.references import MIN_SAVED_CHARACTERS
from mcpist.render.toon_table import MAX_SINGLE_COLUMNS, NoTable, is_flat, list_cells
from mcpist.render.toon_texts import ValueReference, is_plain_in_row, is_plain_name, quote, text_of

MAX_SINGLE_ELEMENTS = 2  # of a list of objects in such a row

type Fields = Mapping[str, Any]

_CONTAINERS = frozenset({dict, list})


def single_row(value: Fields) -> str:
    """Return the head and the only row of a small object, e.g. `{login id}: ada,1`; an empty text for another one."""
    if not 0 < _count_columns(value) <= MAX_SINGLE_COLUMNS:
        return ""
    try:
        heads, cells = _row_of(value)
        if cells[0][0] == '"' and len(cells) > 1:  # TOON would read one text in quotes, and a mistake after it
            heads, cells = _row_of(dict(sorted(value.items(), key=_begins_quoted)))
    except NoTable:
        return ""
    return "" if cells[0][0] == '"' and len(cells) > 1 else f"{{{' '.join(heads)}}}: {','.join(cells)}"


def list_cell(values: list[Any], *, may_be_table: bool) -> tuple[str, str]:
    """Return the end of the name of a short list, and its cell in a row; empty texts for another one, and a table."""
    if not 0 < len(values) <= MAX_SINGLE_ELEMENTS or not _fits_line(values) or ValueReference in map(type, values):
        return "", ""
    if may_be_table and all(type(value) is dict and is_flat(value) for value in values):
        return "", ""
    try:
        return _list_cell(values)
    except NoTable:
        return "", ""


def _list_cell(values: list[Any]) -> tuple[str, str]:
    suffix, (text,) = list_cells([values])
    return suffix, text if is_plain_in_row(text) else quote(text)


def _row_of(value: Fields) -> tuple[list[str], list[str]]:
    """Return the names and the cells of an object's row."""
    heads, cells = [], []
    names: dict[str, str] = {}
    for name, inner in value.items():
        if not is_plain_name(name):
            raise NoTable
        kind = type(inner)
        if kind is dict:
            nested, texts = _row_of(inner)
            heads.append(f"{name}{{{' '.join(nested)}}}")
            cells += texts
        elif kind is list:
            suffix, text = _list_cell(inner)
            heads.append(name + suffix)
            cells.append(text)
        else:
            heads.append(name)
            text = text_of(inner, is_plain_in_row)
            same = names.setdefault(text, name)
            cells.append(f"{{{same}}}" if len(text) >= len(same) + MIN_SAVED_CHARACTERS and same != name else text)
    return heads, cells


def _begins_quoted(field: tuple[str, Any]) -> bool:
    return _row_of(dict([field]))[1][0][0] == '"'


def _count_columns(value: Fields) -> float:
    """Return how many columns an object needs as a row; infinite with a list that one line should not hold.

    Nothing is counted once there are too many.
    """
    columns: float = len(value)
    if columns <= MAX_SINGLE_COLUMNS:
        for inner in value.values():
            kind = type(inner)
            if kind is dict:
                columns += _count_columns(inner) - 1
            elif kind is list and not _fits_line(inner):
                return inf
    return columns


def _fits_line(values: list[Any]) -> bool:
    """Whether a list is of values, or no more and no larger objects than a line should hold, without lists in them."""
    if not values or type(values[0]) not in _CONTAINERS:
        return True
    return len(values) <= MAX_SINGLE_ELEMENTS and all(
        type(value) is dict and _count_columns(value) <= MAX_SINGLE_COLUMNS and list not in map(type, value.values())
        for value in values
    )
