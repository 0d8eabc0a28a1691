"""Projection: from a service's JSON to the rows that a tool shows."""

from typing import Any

from mcpist.render.shows import Shows, at

type Row = dict[str, Any]


def project(raw: Any, shows: Shows) -> list[Row]:
    """The rows of an answer; an answer that is one object is one row."""
    found = at(raw, shows.rows) if shows.rows else raw
    items = found if isinstance(found, list) else [found]
    return [{column.name: at(item, column.path) for column in shows.columns} for item in items if item is not None]
