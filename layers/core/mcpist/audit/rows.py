"""Rows of the audit as people and programs read them: their columns, declared once, and their ids."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypedDict, get_args

from mcpist.aws.attributes import Item, TypedItem, deserialize
from mcpist.errors import AuditRowNotFound

JSON_LINES = "application/x-ndjson"

# 2026-11-22T21:05:09.123456+00:00#0a1b2c3d is the row 20261122T210509123456.0a1b2c3d.
_ID = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})\.([0-9a-z]{1,16})")


class AuditColumns(TypedDict, total=False):
    """The columns of a row, in their order, with what they mean: the only place that names them all.

    REST, the exports and the docs take them from here; a new one is declared here and given a value where it arises.
    """

    id: Annotated[str, "Names the row: its time and a random part"]
    time: Annotated[str, "When it was written, in UTC"]
    user: Annotated[str, "The id of the user who did it"]
    roles: Annotated[Sequence[str], "The roles in which the user did it"]
    event: Annotated[str, "use, connect, refresh, failure, revoke, kill, change, look, approval, sign_in or sign_out"]
    service: Annotated[str, "The module that was used, or `administration`"]
    account: Annotated[str, "The name of the account that acted"]
    tool: Annotated[str, "The tool, or the action of an administrator such as `users.update`"]
    outcome: Annotated[str, "`succeeded`, `started` before a write, or the code of an error"]
    request: Annotated[str, "The id of the request"]
    correlation: Annotated[str, "The first request, which all its steps and log lines name"]
    trace: Annotated[str, "The id of the W3C trace that the request belongs to"]
    batch: Annotated[str, "The batch that the use is a step of"]
    target: Annotated[str, "The path of what was changed, such as `users.uma`"]
    before: Annotated[Mapping[str, Any] | None, "What was changed, as it was"]
    after: Annotated[Mapping[str, Any] | None, "What was changed, as it became"]
    change: Annotated[str, "The change that was kept of a write, by which it can be undone"]
    measures: Annotated[Mapping[str, int] | None, "Numbers about the work of a program"]
    door: Annotated[str, "The function that wrote the row"]
    client_name: Annotated[str, "The program of the user, as it names itself"]
    client_version: Annotated[str, "The version of that program, as it names itself"]
    client_id: Annotated[str, "The verified client id of that program"]


COLUMNS = tuple(AuditColumns.__annotations__)
_SEARCHED = ("sk", *COLUMNS[2:])
COMMAND_LINE_COLUMNS = ("time", "user", "event", "service", "account", "tool", "outcome")
"""The columns that `mcpist audit` shows in a table; its JSON and its exports have all."""


def column_types() -> Iterator[tuple[str, Any, str]]:
    """Yield the name, the type and the meaning of each column."""
    for name, hint in AuditColumns.__annotations__.items():
        yield name, hint.__origin__, hint.__metadata__[0]


# What a row has that was written before the column was declared.
_MISSING = {name: None if type(None) in get_args(kind) else "" for name, kind, _ in column_types()}


def row_of(item: Item) -> dict[str, Any]:
    """Return the columns of an item; a row of an older release lacks some."""
    moment, _, key = item["sk"].partition("#")
    time_digits = re.sub(r"[-:.]", "", moment.partition("+")[0])
    columns = {name: item.get(name, _MISSING[name]) for name in COLUMNS[2:]}
    return {"id": f"{time_digits}.{key}", "time": moment} | columns


def key_of(row: str) -> str:
    """Return the sort key of the row with an id."""
    found = _ID.fullmatch(row)
    if found is None:
        raise AuditRowNotFound(row=row)
    year, month, day, hour, minute, second, fraction, key = found.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}+00:00#{key}"


def has_text(item: TypedItem, wanted: str) -> bool:
    """Whether a column of an item as DynamoDB sends it has a text, which is in small letters."""
    values = [item[name] for name in _SEARCHED if name in item and "NULL" not in item[name]]
    texts = [one["S"] if "S" in one else json.dumps(deserialize({"": one})[""], ensure_ascii=False) for one in values]
    return wanted in "\n".join(texts).casefold()


def as_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
