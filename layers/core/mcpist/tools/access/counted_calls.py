"""The calls of the last days that a change of an organization would have concerned, counted in the audit."""

import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from mcpist.audit.record import SHARDS
from mcpist.audit.search import Filters, find
from mcpist.audit.uses import first_moment, read_counted
from mcpist.memory import Clock

SUCCEEDED = "succeeded"
MAX_COUNT_SECONDS = 0.2
"""After these a preview counts no further row: what it has counted is then the least that would have been refused."""


type UsersTools = Mapping[str, Collection[str]]
"""For each user the full names of tools: those that the user loses, or for which a person is asked from now on."""


def count_calls(organization: str, tools: UsersTools | None, clock: Clock = time.monotonic) -> dict[str, Any]:
    """Count the calls of these users and tools that succeeded in the last days; None for all calls.

    Return `{days, complete, calls: [{user, tool, calls, last}]}`, the most frequent first.
    """
    counts: dict[tuple[str, str], dict[str, Any]] = {}

    def add(user: str, tool: str, calls: int, last: str) -> None:
        if tools is None or tool in tools.get(user, ()):
            known = counts.setdefault((user, tool), {"user": user, "tool": tool, "calls": 0, "last": last})
            known |= {"calls": known["calls"] + calls, "last": max(known["last"], last)}

    now, deadline = datetime.now(UTC), clock() + MAX_COUNT_SECONDS
    since = first_moment(now)
    uses, gaps = read_counted(organization, since, now)
    for key, count in uses.counts.items():
        if key.outcome == SUCCEEDED:
            add(key.user, key.tool, count.uses, count.last)
    # What the janitor has left out is so little that it is not searched by user or module.
    wanted = list(_partitions(None if uses.counts else tools))
    searches = deque((gap, filters, "") for gap in reversed(gaps) for filters in wanted)
    while searches and clock() < deadline:
        gap, filters, cursor = searches.popleft()
        page = find(organization, since=gap[0], until=gap[1], filters=filters, cursor=cursor, max_requests=SHARDS)
        if page.cursor:
            searches.append((gap, filters, page.cursor))  # behind the others, so that each has its share of the time
        for row in page.rows:
            if (row["event"], row["outcome"]) == ("use", SUCCEEDED):
                add(row["user"], row["tool"], 1, row["time"])
    calls = sorted(counts.values(), key=lambda row: (-row["calls"], row["user"], row["tool"]))
    is_complete = not searches and all(key.tool for key in uses.counts)
    return {"days": (now - since).days, "complete": is_complete, "calls": calls}


def _partitions(tools: UsersTools | None) -> Iterator[Filters]:
    """Yield the filters of the searches: by user or by module, whichever are fewer; one search for all calls.

    The names of upstream modules and tools may have dots, so each part of a full name before one may be its module.
    """
    if tools is None:
        yield Filters()
        return
    names = {name for named in tools.values() for name in named}
    modules = {name[:place] for name in names for place, character in enumerate(name) if character == "."}
    if len(tools) <= len(modules):
        yield from (Filters(user=user, event="use", outcome="succeeded") for user in sorted(tools))
    else:
        yield from (Filters(service=module, event="use", outcome="succeeded") for module in sorted(modules))
