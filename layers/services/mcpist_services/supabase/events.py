"""Supabase's events, polled: a database webhook is a trigger, which only the owner of the database makes.

Reference: https://supabase.com/docs/reference/api/v1-read-only-query
"""

import hashlib
import json
from typing import Any

from mcpist.events.event_type import Argument, Arguments, Occurrence, Polled, event_type
from mcpist.moments import epoch_seconds, utc_text
from mcpist.tools.declare.call import Call
from mcpist_services.supabase.module import project_path

MAX_CHANGED_ROWS = 100
NAME = {"type": "string", "pattern": "^[a-z_][a-z0-9_]{0,62}$"}
"""A name that needs no quotes in SQL."""
CHANGED = "mcpist_changed_at"


def _query(arguments: Arguments) -> str:
    table, column = f'"{arguments["schema"]}"."{arguments["table"]}"', f'"{arguments["column"]}"'
    return (
        f"select {column} as {CHANGED}, to_jsonb(t) as row from {table} t "  # noqa: S608  # nosec B608 - names of the pattern
        f"where {column} >= $1::timestamptz order by 1 limit {MAX_CHANGED_ROWS}"
    )


def _call(arguments: Arguments, cursor: str, now: int) -> Call:
    body = {"query": _query(arguments), "parameters": [cursor or utc_text(now)]}
    return Call("POST", project_path(arguments["project_ref"], "/database/query/read-only"), json=body)


def _read(answer: Any, cursor: str, now: int) -> tuple[list[Occurrence], str]:
    found = [
        Occurrence(
            delivery=hashlib.sha256(json.dumps(one["row"], sort_keys=True).encode()).hexdigest(),
            occurred_at=epoch_seconds(one[CHANGED]),
            data={"row": one["row"]},
        )
        for one in answer
    ]
    return found, answer[-1][CHANGED] if answer else cursor or utc_text(now)


TYPES = (
    event_type(
        "supabase",
        "rows",
        "A row of a table was inserted or updated, as a column with the time of its last change tells.",
        tool="query",
        arguments={
            "project_ref": Argument("", "The ref that list_projects shows", locates=True),
            "schema": Argument("", "The table's schema, e.g. public", locates=True, schema=NAME),
            "table": Argument("", "The table, e.g. orders", locates=True, schema=NAME),
            "column": Argument("", "The column with that time, e.g. updated_at", locates=True, schema=NAME),
        },
        tool_arguments=lambda place: {"project_ref": place["project_ref"], "query": _query(place), "parameters": [""]},
        payload="row:object",
        source=Polled(_call, _read),
    ),
)
