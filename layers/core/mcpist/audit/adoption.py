"""Adoption: who uses which tools, by week, with errors and failing accounts, from an organization's audit."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from mcpist.audit.record import is_failure
from mcpist.audit.savings import UsedRows
from mcpist.audit.search import MAX_ROWS, Filters, find

MAX_ADOPTION_PAGES = 10
"""The pages of rows of one report; an answer must come within the function's time."""
MAX_NAMED = 20
"""The tools, services, clients and users that a report names, the most used first."""
ACCOUNT_EVENTS = frozenset({"connect", "refresh", "failure", "revoke", "kill"})

type Row = Mapping[str, Any]


def read_rows(organization: str, since: datetime, until: datetime, user: str = "") -> UsedRows:
    """Return the newest rows between two times, of one user if one is given."""
    rows: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(MAX_ADOPTION_PAGES):
        page = find(organization, since=since, until=until, filters=Filters(user=user), limit=MAX_ROWS, cursor=cursor)
        rows += page.rows
        cursor = page.cursor
        if not cursor:
            return UsedRows(rows, is_complete=True)
    return UsedRows(rows, is_complete=False)


def summarize(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the uses in all, by week, tool, service, client and user, and the accounts whose last event is a failure.

    The rows are the newest first, as a search returns them.
    """
    uses = [row for row in rows if row["event"] == "use" and row["outcome"] != "started"]
    return {
        **_totals(uses),
        "weeks": sorted(_groups(uses, _week, "week"), key=lambda one: str(one["week"])),
        "tools": _most_used(uses, lambda row: str(row["tool"]), "tool"),
        "services": _most_used(uses, lambda row: str(row["service"]), "service"),
        "clients": _most_used(uses, lambda row: str(row["client_name"]), "client"),
        "users": _most_used(uses, lambda row: str(row["user"]), "user"),
        "failing_accounts": _failing(rows),
    }


def _week(row: Row) -> str:
    return f"{date.fromisoformat(row['time'][:10]):%G-W%V}"


def _most_used(uses: Iterable[Row], name_of: Callable[[Row], str], key: str) -> list[dict[str, Any]]:
    named = [one for one in _groups(uses, name_of, key) if one[key]]
    return sorted(named, key=lambda one: (-one["uses"], one[key]))[:MAX_NAMED]


def _groups(uses: Iterable[Row], name_of: Callable[[Row], str], key: str) -> list[dict[str, Any]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in uses:
        groups[name_of(row)].append(row)
    return [{key: name, **_totals(some)} for name, some in groups.items()]


def _totals(uses: Sequence[Row]) -> dict[str, Any]:
    errors = Counter(row["outcome"] for row in uses if is_failure(row["outcome"]))
    measures = [row["measures"] for row in uses if row["measures"]]
    saved = sum(max(0, int(one.get("tokens_before", 0)) - int(one.get("tokens_after", 0))) for one in measures)
    return {
        "uses": len(uses),
        "failed": errors.total(),
        "people": len({row["user"] for row in uses}),
        "tools_used": len({row["tool"] for row in uses}),
        "tokens_saved": saved,
        "slowest_ms": max((int(one.get("execution_time_ms", 0)) for one in measures), default=0),
        "errors": [{"code": code, "uses": count} for code, count in errors.most_common(MAX_NAMED)],
    }


def _failing(rows: Iterable[Row]) -> list[dict[str, str]]:
    last: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["event"] in ACCOUNT_EVENTS and row["account"]:
            last.setdefault((row["service"], row["account"]), row)
    failing = [row for row in last.values() if row["event"] == "failure"]
    return [
        {name: row[name] for name in ("service", "account", "user", "time")} | {"code": row["outcome"]}
        for row in failing
    ]
