"""Savings: what the programs of an organization did and spared, from the measures in the rows of the audit."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from mcpist.audit.search import Filters
from mcpist.audit.uses import read_rows

MAX_READ_ROWS = 20_000
"""The rows of one report; an answer must come within the function's time."""
MAX_SAVINGS_PAGES = 60
"""Of each module."""

type Row = Mapping[str, Any]


def read_uses(
    organization: str, modules: Iterable[str], since: datetime, until: datetime, user: str = ""
) -> tuple[list[dict[str, Any]], bool]:
    """Return rows about uses of these modules, of one user if one is given, and whether they are all of the time."""
    searches = [(since, until, Filters(user=user, service=module, event="use")) for module in modules]
    return read_rows(organization, searches, max_pages=MAX_SAVINGS_PAGES * len(searches), max_rows=MAX_READ_ROWS)


def summarize(rows: Iterable[Row]) -> dict[str, Any]:
    """Return runs, files and spared tokens in all, by day, by week and by command, and the errors by their codes."""
    ended = [row for row in rows if row["outcome"] != "started"]
    by_command: dict[str, list[Row]] = defaultdict(list)
    for row in ended:
        by_command[row["tool"]].append(row)
    failures = Counter(row["outcome"] for row in ended if row["outcome"] != "succeeded")
    return {
        **_totals(ended),
        "days": list(_periods(ended, lambda day: day.isoformat())),
        "weeks": list(_periods(ended, lambda day: f"{day:%G-W%V}")),
        "commands": [{"command": name, **_totals(some)} for name, some in sorted(by_command.items())],
        "errors": [
            {"code": code, "runs": runs, "rate": round(runs / len(ended), 4)} for code, runs in failures.most_common()
        ],
    }


def _totals(rows: list[Row]) -> dict[str, Any]:
    measures = [row["measures"] for row in rows if row["outcome"] == "succeeded" and row["measures"]]
    before, after = (sum(one.get(name, 0) for one in measures) for name in ("tokens_before", "tokens_after"))
    saved = sum(max(0, one.get("tokens_before", 0) - one.get("tokens_after", 0)) for one in measures)
    times = sorted(one.get("execution_time_ms", 0) for one in measures)
    return {
        "runs": len(rows),
        "failed": sum(row["outcome"] != "succeeded" for row in rows),
        "files": sum(one.get("output_file_count", 0) for one in measures),
        "input_bytes": sum(one.get("input_size_bytes", 0) for one in measures),
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": saved,
        "token_efficiency": round(saved / before, 3) if before else 0.0,
        "p50_ms": _quantile(times, 0.5),
        "p95_ms": _quantile(times, 0.95),
    }


def _quantile(values: list[int], share: float) -> int:
    """Return the smallest of sorted values that so large a share of them does not exceed; 0 of none."""
    return values[max(0, -int(-share * len(values) // 1) - 1)] if values else 0


def _periods(rows: list[Row], name_of: Callable[[date], str]) -> Iterator[dict[str, Any]]:
    """Yield the runs, the files and the spared tokens of each period in which there were any, the oldest first."""
    periods: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        periods[name_of(date.fromisoformat(row["time"][:10]))].append(row)
    for name, some in sorted(periods.items()):
        totals = _totals(some)
        yield {"period": name, **{key: totals[key] for key in ("runs", "failed", "files", "tokens_saved")}}
