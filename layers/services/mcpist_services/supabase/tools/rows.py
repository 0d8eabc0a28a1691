"""Rows of a table, through the data API."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest, NotUndoable
from mcpist.tools.declare.call import Call, Calls, comma_separated, given, path, path_template
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo
from mcpist_services.supabase.module import ROWS, Limit, Name, ProjectRef, supabase
from mcpist_services.supabase.rows import call_function, conditions, read_page, same_keys, with_preferences, write_rows

_table_path = path_template("/rest/v1/{table}")
INSERTS: tuple[dict[str, Any], ...] = (
    {},
    {"upsert": True, "on_conflict": ["email"], "returning": ["id"], "schema": "public"},
)

Table = Annotated[str, Field(min_length=1), "A table or a view, e.g. orders"]
Schema = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$"),
    "A schema that the data API exposes; its first (public) if left out, e.g. public",
]
Filters = Annotated[
    dict[str, str | list[str]],
    Field(min_length=1),
    "By column: operator.value, or a list of which all must hold: eq, neq, gt, gte, lt, lte, like.*a*, ilike, "
    'in.(1,2), is.null, cs.{a}, fts, each also as not.eq; {"or": "(a.eq.1,b.is.null)"} joins others, '
    'e.g. {"status": "eq.open", "total": ["gte.10", "lt.20"]}',
]
Returning = Annotated[
    list[Name],
    "Columns of the written rows to show: all if left out; none if empty, for rows that may not be read, e.g. id, name",
]
MaxAffected = Annotated[int, Field(ge=1), "Change nothing if more rows than this match"]
Columns = Annotated[
    list[Name], "All if left out; rows of another table as author(name), e.g. id, status, customer(name)"
]


@supabase.reads(ROWS, "select")
def select(
    project_ref: ProjectRef,
    table: Table,
    columns: Columns | None = None,
    filters: Filters | None = None,
    order: Annotated[str | None, "Needed for reliable paging, e.g. created_at.desc,id"] = None,
    limit: Limit = 50,
    offset: Annotated[int, Field(ge=0), "Rows to skip"] = 0,
    schema: Schema | None = None,
) -> Calls:
    """Read rows of a table with the project's public key: only those that row level security shows to everybody."""
    own = given(select=comma_separated(columns), order=order)
    call = Call("GET", _table_path(table), conditions(filters or {}) | own, headers=_schema_header("accept", schema))
    return read_page(project_ref, call, limit, offset)


TABLE = ("project_ref", "table", "schema")


def _exactly(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the filters that a row alone matches; values that are objects or lists have no operator for that."""
    plain = {column: value for column, value in row.items() if not isinstance(value, dict | list)}
    tested = {True: "is.true", False: "is.false", None: "is.null"}
    return {
        column: tested[value] if value is None or isinstance(value, bool) else f"eq.{value}"
        for column, value in plain.items()
    }


def _delete_again(change: ToolChange) -> Iterable[ToolCall]:
    """Return the deletion of each inserted row, as it was: a row that was changed since is not touched."""
    if change.arguments["upsert"]:
        raise NotUndoable(tool=change.tool, problem="an upsert does not tell what it has written")
    _require_rows(change)
    return [
        ToolCall("delete", change.given(*TABLE) | {"filters": _exactly(row), "max_affected": 1})
        for row in change.answer
    ]


def _require_rows(change: ToolChange) -> None:
    """Raise NotUndoable for a change that has not answered whole rows: others may be like a part of one."""
    if change.arguments["returning"] is not None:
        raise NotUndoable(tool=change.tool, problem="rows of which it returns a part cannot be told from others")


def _first_inserted(change: ToolChange) -> Mapping[str, Any]:
    return change.given(*TABLE) | {"filters": _exactly(change.answer[0])}


def _first(rows: Any, _: ToolChange) -> dict[str, Any]:
    return {"row": rows[0] if rows else None}


def _insert_again(change: ToolChange) -> Iterable[ToolCall]:
    if len(change.before) >= MAX_ITEMS:
        raise NotUndoable(tool=change.tool, problem="more rows were deleted than one read shows")
    return [ToolCall("insert", change.given(*TABLE) | {"rows": change.before})] if change.before else []


@supabase.writes(
    ROWS,
    "insert",
    uses=INSERTS,
    undo=Undo(calls=_delete_again, read="select", target=_first_inserted, state=_first, creates=True),
)
def insert(
    project_ref: ProjectRef,
    table: Table,
    rows: Annotated[list[dict[str, Any]], Field(min_length=1), 'e.g. [{"name": "Ada", "status": "open"}]'],
    upsert: Annotated[bool, "Replace existing rows with the same primary key"] = False,
    on_conflict: Annotated[
        list[Name] | None, "For upsert: unique columns to match instead of that key, e.g. email"
    ] = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Insert rows into a table, or replace them, with the project's public key, as row level security allows.

    A column that some of the rows leave out gets its default there.
    """
    if on_conflict and not upsert:
        raise InvalidRequest(field="on_conflict", problem="it needs upsert")
    columns = same_keys(rows)
    preferences = ["resolution=merge-duplicates"] * upsert + ["missing=default"] * bool(columns)
    own = given(columns=columns, on_conflict=comma_separated(on_conflict))
    call = Call("POST", _table_path(table), own, rows, _schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *preferences))


