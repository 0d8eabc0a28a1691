"""Uses of tools by week, added up from an organization's audit.

The janitor counts, so that a report reads only the rows since its last run. Items of the table of seals, which no door
writes: `pk` ORGANIZATION#uses, `sk` the Monday of a week.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from mcpist.audit.record import SECONDS_PER_DAY, timestamp
from mcpist.audit.rows import row_of
from mcpist.audit.seals import SEAL_DELAY, rows_between, seals_table
from mcpist.audit.search import MAX_ROWS, Filters, find
from mcpist.aws.attributes import decode, encode
from mcpist.settings import settings

REPORTED_WEEKS = 4
WEEK = timedelta(weeks=1)
MAX_COUNTED_ROWS = 100_000
"""The rows of a week that one run of the janitor adds; the next run goes on."""
MAX_COUNTS = 20_000
"""The counts of a week, so that they fit into an item: further ones keep their module and outcome alone."""
ACCOUNT_EVENTS = frozenset({"connect", "refresh", "failure", "revoke", "kill"})

type Row = Mapping[str, Any]


class UseKey(NamedTuple):
    """The values that uses of one count have in common."""

    week: str
    service: str
    outcome: str
    tool: str = ""
    client: str = ""
    user: str = ""


class UseCount(NamedTuple):
    """The number of some uses, the tokens that they spared, the milliseconds of the longest, and the latest time."""

    uses: int
    tokens_saved: int
    slowest_ms: int
    last: str


@dataclass(slots=True)
class Uses:
    """Uses, added up, and the last event of each account."""

    counts: dict[UseKey, UseCount] = field(default_factory=dict)
    accounts: dict[tuple[str, str], Row] = field(default_factory=dict)
    """By service and account: time, user, event and outcome."""

    def add(self, row: Row) -> None:
        """Count a row of the audit."""
        if row["event"] == "use" and row["outcome"] != "started":
            measures = row["measures"] or {}
            saved = max(0, int(measures.get("tokens_before", 0)) - int(measures.get("tokens_after", 0)))
            key = UseKey(week_of(row["time"]), *(str(row[name]) for name in ("service", "outcome", "tool")))
            key = key._replace(client=str(row["client_name"]), user=str(row["user"]))
            self._count(key, UseCount(1, saved, int(measures.get("execution_time_ms", 0)), row["time"]))
        elif row["event"] in ACCOUNT_EVENTS and row["account"]:
            self._keep(
                row["service"], row["account"], {name: row[name] for name in ("time", "user", "event", "outcome")}
            )

    def merge(self, counts: Iterable[list[Any]], accounts: Iterable[list[Any]]) -> None:
        """Add what `packed` returned."""
        for values in counts:
            self._count(UseKey(*values[:6]), UseCount(*values[6:]))
        for service, account, row in accounts:
            self._keep(service, account, row)

    def packed(self) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the counts and the accounts as JSON values."""
        return [[*key, *one] for key, one in self.counts.items()], [[*key, row] for key, row in self.accounts.items()]

    def _count(self, key: UseKey, more: UseCount) -> None:
        if key not in self.counts and len(self.counts) >= MAX_COUNTS:
            key = UseKey(key.week, key.service, key.outcome)
        uses, saved, slowest, last = self.counts.get(key, UseCount(0, 0, 0, ""))
        slowest, last = max(slowest, more.slowest_ms), max(last, more.last)
        self.counts[key] = UseCount(uses + more.uses, saved + more.tokens_saved, slowest, last)

    def _keep(self, service: str, account: str, row: Row) -> None:
        known = self.accounts.get((service, account))
        if known is None or known["time"] < row["time"]:
            self.accounts[service, account] = row


@dataclass(frozen=True, slots=True)
class CountedWeek:
    """The uses of an organization in one week, as far as the janitor has counted them."""

    sk: str
    """Its Monday."""
    until: str
    """The time before which its rows are counted; at most that of the next Monday."""
    counts: list[Any] = field(default_factory=list)
    accounts: list[Any] = field(default_factory=list)


def week_of(time: str) -> str:
    """Return the week of a row's time, such as 2026-W47."""
    return f"{date.fromisoformat(time[:10]):%G-W%V}"


def first_moment(now: datetime) -> datetime:
    """Return when a report begins that names no time: with a week, since the counts are those of whole weeks."""
    return datetime.combine(_monday(now - REPORTED_WEEKS * WEEK), datetime.min.time(), UTC)


def read_rows(
    organization: str,
    searches: Iterable[tuple[datetime, datetime, Filters]],
    *,
    max_pages: int,
    max_rows: float = math.inf,
) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of some searches, each between two times, and whether they are all that there are."""
    rows, pages = list[dict[str, Any]](), 0
    for since, until, filters in searches:
        cursor: str | None = ""
        while cursor is not None:
            if pages >= max_pages or len(rows) >= max_rows:
                return rows, False
            page = find(organization, since=since, until=until, filters=filters, limit=MAX_ROWS, cursor=cursor)
            rows += page.rows
            pages, cursor = pages + 1, page.cursor or None
    return rows, True


# -- counting ------------------------------------------------------------------------------------------


def count_uses(organization: str, now: datetime) -> None:
    """Add the rows that are old enough to be sealed to the counts of their week: this one, and the one before."""
    known = {week.sk: week for week in _weeks(organization, _monday(now - WEEK).isoformat())}
    for monday in (_monday(now - WEEK), _monday(now)):
        begin, end = monday.isoformat(), (monday + WEEK).isoformat()
        last = min(end, timestamp(now - SEAL_DELAY))
        week = known.get(begin, CountedWeek(begin, begin))
        if week.until < last:
            _count_rows(organization, week, last)


def _count_rows(organization: str, week: CountedWeek, until: str) -> None:
    """Add rows to the counts of a week; a run that reads more than its rows leaves them to the next."""
    rows = list(islice(rows_between(organization, week.until, until), MAX_COUNTED_ROWS + 1))
    if len(rows) > MAX_COUNTED_ROWS:
        until = rows[-1]["sk"].partition("#")[0]
    uses = Uses()
    uses.merge(week.counts, week.accounts)
    for row in rows:
        if row["sk"] < until:
            uses.add(row_of(row))
    expires = int(datetime.now(UTC).timestamp()) + settings().audit_days * SECONDS_PER_DAY
    item = {"pk": f"{organization}#uses", **encode(CountedWeek(week.sk, until, *uses.packed())), "expires_at": expires}
    # Of two runs at once the last one counts: counts and their time are written together.
    seals_table().put(item)


def read_counted(organization: str, since: datetime, until: datetime) -> tuple[Uses, list[tuple[datetime, datetime]]]:
    """Return the counted weeks that lie between two times, and the times that they leave out, the oldest first."""
    uses, gaps, begin = Uses(), list[tuple[datetime, datetime]](), since
    for week in _weeks(organization, timestamp(since)[:10]):
        if begin <= _moment(week.sk) and _moment(week.until) <= until:
            uses.merge(week.counts, week.accounts)
            gaps.append((begin, _moment(week.sk)))
            begin = _moment(week.until)
    return uses, [(first, last) for first, last in (*gaps, (begin, until)) if first < last]


def _weeks(organization: str, since: str) -> Iterator[CountedWeek]:
    """Iterate over the counted weeks from a Monday on, the oldest first."""
    while since:
        items, since = seals_table().query_page("pk", f"{organization}#uses", (since, "~"))
        yield from (decode(CountedWeek, item) for item in items)


def _monday(moment: datetime) -> date:
    day = moment.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
