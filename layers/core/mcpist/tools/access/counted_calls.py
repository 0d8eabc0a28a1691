"""The calls of the last days that a change of an organization would have concerned, counted in the audit."""

import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mcpist.audit.record import SHARDS
from mcpist.audit.search import Filters, find
from mcpist.memory import Clock

COUNTED_DAYS = 30
MAX_COUNT_SECONDS = 0.2
"""After these a preview counts no further row: what it has counted is then the least that would have been refused."""


type UsersTools = Mapping[str, Collection[str]]
"""For each user the full names of tools: those that the user loses, or for which a person is asked from now on."""


def count_calls(organization: str, tools: UsersTools | None, clock: Clock = time.monotonic) -> dict[str, Any]:
    """Count the calls of these users and tools that succeeded in the last days; None for all calls.

    Return `{days, complete, calls: [{user, tool, calls, last}]}`, the most frequent first.
    """
    counts: dict[tuple[str, str], dict[str, Any]] = {}
    now, deadline = datetime.now(UTC), clock() + MAX_COUNT_SECONDS
    since, searches = now - timedelta(days=COUNTED_DAYS), deque((filters, "") for filters in _partitions(tools))
    while searches and clock() < deadline:
        filters, cursor = searches.popleft()
        page = find(organization, since=since, until=now, filters=filters, cursor=cursor, max_requests=SHARDS)
        if page.cursor:
            searches.append((filters, page.cursor))  # behind the others, so that each has its share of the time
        for row in page.rows:
            user, tool = row["user"], row["tool"]
            if tools is None or tool in tools.get(user, ()):
                # Rows come newest first, so the first one of a tool is its last call.
                new = {"user": user, "tool": tool, "calls": 0, "last": row["time"]}
                counts.setdefault((user, tool), new)["calls"] += 1
    calls = sorted(counts.values(), key=lambda row: (-row["calls"], row["user"], row["tool"]))
    return {"days": COUNTED_DAYS, "complete": not searches, "calls": calls}


def _partitions(tools: UsersTools | None) -> Iterator[Filters]:
    """Yield the filters of the searches: by user or by module, whichever are fewer; one search for all calls.

    The names of upstream modules and tools may have dots, so each part of a full name before one may be its module.
    """
    if tools is None:
        yield Filters(event="use", outcome="succeeded")
        return
    names = {name for named in tools.values() for name in named}
    modules = {name[:place] for name in names for place, character in enumerate(name) if character == "."}
    if len(tools) <= len(modules):
        yield from (Filters(user=user, event="use", outcome="succeeded") for user in sorted(tools))
    else:
        yield from (Filters(service=module, event="use", outcome="succeeded") for module in sorted(modules))
