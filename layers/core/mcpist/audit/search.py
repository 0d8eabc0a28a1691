"""Searching the audit table: rows between two times, the newest first, by pages of a bounded number of requests."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from mcpist.audit.record import audit_table, is_failure, partition_of, partitions_of, timestamp
from mcpist.audit.rows import has_text, key_of, row_of
from mcpist.aws.attributes import Item
from mcpist.aws.table import IsWanted, Table
from mcpist.errors import AuditRowNotFound, InvalidRequest
from mcpist.settings import settings

MAX_ROWS = 1_000
MAX_PAGE_REQUESTS = 8
"""The requests to DynamoDB of one page: a rare value among many rows is searched by several pages."""
READ_ROWS = 200
"""The rows that one request reads where a filter or a text may leave few of them: so a page takes a bounded time."""
MAX_STORY_REQUESTS = 24
MAX_CURSOR_CHARACTERS = 128
FIRST_READ_FACTOR = 4
"""With filters the first round reads so many times the rows of a page: a frequent value is found among them."""
FAILED = "failed"
"""The outcome by which all refusals and errors are searched."""
EXPIRY_DELAY_DAYS = 7  # DynamoDB removes an expired row within some days
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


def find(
    organization: str,
    *,
    since: datetime,
    until: datetime,
    filters: Filters = Filters(),
    limit: int = 100,
    cursor: str = "",
    max_requests: int = MAX_PAGE_REQUESTS,
) -> Page:
    """Return an organization's rows between two times that have the values of the filters, the newest first."""
    if not 0 < limit <= MAX_ROWS:
        raise InvalidRequest(field="limit", problem=f"it is at least 1 and at most {MAX_ROWS}")
    if cursor:
        _check_cursor(cursor)
    oldest = datetime.now(UTC) - timedelta(days=settings().audit_days + EXPIRY_DELAY_DAYS)
    first, last = timestamp(max(since, oldest)), min(timestamp(until), cursor or "~")
    if first >= last:
        return Page([])
    rows, rest = list[Item](), last
    for items, rest in _read(_sources(organization, filters), first, last, limit, max_requests, filters.text):  # noqa: B007
        rows += [
            item
            for item in items
            if _is_of(organization, item) and (filters.outcome != FAILED or is_failure(item["outcome"]))
        ]
        if len(rows) > limit:
            return Page(list(map(row_of, rows[:limit])), rows[limit - 1]["sk"])
    return Page(list(map(row_of, rows)), rest)


def find_story(organization: str, row: str, *, user: str = "") -> Story:
    """Return the story of the row with an id; with `user`, only of a row about this user."""
    sk = key_of(row)
    items, _ = audit_table().query_page("pk", partition_of(organization, sk), (sk, sk), limit=1)
    if not items or (user and items[0]["user"] != user):
        raise AuditRowNotFound(row=row)
    item = items[0]
    name = "correlation" if item.get("correlation") else "request"  # a row of an older release has none
    around = BATCH_STORY if item["batch"] else CALL_STORY
    moment = datetime.fromisoformat(sk.partition("#")[0])
    low, high = timestamp(moment - around), timestamp(moment + around)
    source = RowSource("user_key", (item["user_key"],), {name: item[name]}, "by_user")
    rows, rest = list[Item](), ""
    for found, rest in _read([source], low, high, READ_ROWS, MAX_STORY_REQUESTS):  # noqa: B007
        rows += [one for one in found if _is_of(organization, one)]
    return Story(row_of(item), list(map(row_of, reversed(rows))), is_complete=not rest)


@dataclass(frozen=True, slots=True)
class RowSource:
    """The partitions of the table, or of an index, in which all rows of a search are."""

    key: str
    """The attribute that is their key."""
    partitions: tuple[str, ...]
    filters: Mapping[str, str]
    """The values that other attributes must have."""
    index: str = ""

    def page_size(self, limit: int) -> int:
        """Return the rows to read of each partition, so that one round most likely has `limit` rows and one more."""
        # Rows fall on partitions by chance: twice the standard deviation more than the share is enough for most pages.
        share = limit / len(self.partitions)
        return math.ceil(share + 2 * math.sqrt(share) + 3) if len(self.partitions) > 1 else limit + 1


