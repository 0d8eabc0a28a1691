"""Calls of the last days that a change of permissions would have refused, counted from the audit."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mcpist.audit.search import MAX_ROWS, Filters, find

COUNTED_DAYS = 30
MAX_PREVIEW_PAGES = 20
"""The pages of audit rows that one preview reads; what is older is not counted then."""

type LostTools = Mapping[str, Collection[str]]
"""The full names of the tools that each user loses."""


@dataclass(frozen=True, slots=True)
class RefusedCalls:
    """The successful calls of some days of tools that their users lose."""

    rows: list[dict[str, Any]]
    """`{user, tool, calls, last}`, the most frequent first."""
    is_complete: bool
    """Whether all rows of these days were read."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for the report of a change."""
        return {"days": COUNTED_DAYS, "complete": self.is_complete, "calls": self.rows}


def count_refused_calls(organization: str, lost: LostTools) -> RefusedCalls:
    """Count the calls that succeeded in the last days and that the users could no longer make."""
    counts: dict[tuple[str, str], dict[str, Any]] = {}
    pages = 0
    now = datetime.now(UTC)
    for filters in _partitions(lost):
        cursor, is_last = "", False
        while not is_last:
            if pages == MAX_PREVIEW_PAGES:
                return RefusedCalls(_sorted(counts), is_complete=False)
            since = now - timedelta(days=COUNTED_DAYS)
            page = find(organization, since=since, until=now, filters=filters, limit=MAX_ROWS, cursor=cursor)
            _count(page.rows, lost, counts)
            cursor, is_last, pages = page.cursor, not page.cursor, pages + 1
    return RefusedCalls(_sorted(counts), is_complete=True)


def lost_tools(effects: Collection[Mapping[str, Any]]) -> LostTools:
    """Return the tools that users lose by a change's effects."""
    return {user: frozenset(row["vanish"]) for row in effects if row["vanish"] for user in row["users"]}


def _partitions(lost: LostTools) -> Iterator[Filters]:
    """Yield the filters of the searches: by user or by module, whichever are fewer.

    The names of upstream modules and tools may have dots, so each part of a full name before one may be its module.
    """
    names = {tool for tools in lost.values() for tool in tools}
    modules = {name[:place] for name in names for place, character in enumerate(name) if character == "."}
    if len(lost) <= len(modules):
        yield from (Filters(user=user, event="use", outcome="succeeded") for user in sorted(lost))
    else:
        yield from (Filters(service=module, event="use", outcome="succeeded") for module in sorted(modules))


def _count(rows: Collection[Mapping[str, Any]], lost: LostTools, counts: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Count the rows of lost tools; they come newest first."""
    for row in rows:
        user, tool = row["user"], row["tool"]
        if tool in lost.get(user, ()):
            new = {"user": user, "tool": tool, "calls": 0, "last": row["time"]}
            counts.setdefault((user, tool), new)["calls"] += 1


def _sorted(counts: Mapping[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(counts.values(), key=lambda row: (-row["calls"], row["user"], row["tool"]))
