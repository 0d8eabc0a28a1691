"""The uses and the failures of the last days, from the rows of the audit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mcpist.audit.record import is_failure
from mcpist.audit.search import FAILED, Filters, Page, find

DAYS = 7
MAX_CHARTED_ROWS = 500
SILENT_HOURS = 1
ALARM_CODES = frozenset({"INTEGRITY_ERROR", "INTERNAL_ERROR", "STORE_UNAVAILABLE"})
"""The errors that no caller causes: each has a text in the area `home`."""
SILENT_CODES = frozenset({"UPSTREAM_UNAVAILABLE", "SCHEMA_FETCH_ERROR", "TIMEOUT"})


@dataclass(frozen=True, slots=True)
class Day:
    """The uses of tools on one day."""

    date: str
    succeeded: int
    failed: int

    @property
    def total(self) -> int:
        """All uses of the day."""
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class Week:
    """The uses of tools in the last seven days, the oldest day first."""

    days: tuple[Day, ...]
    tokens_before: int
    """The estimated tokens of what measured tools read."""
    tokens_after: int
    """The estimated tokens of what a model got of it."""
    is_complete: bool
    """Whether all rows were read; the newest are."""
    clients: frozenset[str]
    """The names of the clients that made them."""

    @property
    def total(self) -> int:
        """All uses of the week."""
        return sum(day.total for day in self.days)

    @property
    def failed(self) -> int:
        """The uses that failed or were refused."""
        return sum(day.failed for day in self.days)


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """A module that did not answer, or an error that no caller causes."""

    name: str
    """The module, or the code of the error."""
    count: int
    last: str
    """When that was last, in UTC."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The errors and refusals of an organization."""

    codes: Sequence[tuple[str, int]]
    """Each code with its number, the most frequent first."""
    silent: Sequence[RepeatedFailure]
    """The modules whose service or server did not answer in the last hour."""
    alarms: Sequence[RepeatedFailure]
    """The errors of the last day that no caller causes."""


def week_of(organization: str, user: str, now: datetime) -> Week:
    """Return a person's week, from the newest rows."""
    today = now.astimezone(UTC).date()
    first = datetime.combine(today - timedelta(days=DAYS - 1), datetime.min.time(), UTC)
    page = newest_uses(organization, user, first, now)
    # A write has a row before it is sent, too; only its end counts.
    rows = [row for row in page.rows if row["outcome"] != "started"]
    succeeded, failed = (
        Counter(row["time"][:10] for row in rows if is_failure(row["outcome"]) is wanted) for wanted in (False, True)
    )
    dates = [(today - timedelta(days=ago)).isoformat() for ago in reversed(range(DAYS))]
    days = tuple(Day(date, succeeded[date], failed[date]) for date in dates)
    clients = frozenset(row["client_name"] for row in rows)
    return Week(days, _sum(rows, "tokens_before"), _sum(rows, "tokens_after"), not page.cursor, clients)


def newest_uses(organization: str, user: str, since: datetime, now: datetime) -> Page:
    """Return the uses of tools among a person's newest rows, up to a minute ahead of this clock.

    They are chosen here: with a filter DynamoDB reads 1 MB at once, and the page parses all of it.
    """
    until = now + timedelta(minutes=1)
    page = find(organization, since=since, until=until, filters=Filters(user=user), limit=MAX_CHARTED_ROWS)
    return Page([row for row in page.rows if row["event"] == "use"], page.cursor)


def failures_of(organization: str, now: datetime) -> Failures:
    """Return an organization's errors and refusals of the last day, from the newest rows."""
    filters = Filters(outcome=FAILED)
    page = find(organization, since=now - timedelta(days=1), until=now, filters=filters, limit=MAX_CHARTED_ROWS)
    recent = (now - timedelta(hours=SILENT_HOURS)).isoformat()
    silent = [
        row for row in page.rows if row["outcome"] in SILENT_CODES and row["event"] == "use" and row["time"] >= recent
    ]
    alarms = [row for row in page.rows if row["outcome"] in ALARM_CODES]
    codes = Counter(row["outcome"] for row in page.rows).most_common()
    return Failures(codes, _repeated(silent, "service"), _repeated(alarms, "outcome"))


def _repeated(rows: Sequence[Mapping[str, Any]], name: str) -> list[RepeatedFailure]:
    """Return the failures of each name, the most frequent first."""
    # Rows are the newest first: reversed, the last time of each name stays.
    last = {row[name]: row["time"] for row in reversed(rows)}
    return [RepeatedFailure(one, count, last[one]) for one, count in Counter(row[name] for row in rows).most_common()]


def _sum(rows: Iterable[Mapping[str, Any]], measure: str) -> int:
    return sum(int((row.get("measures") or {}).get(measure, 0)) for row in rows)
