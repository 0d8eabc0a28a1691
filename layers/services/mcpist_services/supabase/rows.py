"""The data API of a project: rows of its tables, read and written with its public key.

Reference: https://docs.postgrest.org/en/v12/references/api/tables_views.html
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call, Calls, PartialList, comma_separated, path

_OPERATOR = re.compile(
    r"(not\.)?(((eq|neq|gte?|lte?|i?like|i?match)(\((any|all)\))?|is|isdistinct|in|cs|cd|ov|sl|sr|nxr|nxl|adj)"
    r"|(fts|plfts|phfts|wfts)(\(\w+\))?)\..*",
    re.DOTALL,
)
_LOGICAL_CONDITION = re.compile(r"\(.+\)", re.DOTALL)
_LOGICAL_OPERATORS = {"and", "or", "not.and", "not.or"}
# In the query these names mean no column; the gateway before the API takes the last one for a key.
_RESERVED_NAMES = {"select", "columns", "on_conflict", "order", "limit", "offset", "and", "or", "apikey"}
_QUOTED = re.compile(r'"(\\.|[^"\\])*"')


_UNMASKED_KEY = re.compile(r"[A-Za-z0-9._-]+")  # a masked key has other characters
_VISIBLE_PREFIX = re.compile(r"(sb_[a-z]+_)?.{4}")
_JWT_PREFIX = "eyJ"  # how a JWT begins
_MIN_MASKED_CHARACTERS = 16  # four characters of a shorter key would reveal too much
_PUBLIC_KINDS = {"anon", "publishable"}  # row level security is what protects the data from them


def conditions(filters: Mapping[str, str | Sequence[str]], *, changing: bool = False) -> dict[str, Any]:
    """Return the query for filters.

    InvalidRequest for one that the API would not apply to the table's own rows: a change with it would reach all
    of them.
    """
    if changing and not filters:
        raise InvalidRequest(field="filters", problem="at least one is needed, or all rows would be changed")
    return {column: _condition(column, values, changing) for column, values in filters.items()}


def same_keys(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the columns of all rows if rows differ in their columns, since the API then needs the list."""
    columns = dict.fromkeys(column for row in rows for column in row)
    # PostgREST refuses rows with different keys, unless the request lists the columns.
    uneven = any(len(row) < len(columns) for row in rows)
    return ",".join(map(_quoted, columns)) if uneven else None


def with_preferences(call: Call, returning: Sequence[str] | None, *preferences: str) -> Call:
    """Add to a Call the columns of the written rows to return, and other preferences."""
    answer = "return=minimal" if returning == [] else "return=representation"
    query = {**call.query, "select": comma_separated(returning)} if returning else call.query
    return replace(call, query=query, headers={**call.headers, "prefer": ", ".join([answer, *preferences])})


def send_with_key(project_ref: str, call: Call) -> Calls:
    """Send a Call to the data API with the public key from the management API, and return the JSON."""
    keys = (yield Call("GET", path("/v1/projects/{ref}/api-keys", ref=project_ref))).json
    own = {**call.headers, **headers(public_key(keys))}
    answer = yield replace(call, headers=own, origin=f"https://{project_ref}.supabase.co")
    return answer.json


def read_page(project_ref: str, call: Call, limit: int, offset: int) -> Calls:
    """Read a page of rows; one more than `limit` is requested, to know whether there are more."""
    # PostgREST counts all rows of a table to say how many there are, and that may take long.
    query = {**call.query, "limit": limit + 1, "offset": offset}
    rows = yield from send_with_key(project_ref, replace(call, query=query))
    if len(rows) <= limit:
        return rows
    return PartialList(rows[:limit], f"Cut after {limit} rows (there are more): go on with offset={offset + limit}.")


def write_rows(project_ref: str, call: Call) -> Calls:
    """Write rows and return them, or `done` where none were requested."""
    rows = yield from send_with_key(project_ref, call)
    return {"done": True} if rows is None else rows


def call_function(project_ref: str, call: Call) -> Calls:
    """Call a function of the database, and return rows, an object, or one value as `result`."""
    result = yield from send_with_key(project_ref, call)
    return result if isinstance(result, list | dict) else {"result": result}


def _condition(column: str, values: str | Sequence[str], changing: bool) -> str | Sequence[str]:
    field = f"filters.{column}"
    pattern = _LOGICAL_CONDITION if column in _LOGICAL_OPERATORS else _OPERATOR
    bare = _QUOTED.sub("", column)
    if column not in _LOGICAL_OPERATORS and (not column or bare.lower().rpartition(".")[2] in _RESERVED_NAMES):
        raise InvalidRequest(field=field, problem=f'the API takes this for no column; write "\\"{column}\\"" for one')
    if changing and column not in _LOGICAL_OPERATORS and "." in bare:
        raise InvalidRequest(field=field, problem="a change can be filtered by the table's own columns only")
    for value in [values] if isinstance(values, str) else values or [""]:
        if not pattern.fullmatch(value):
            problem = f"{value!r} is not a filter: write operator.value such as eq.open, or (a.eq.1,b.eq.2) for and, or"
            raise InvalidRequest(field=field, problem=problem)
    return values


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


type ApiKey = Mapping[str, Any]


def public_key(keys: Iterable[ApiKey]) -> str:
    """Return the key with the fewest rights: the publishable one or the legacy `anon`, never one above all policies."""
    kinds = {_kind(each): each["api_key"] for each in keys if _UNMASKED_KEY.fullmatch(each.get("api_key") or "")}
    key: str | None = kinds.get("publishable") or kinds.get("anon")
    if key is None:
        problem = "the project has no publishable key: create one in its settings, or read with supabase.query"
        raise InvalidRequest(field="project_ref", problem=problem)
    return key


def headers(key: str) -> dict[str, str]:
    """Return the headers of a request to the data API; only a legacy key may also be sent as a token."""
    return {"apikey": key} | ({"authorization": f"Bearer {key}"} if key.startswith(_JWT_PREFIX) else {})


def masked(key: ApiKey) -> dict[str, Any]:
    """Return a key for display: whole where browsers get it, else its first characters, which are of no use."""
    api_key = key.get("api_key") or ""
    names = ("id", "name", "type", "description", "inserted_at", "updated_at")
    about = {name: key.get(name) for name in names}
    if _kind(key) in _PUBLIC_KINDS:
        return about | {"api_key": api_key or "…"}
    shown = _VISIBLE_PREFIX.match(api_key) if len(api_key) >= _MIN_MASKED_CHARACTERS else None
    return about | {"api_key": f"{shown[0] if shown else ''}…"}


def _kind(key: ApiKey) -> str:
    """Return `publishable`, `secret`, or the name of a legacy key; the name of any other key could be `anon` too."""
    kind = str(key.get("type") or "legacy")
    return str(key["name"]) if kind == "legacy" else kind
