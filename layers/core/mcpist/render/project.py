"""Projection: from a service's JSON to the rows that a tool shows."""

from typing import Any

from mcpist.render.shows import ANY_COLUMN, Shows, value_at

type Row = dict[str, Any]


def project(raw: Any, shows: Shows) -> list[Row]:
    """Return the rows of a service's JSON; a single object is one row."""
    found = value_at(raw, shows.rows) if shows.rows else raw
    items = found if isinstance(found, list) else [found]
    return [_row(item, shows) for item in items if item is not None]


def _row(item: Any, shows: Shows) -> Row:
    row: Row = {}
    for column in shows.columns:
        if column.name != ANY_COLUMN:
            row[column.name] = column.of(item)
        elif isinstance(item, dict):
            row |= item
        else:
            row["value"] = item
    return row
