"""Quotas: the requests that a user may send in a minute, and the steps that an organization may run in a day.

Items of the ledger, under `pk` ORGANIZATION#quota; each is a counter, `used`, that expires after its period:
    requests#USER#MINUTE    the requests that sandboxes have reserved for a user
    steps#DAY               the steps of batches, and the elements of their lists
Counting every request in the store would cost one more AWS request each. So a sandbox reserves a share of the user's
remaining requests and serves them without asking: as many as it has served in this minute, up to a tenth of the limit.
"""

import logging
import math
from dataclasses import dataclass

from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, StepLimitReached, StoreUnavailable, UserLimitReached
from mcpist.memory import Clock, on_forget, wall_clock
from mcpist.settings import settings

MINUTE_SECONDS, DAY_SECONDS = 60, 86_400
SHARES_PER_LIMIT = 10
COUNTER_RETENTION_SECONDS = 3_600  # after the counter's period, for clocks that are behind

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """The requests of one user that a sandbox may serve in a minute without asking."""

    remaining: int = -1  # a new share owes the request that it was made for
    served: int = 0  # the sandbox may reserve as many again
    is_exhausted: bool = False  # whether the counter has no more


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
        if self._minute != (minute := _period(now, MINUTE_SECONDS)):
            self._minute, self._shares = minute, {}
        share = self._shares.get((caller.organization, caller.user))
        if share is None:
            self._shares[caller.organization, caller.user] = _Share(served=1)
            return
        if share.remaining < 1 and not share.is_exhausted:
            requested = max(1, min(limit // SHARES_PER_LIMIT, share.served)) - share.remaining
            granted = _reserve_requests(caller, minute, requested, limit)
            share.remaining, share.is_exhausted = share.remaining + granted, granted < requested
        if share.remaining < 1:
            raise UserLimitReached(limit=limit, retry_after=_seconds_left(now, MINUTE_SECONDS))
        share.remaining, share.served = share.remaining - 1, share.served + 1

    def clear(self) -> None:
        """Drop all shares."""
        self._shares.clear()


request_quota = RequestQuota()
on_forget(request_quota.clear)


def reserve_steps(organization: str, steps: int, now: float) -> None:
    """Count the steps that a batch is about to run, all or none; StepLimitReached if too few are left today."""
    limit = settings().batch_steps
    if not limit:
        return
    if steps > limit:  # waiting for another day would not help
        raise InvalidRequest(field="steps", problem=f"there are {steps}; an organization may run {limit} a day")
    day = _period(now, DAY_SECONDS)
    try:
        _add(organization, _steps(day), steps, (day + 1) * DAY_SECONDS, max_used=limit - steps)
    except ConditionFailed:
        used = (ledger_table().get(_partition(organization), _steps(day)) or {}).get("used", 0)
        wait = _seconds_left(now, DAY_SECONDS)
        raise StepLimitReached(steps=steps, used=used, limit=limit, retry_after=wait) from None


def release_steps(organization: str, steps: int, now: float) -> None:
    """Return steps that were reserved at `now` and do not run."""
    if settings().batch_steps:
        day = _period(now, DAY_SECONDS)
        _add(organization, _steps(day), -steps, (day + 1) * DAY_SECONDS)


def _reserve_requests(caller: Caller, minute: int, requested: int, limit: int) -> int:
    """Return how many of these requests the user still has; all of them if the counter cannot be reached."""
    try:
        ends = (minute + 1) * MINUTE_SECONDS
        used = _add(caller.organization, f"requests#{caller.user}#{minute}", requested, ends)
    except StoreUnavailable:
        logger.warning("requests not counted", extra={"organization": caller.organization, "user": caller.user})
        return requested
    return min(requested, max(0, limit - (used - requested)))


def _add(organization: str, key: str, amount: int, ends: int, max_used: int | None = None) -> int:
    """Add to a counter and return its new value; ConditionFailed if it was greater than `max_used`."""
    item = ledger_table().update(
        _partition(organization),
        key,
        "ADD #used :amount SET #expires_at = :later",
        values={":amount": amount, ":later": ends + COUNTER_RETENTION_SECONDS}
        | ({} if max_used is None else {":max": max_used}),
        condition="" if max_used is None else "attribute_not_exists(#used) OR #used <= :max",
    )
    used: int = item["used"]
    return used


def _steps(day: int) -> str:
    return f"steps#{day}"


def _period(now: float, seconds: int) -> int:
    return int(now // seconds)


def _seconds_left(now: float, seconds: int) -> int:
    """Return the seconds until the current period ends, rounded up."""
    return math.ceil(seconds - now % seconds)


def _partition(organization: str) -> str:
    return f"{organization}#quota"
