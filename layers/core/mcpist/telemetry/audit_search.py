"""Searching the audit table: rows between two times, the newest first, by pages; and their export."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.errors import InvalidRequest
from mcpist.telemetry.audit import audit_table, timestamp

MAX_ROWS = 1_000
ROW_FIELDS = (
    "time",
    *("user", "roles", "event", "service", "account", "tool", "outcome", "request", "batch"),
    *("target", "before", "after", "door", "client_name", "client_version", "client_id"),
)

# A spreadsheet would run a cell that begins with one of these as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, the newest first; `cursor` is where the next page begins, empty on the last page."""

    rows: list[dict[str, Any]]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """The values that the rows of a search have; an empty one does not count."""

    user: str = ""
    service: str = ""
    event: str = ""
    outcome: str = ""
    tool: str = ""
    request: str = ""
    batch: str = ""

    def without(self, *names: str) -> Mapping[str, str]:
        """Return the values that count, except those of some names."""
        return {name: value for name in self.__slots__ if name not in names and (value := getattr(self, name))}


def find(
    organization: str,
    *,
    since: datetime,
    until: datetime,
    filters: Filters = Filters(),
    limit: int = 100,
    cursor: str = "",
) -> Page:
    """Return an organization's rows between two times that have the values of the filters, the newest first."""
    if not 0 < limit <= MAX_ROWS:
        raise InvalidRequest(field="limit", problem=f"it is at least 1 and at most {MAX_ROWS}")
    first, last = timestamp(since), cursor or timestamp(until)
    items = list(islice(_query_rows(organization, filters, (first, last), limit + 1), limit + 1))
    return Page(list(map(_row, items[:limit])), items[limit]["sk"] if len(items) > limit else "")


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
    """Return the text of a cell; one that a spreadsheet would run is quoted with an apostrophe."""
    match value:
        case None:
            return ""
        case list():
            text = " ".join(value)
        case dict():
            text = json.dumps(value, ensure_ascii=False)
        case _:
            text = str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _row(item: Item) -> dict[str, Any]:
    """Return what an item says; a row of an older release lacks some columns."""
    missing = {"before": None, "after": None}
    return {"time": item["sk"].partition("#")[0]} | {
        name: item.get(name, missing.get(name, "")) for name in ROW_FIELDS[1:]
    }


def _query_rows(organization: str, filters: Filters, times: tuple[str, str], page: int) -> Iterator[Item]:
    """Iterate over the rows; with a filter that no index has, large pages are read."""
    by_user, by_service = f"{organization}#{filters.user}", f"{organization}#{filters.service}"
    if filters.user:
        yield from _query("user_key", by_user, times, "by_user", filters.without("user"), page)
    elif filters.service:
        yield from _query("service_key", by_service, times, "by_service", filters.without("service"), page)
    else:
        for day in _days(*times):
            yield from _query("pk", f"{organization}#{day}", times, "", filters.without(), page)


def _query(
    key: str, value: str, times: tuple[str, str], index: str, filters: Mapping[str, str], page: int
) -> Iterator[Item]:
    return audit_table().query_descending(key, value, times, index, filters, page=MAX_ROWS if filters else page)


def _days(first: str, last: str) -> Iterator[str]:
    """Iterate over the days from the last to the first."""
    try:
        day, end = (datetime.fromisoformat(moment[:10]).date() for moment in (last, first))
    except ValueError:
        raise InvalidRequest(field="cursor", problem="it was not returned by this audit") from None
    while day >= end:
        yield day.isoformat()
        day -= timedelta(days=1)
