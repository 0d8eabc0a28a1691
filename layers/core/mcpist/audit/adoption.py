"""Adoption: who uses which tools, by week, with errors and failing accounts, from an organization's audit."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mcpist.audit.record import is_failure
from mcpist.audit.search import Filters
from mcpist.audit.uses import UseCount, UseKey, Uses, read_counted, read_rows

MAX_ADOPTION_PAGES = 10
"""The pages of rows of one report; an answer must come within the function's time."""
MAX_NAMED = 20
"""The tools, services, clients and users that a report names, the most used first."""


def read_adoption(organization: str, since: datetime, until: datetime, user: str = "") -> tuple[Uses, bool]:
    """Return the uses between two times, of one user if one is given, and whether all rows were read.

    Of all users the counted weeks are taken that lie within; what they lack is read from the rows, the newest first.
    """
    uses, gaps = (Uses(), [(since, until)]) if user else read_counted(organization, since, until)
    searches = [(first, last, Filters(user=user)) for first, last in reversed(gaps)]
    rows, is_complete = read_rows(organization, searches, max_pages=MAX_ADOPTION_PAGES)
    for row in rows:
        uses.add(row)
    return uses, is_complete


def summarize(uses: Uses) -> dict[str, Any]:
    """Return the uses in all, by week, tool, service, client and user, and the accounts that failed last."""
    failing = [(*key, row) for key, row in uses.accounts.items() if row["event"] == "failure"]
    return {
        **_totals(uses.counts),
        "weeks": sorted(_groups(uses.counts, "week"), key=lambda one: str(one["week"])),
        **{f"{name}s": _most_used(uses.counts, name) for name in ("tool", "service", "client", "user")},
        "failing_accounts": [
            {"service": service, "account": account, "user": row["user"], "time": row["time"], "code": row["outcome"]}
            for service, account, row in sorted(failing, key=lambda one: str(one[2]["time"]), reverse=True)
        ],
    }


def _most_used(counts: Mapping[UseKey, UseCount], name: str) -> list[dict[str, Any]]:
    named = [one for one in _groups(counts, name) if one[name]]
    return sorted(named, key=lambda one: (-one["uses"], one[name]))[:MAX_NAMED]


def _groups(counts: Mapping[UseKey, UseCount], name: str) -> list[dict[str, Any]]:
    groups: dict[str, dict[UseKey, UseCount]] = defaultdict(dict)
    for key, count in counts.items():
        groups[getattr(key, name)][key] = count
    return [{name: value, **_totals(some)} for value, some in groups.items()]


def _totals(counts: Mapping[UseKey, UseCount]) -> dict[str, Any]:
    errors = Counter[str]()
    for key, count in counts.items():
        if is_failure(key.outcome):
            errors[key.outcome] += count.uses
    return {
        "uses": sum(one.uses for one in counts.values()),
        "failed": errors.total(),
        "people": len({key.user for key in counts if key.user}),
        "tools_used": len({key.tool for key in counts if key.tool}),
        "tokens_saved": sum(one.tokens_saved for one in counts.values()),
        "slowest_ms": max((one.slowest_ms for one in counts.values()), default=0),
        "errors": [{"code": code, "uses": uses} for code, uses in errors.most_common(MAX_NAMED)],
    }
