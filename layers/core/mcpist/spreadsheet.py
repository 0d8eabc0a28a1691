"""Rows as CSV that a spreadsheet opens, in which no cell becomes a formula."""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CSV = "text/csv; charset=utf-8"
# A spreadsheet would run a cell that begins with one of these as a formula, in East Asia also with the wide ones. Where
# lists are separated by semicolons, and with tabs, it begins a cell within one of ours.
_FORMULA_START = re.compile("(^|[;\t\r\n])(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a head (RFC 4180); lists are separated by spaces, and objects are JSON."""
    import csv  # a cold start need not wait for it

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    """Return the text of a cell; what a spreadsheet would run is quoted with an apostrophe."""
    match value:
        case None:
            return ""
        case list() | tuple():
            text = " ".join(value)
        case dict():
            text = json.dumps(value, ensure_ascii=False)
        case _:
            text = str(value)
    return _FORMULA_START.sub(r"\1'", text)