def _updated(change: ToolChange) -> Mapping[str, Any]:
    """Read the rows that an update will change, and then the first one of those that it has changed."""
    if not change.answer:
        return change.given(*TABLE) | {"filters": change.arguments["filters"], "limit": MAX_ITEMS}
    return _first_inserted(change)


def _former_rows(change: ToolChange) -> Iterable[ToolCall]:
    """Return the update of each changed row to what it was; a row that was changed since is not touched."""
    if change.answer is None:
        return
    _require_rows(change)
    columns, rows = change.arguments["values"].keys(), change.answer
    former = {str(_but(row, columns)): row for row in change.before}
    if len(former) < len(change.before) or {str(_but(row, columns)) for row in rows} != former.keys():
        problem = "its rows cannot be told apart by the columns that it left"
        raise NotUndoable(tool=change.tool, problem=problem)
    for row in rows:
        values = {column: former[str(_but(row, columns))][column] for column in columns}
        yield ToolCall("update", change.given(*TABLE) | {"values": values, "filters": _exactly(row), "max_affected": 1})


def _but(row: Mapping[str, Any], columns: Collection[str]) -> list[Any]:
    return sorted((name, str(value)) for name, value in row.items() if name not in columns)


@supabase.writes(
    ROWS,
    "update",
    idempotent=True,
    undo=Undo(calls=_former_rows, read="select", target=_updated, state=_first),
)
def update(
    project_ref: ProjectRef,
    table: Table,
    values: Annotated[dict[str, Any], Field(min_length=1), 'What to set, e.g. {"status": "closed"}'],
    filters: Filters,
    max_affected: MaxAffected | None = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Change the rows that match, with the project's public key. No row: none matched, or row level security hid it."""
    rows = conditions(filters, changing=True)
    call = Call("PATCH", _table_path(table), rows, values, _schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *_max_affected(max_affected)))


@supabase.destroys(
    ROWS,
    "delete",
    idempotent=True,
    undo=Undo(calls=_insert_again, read="select", reads={"limit": lambda _: MAX_ITEMS, "columns": lambda _: None}),
)
def delete(
    project_ref: ProjectRef,
    table: Table,
    filters: Filters,
    max_affected: MaxAffected | None = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Delete the rows that match, with the project's public key. No row: none matched, or row level security hid it."""
    rows = conditions(filters, changing=True)
    call = Call("DELETE", _table_path(table), rows, headers=_schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *_max_affected(max_affected)))


@supabase.writes(ROWS, "rpc", irreversible="what a function changes is known to the database alone")
def rpc(
    project_ref: ProjectRef,
    function: Annotated[Name, "A function of the database, e.g. close_orders"],
    args: Annotated[dict[str, Any] | None, 'By name, e.g. {"before": "2026-01-31"}'] = None,
    schema: Schema | None = None,
) -> Calls:
    """Call a function of the database with the project's public key; it may change what row level security allows."""
    place = path("/rest/v1/rpc/{function}", function=function)
    return call_function(project_ref, Call("POST", place, json=args or {}, headers=_schema_header("content", schema)))


def _schema_header(kind: str, schema: str | None) -> dict[str, str]:
    """Return the header that chooses another schema than the first one."""
    return {f"{kind}-profile": schema} if schema else {}


def _max_affected(rows: int | None) -> list[str]:
    return [] if rows is None else ["handling=strict", f"max-affected={rows}"]
