"""Rows of the audit as people and programs read them: their columns, their ids, and their export."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.errors import AuditRowNotFound

ROW_FIELDS = (
    *(
        "id",
        "time",
        "user",
        "roles",
        "event",
        "service",
        "account",
        "tool",
        "outcome",
        "request",
        "correlation",
        "trace",
    ),
    *("batch", "target", "before", "after", "measures", "door", "client_name", "client_version", "client_id"),
)

# A spreadsheet would run a cell that begins with one of these as a formula, in East Asia also with the wide ones. Where
# lists are separated by semicolons, and with tabs, it begins a cell within one of ours.
_FORMULA_START = re.compile("(^|[;\t\r\n])(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")
# 2026-11-22T21:05:09.123456+00:00#0a1b2c3d is the row 20261122T210509123456.0a1b2c3d.
_ID = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})\.([0-9a-z]{1,16})")


def row_of(item: Item) -> dict[str, Any]:
    """Return the columns of an item; a row of an older release lacks some."""
    missing = {"before": None, "after": None, "measures": None}
    moment, _, key = item["sk"].partition("#")
    time_digits = re.sub(r"[-:.]", "", moment.partition("+")[0])
    columns = {name: item.get(name, missing.get(name, "")) for name in ROW_FIELDS[2:]}
    return {"id": f"{time_digits}.{key}", "time": moment} | columns


def key_of(row: str) -> str:
    """Return the sort key of the row with an id."""
    found = _ID.fullmatch(row)
    if found is None:
        raise AuditRowNotFound(row=row)
    year, month, day, hour, minute, second, fraction, key = found.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}+00:00#{key}"


def text_of(item: Item) -> str:
    """Return the text of all columns, in which a free text is searched."""
    row = row_of(item)
    texts = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in row.values())
    return "\n".join(texts).casefold()


def as_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a head (RFC 4180); lists are separated by spaces, and objects are JSON."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(ROW_FIELDS)
    writer.writerows([_cell(row[name]) for name in ROW_FIELDS] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    """Return the text of a cell; what a spreadsheet would run is quoted with an apostrophe."""
    match value:
        case None:
            return ""
        case list():
            text = " ".join(value)
        case dict():
            text = json.dumps(value, ensure_ascii=False)
        case _:
            text = str(value)
    return _FORMULA_START.sub(r"\1'", text)


EXPORTS: Mapping[str, tuple[str, Callable[[Iterable[Mapping[str, Any]]], str]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "jsonl": ("application/x-ndjson", as_json_lines),
}
"""The forms of an export by their names: the content type, and the function that writes the rows."""