class DownwardReader:
    """A reader of all partitions of a source, from the newest row down.

    Each round queries the partitions that lag behind. A row is returned once every partition has been read down to it,
    so the rows come in their order.
    """

    def __init__(
        self, table: Table, source: RowSource, first: str, last: str, limit: int, is_wanted: IsWanted | None = None
    ) -> None:
        self._table, self._source, self._first, self._is_wanted = table, source, first, is_wanted
        self.limit = limit
        """The number of new rows that a request reads."""
        self._reached = dict.fromkeys(source.partitions, last)
        self._waiting: list[Item] = []

    @property
    def reached(self) -> str:
        """The sort key down to which all rows have been returned; the search's first one at the end."""
        return max(self._reached.values())

    @property
    def round_requests(self) -> int:
        """The number of requests of the next round."""
        return sum(end == self.reached for end in self._reached.values())

    def read(self) -> list[Item]:
        """Read a round and return the next rows, the newest first."""
        place = self.reached
        for partition in [name for name, end in self._reached.items() if end == place]:
            rows, end = self._table.query_page(
                self._source.key,
                partition,
                (self._first, place),
                index=self._source.index,
                filters=self._source.filters,
                limit=self.limit + 1,  # the range includes `place`, whose row was read before
                descending=True,
                is_wanted=self._is_wanted,
            )
            self._waiting += [row for row in rows if row["sk"] < place]
            self._reached[partition] = end or self._first
        ready = [row for row in self._waiting if row["sk"] >= self.reached]
        self._waiting = [row for row in self._waiting if row["sk"] < self.reached]
        return sorted(ready, key=lambda row: str(row["sk"]), reverse=True)


def _sources(organization: str, filters: Filters) -> list[RowSource]:
    """Return the indexes in which all rows of a search are; if there is none, the table."""
    values = dict(filters.values())
    sources = []
    if is_failure(filters.outcome) or filters.outcome == FAILED:
        sources.append(RowSource("failure_key", partitions_of(organization), values, "by_failure"))
    if user := values.get("user"):
        others = {name: value for name, value in values.items() if name != "user"}
        sources.append(RowSource("user_key", (f"{organization}#{user}",), others, "by_user"))
    if service := values.get("service"):
        others = {name: value for name, value in values.items() if name != "service"}
        sources.append(RowSource("service_key", partitions_of(f"{organization}#{service}"), others, "by_service"))
    return sources or [RowSource("pk", partitions_of(organization), values)]


def _read(
    sources: list[RowSource], first: str, last: str, limit: int, max_requests: int, text: str = ""
) -> Iterator[tuple[list[Item], str]]:
    """Yield the rows of each round below `last`, and the sort key below which the rest is; empty at the end.

    A free text is no condition of DynamoDB: the rows of a request are searched here, before they are read further.

    Of several indexes the first round reads all. The one that comes the farthest goes on alone: its rows between two
    times are the fewest, e.g. those of a rare service among the rows of a busy user.
    """
    table, is_plain = audit_table(), len(sources) == 1 and not sources[0].filters and not text
    rows_at_first = limit if is_plain else FIRST_READ_FACTOR * limit
    is_wanted = partial(has_text, wanted=text.casefold()) if text else None
    sizes = [READ_ROWS if text else one.page_size(rows_at_first) for one in sources]
    pairs = zip(sources, sizes, strict=True)
    readers = [DownwardReader(table, one, first, last, size, is_wanted) for one, size in pairs]
    requests = sum(reader.round_requests for reader in readers)
    rows, best = min(((reader.read(), reader) for reader in readers), key=lambda pair: pair[1].reached)
    best.limit = best.limit if is_plain else READ_ROWS
    while best.reached > first and requests + best.round_requests <= max_requests:
        yield rows, best.reached
        requests += best.round_requests
        rows = best.read()
    yield rows, best.reached if best.reached > first else ""


def _is_of(organization: str, item: Item) -> bool:
    """Whether seals of an organization cover a row: an index also shows rows that somebody put under foreign keys."""
    return str(item["pk"]) == partition_of(organization, item["sk"])


def _check_cursor(cursor: str) -> None:
    try:
        date.fromisoformat(cursor[:10] if len(cursor) <= MAX_CURSOR_CHARACTERS else "")
    except ValueError:
        raise InvalidRequest(field="cursor", problem="it was not returned by this audit") from None
