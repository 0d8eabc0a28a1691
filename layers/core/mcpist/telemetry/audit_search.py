"""Searching the audit table: rows between two times, the newest first, by pages of a bounded number of requests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

from mcpist.aws.attributes import Item
from mcpist.errors import AuditRowNotFound, InvalidRequest
from mcpist.settings import settings
from mcpist.telemetry.audit import audit_table, is_failure, timestamp
from mcpist.telemetry.audit_rows import key_of, row_of, text_of

MAX_ROWS = 1_000
MAX_PAGE_REQUESTS = 10
"""The requests to DynamoDB of one page: a rare value among many rows is searched by several pages."""
FAILED = "failed"
"""The outcome by which all refusals and errors are searched."""
# DynamoDB removes an expired row within some days.
EXPIRY_DELAY_DAYS = 7
# A call and what it causes ends within a minute, a batch within an hour.
CALL_STORY = timedelta(minutes=2)
BATCH_STORY = timedelta(minutes=75)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, the newest first; `cursor` is where the next page begins, empty on the last page.

    A page may have fewer rows than its limit, or none, and still have a cursor: the search goes on there.
    """

    rows: list[dict[str, Any]]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """All rows of the request that a row belongs to, the oldest first: of the endpoint, its steps and the broker."""

    row: dict[str, Any]
    rows: list[dict[str, Any]]
    is_complete: bool = True
    """Whether all were read; a person with thousands of rows at that time has more."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The values that the rows of a search have; an empty one does not count."""

    user: str = ""
    service: str = ""
    event: str = ""
    outcome: str = ""
    """An outcome, or `failed` for all refusals and errors."""
    tool: str = ""
    request: str = ""
    batch: str = ""
    client: str = ""
    """The name of the program."""
    correlation: str = ""
    trace: str = ""
    """The id of a W3C trace."""
    text: str = ""
    """A text that any column of the row has, in small or capital letters."""

    def values(self) -> Mapping[str, str]:
        """Return the values that attributes of an item have."""
        given = {one.name: str(getattr(self, one.name)) for one in fields(self)}
        given["client_name"] = given.pop("client")
        given.pop("text")
        if given["outcome"] == FAILED:
            given.pop("outcome")
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class _Source:
    """The partitions that a search reads, the newest first."""

    key: str
    partitions: Iterator[tuple[str, str]]
    """The partition, and the sort key above which all its rows are."""
    filters: Mapping[str, str]
    index: str = ""


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
    _day(cursor or timestamp(until))
    oldest = datetime.now(UTC) - timedelta(days=settings().audit_days + EXPIRY_DELAY_DAYS)
    first, last = timestamp(max(since, oldest)), min(timestamp(until), cursor or "~")
    if first >= last:
        return Page([])
    source = _source(organization, filters, first, last)
    wanted, rows, rest = filters.text.casefold(), list[Item](), ""
    for items, rest in islice(_reads(source, first, last, limit, whole=not wanted), MAX_PAGE_REQUESTS):  # noqa: B007
        rows += [item for item in items if wanted in text_of(item)] if wanted else items
        if len(rows) > limit:
            return Page(list(map(row_of, rows[:limit])), rows[limit - 1]["sk"])
    return Page(list(map(row_of, rows)), rest)


def find_story(organization: str, row: str, *, user: str = "") -> Story:
    """Return the story of the row with an id; with `user`, only of a row about this user."""
    day, sk = key_of(row)
    items, _ = audit_table().query_page("pk", f"{organization}#{day}", (sk, sk), limit=1)
    if not items or (user and items[0]["user"] != user):
        raise AuditRowNotFound(row=row)
    item = items[0]
    name = "correlation" if item.get("correlation") else "request"  # a row of an older release has none
    around = BATCH_STORY if item["batch"] else CALL_STORY
    moment = datetime.fromisoformat(sk.partition("#")[0])
    low, high = timestamp(moment - around), timestamp(moment + around)
    source = _Source("user_key", iter([(item["user_key"], low)]), {name: item[name]}, "by_user")
    rows, rest = list[Item](), ""
    for found, rest in islice(_reads(source, low, high, MAX_ROWS, whole=False), MAX_PAGE_REQUESTS):  # noqa: B007
        rows += found
    return Story(row_of(item), list(map(row_of, reversed(rows))), is_complete=not rest)


def _source(organization: str, filters: Filters, first: str, last: str) -> _Source:
    """Return the index that leaves the fewest rows to read, else the table, by days."""
    values = dict(filters.values())
    if is_failure(filters.outcome) or filters.outcome == FAILED:
        return _Source("failure_key", iter([(organization, first)]), values, "by_failure")
    for name in ("user", "service"):
        if name in values:
            value = values.pop(name)
            return _Source(f"{name}_key", iter([(f"{organization}#{value}", first)]), values, f"by_{name}")
    return _Source("pk", ((f"{organization}#{day}", str(day)) for day in _days(first, last)), values)


def _reads(source: _Source, first: str, last: str, limit: int, *, whole: bool) -> Iterator[tuple[list[Item], str]]:
    """Yield the items of each request below `last`, and the sort key below which the rest is; empty at the end.

    With a filter a request reads as much as DynamoDB answers at once, 1 MB.
    """
    count = limit + 2 if whole and not source.filters else 0
    for partition, floor in source.partitions:
        lower, end = max(floor, first), last
        while end:
            items, end = audit_table().query_page(
                source.key,
                partition,
                (lower, last),
                index=source.index,
                filters=source.filters,
                limit=count,
                descending=True,
            )
            below = [item for item in items if item["sk"] < last]
            last = end or lower
            yield below, last if last > first else ""


def _days(first: str, last: str) -> Iterator[date]:
    """Iterate over the days from the last to the first."""
    day, end = _day(last), _day(first)
    while day >= end:
        yield day
        day -= timedelta(days=1)


def _day(moment: str) -> date:
    try:
        return date.fromisoformat(moment[:10])
    except ValueError:
        raise InvalidRequest(field="cursor", problem="it was not returned by this audit") from None
