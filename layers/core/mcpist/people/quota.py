"""The quota of a user: the requests that it may send in a minute.

An item of the ledger, under `pk` ORGANIZATION#quota and `sk` requests#USER#MINUTE, is a counter of the requests that
sandboxes have reserved, `used`.
Counting every request in the store would cost one more AWS request each. So a sandbox reserves a share of the user's
remaining requests and serves them without asking: as many as it has served in this minute, up to a tenth of the limit.
"""

import logging
import math
from dataclasses import dataclass

from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import StoreUnavailable, UserLimitReached
from mcpist.memory import Clock, on_forget, wall_clock
from mcpist.settings import settings

MINUTE_SECONDS = 60
SHARES_PER_LIMIT = 10
COUNTER_RETENTION_SECONDS = 3_600  # after the minute, for clocks that are behind

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """The requests of one user that a sandbox may serve in a minute without asking."""

    remaining: int = -1  # a new share owes the request that it was made for
    served: int = 0  # the sandbox may reserve as many again
    is_exhausted: bool = False  # whether the counter has no more
    unreserved: int | None = None  # the requests that the counter had left when it was last asked


@dataclass(frozen=True, slots=True)
class RequestsLeft:
    """The requests that a user may still send in this minute, as far as one sandbox knows."""

    limit: int
    remaining: int
    seconds: int
    """Until the minute ends."""


class RequestQuota:
    """The shares of one sandbox."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self.clock = clock
        self._minute = 0
        self._shares: dict[tuple[str, str], _Share] = {}

    def count(self, caller: Caller) -> None:
        """Count a request; UserLimitReached if the user may send no more.

        A user's first request of a minute in a sandbox is served before it is counted, together with the first share
        that is reserved: so N sandboxes serve at most N requests above the limit. The rest of a share is lost when the
        minute or the sandbox ends.
        """
        limit = settings().user_requests
        if not limit:
            return
        now = self.clock()
        if self._minute != (minute := int(now // MINUTE_SECONDS)):
            self._minute, self._shares = minute, {}
        share = self._shares.get((caller.organization, caller.user))
        if share is None:
            self._shares[caller.organization, caller.user] = _Share(served=1)
            return
        if share.remaining < 1 and not share.is_exhausted:
            requested = max(1, min(limit // SHARES_PER_LIMIT, share.served)) - share.remaining
            granted, share.unreserved = _reserve_requests(caller, minute, requested, limit)
            share.remaining, share.is_exhausted = share.remaining + granted, granted < requested
        if share.remaining < 1:
            raise UserLimitReached(limit=limit, retry_after=math.ceil(MINUTE_SECONDS - now % MINUTE_SECONDS))
        share.remaining, share.served = share.remaining - 1, share.served + 1

    def left(self, caller: Caller) -> RequestsLeft | None:
        """Return how many requests are left for a user whose request was counted; None where they have no limit."""
        limit, now = settings().user_requests, self.clock()
        if not limit:
            return None
        share = self._shares.get((caller.organization, caller.user)) or _Share()
        remaining = limit - 1 if share.unreserved is None else share.unreserved + max(0, share.remaining)
        return RequestsLeft(limit, remaining, math.ceil(MINUTE_SECONDS - now % MINUTE_SECONDS))

    def clear(self) -> None:
        """Drop all shares."""
        self._shares.clear()


request_quota = RequestQuota()
on_forget(request_quota.clear)


def _reserve_requests(caller: Caller, minute: int, requested: int, limit: int) -> tuple[int, int | None]:
    """Return how many of these requests the user still has, and how many are left after them.

    If the counter cannot be reached all are granted, and nobody knows how many are left.
    """
    try:
        item = ledger_table().update(
            f"{caller.organization}#quota",
            f"requests#{caller.user}#{minute}",
            "ADD #used :amount SET #expires_at = :later",
            values={":amount": requested, ":later": (minute + 1) * MINUTE_SECONDS + COUNTER_RETENTION_SECONDS},
        )
    except StoreUnavailable:
        logger.warning("requests not counted", extra={"organization": caller.organization, "user": caller.user})
        return requested, None
    used: int = item["used"]
    return min(requested, max(0, limit - (used - requested))), max(0, limit - used)
