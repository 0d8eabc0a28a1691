"""The history of a person's uses in the last minutes, from the audit."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mcpist.audit.search import MAX_ROWS, Filters, find
from mcpist.caller import Caller
from mcpist.errors import PolicyFailed


@dataclass(frozen=True, slots=True)
class History:
    """The uses of a person, in any client."""

    succeeded: frozenset[str] = frozenset()
    """The full names of the tools."""
    writes: int = 0
    destroys: int = 0
    uses: Mapping[str, int] = field(default_factory=Counter[str])
    """The uses of each module."""


NO_HISTORY = History()


def recent(caller: Caller, minutes: int, destroys: Callable[[str], bool]) -> History:
    """Return the uses of the last minutes; PolicyFailed if they are more than can be counted.

    A write counts once it has begun, a read once it has ended. `destroys` says of a full name if its tool destroys.
    """
    now = datetime.now(UTC)
    filters = Filters(user=caller.user, event="use")
    since, until = now - timedelta(minutes=minutes), now + timedelta(minutes=1)
    page = find(caller.organization, since=since, until=until, filters=filters, limit=MAX_ROWS)
    if page.cursor:
        problem = f"{caller.user} has done more in {minutes} minutes than can be counted"
        raise PolicyFailed(name="", problem=problem)
    begun = [row["tool"] for row in page.rows if row["outcome"] == "started"]
    succeeded = frozenset(row["tool"] for row in page.rows if row["outcome"] == "succeeded")
    writing = frozenset(begun)
    used = Counter(row["service"] for row in page.rows if (row["outcome"] == "started") is (row["tool"] in writing))
    return History(succeeded, len(begun), sum(map(destroys, begun)), used)
