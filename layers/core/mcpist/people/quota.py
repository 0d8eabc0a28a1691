"""Quotas: how many requests a user may send in a minute, and how many steps an organization may run in a day.

Items of the ledger, under `pk` ORGANIZATION#quota; each is a counter, `used`, that is forgotten when its time is over:
    requests#USER#MINUTE    the requests that sandboxes have taken for a user
    steps#DAY               the steps of batches, and the elements of their lists
A counter for each request would cost each a request to the store. So a sandbox takes a share of what the user has left,
and spends it without asking: as much again as it has served in this minute, up to a tenth of the limit.
"""

import logging
import math
from dataclasses import dataclass

from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import Table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, StepLimitReached, StoreUnavailable, UserLimitReached
from mcpist.memory import on_forget
from mcpist.settings import settings

MINUTE_SECONDS, DAY_SECONDS = 60, 86_400
SHARES_PER_LIMIT = 10
COUNTER_RETENTION_SECONDS = 3_600  # beyond the counter's time, for clocks that are behind

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """What a sandbox may still serve a user in a minute; a new one owes the request that it was made for.

    What has been `served` says how much it may take; `is_exhausted` is a share after which the counter has no more.
    """

    remaining: int = -1
    served: int = 0
    is_exhausted: bool = False


class RequestQuota:
    """One sandbox's part in counting users' requests."""

    def __init__(self) -> None:
        self._minute = 0
        self._shares: dict[tuple[str, str], _Share] = {}

    def count(self, caller: Caller, now: float) -> None:
        """Count a request at `now`, in seconds since the epoch; UserLimitReached where the user may send no more.

        A user's first request of a minute in a sandbox is served before it is counted, with the first share that is
        taken: so N sandboxes serve at most N requests above the limit. What is left of their shares when the minute
        ends, or they do, is lost.
        """
        limit = settings().user_requests
        if not limit:
            return
        if self._minute != (minute := _period(now, MINUTE_SECONDS)):
            self._minute, self._shares = minute, {}
        share = self._shares.get((caller.organization, caller.user))
        if share is None:
            self._shares[caller.organization, caller.user] = _Share(served=1)
            return
        if share.remaining < 1 and not share.is_exhausted:
            wanted = max(1, min(limit // SHARES_PER_LIMIT, share.served)) - share.remaining
            granted = _reserve_requests(caller, minute, wanted, limit)
            share.remaining, share.is_exhausted = share.remaining + granted, granted < wanted
        if share.remaining < 1:
            raise UserLimitReached(limit=limit, retry_after=_seconds_left(now, MINUTE_SECONDS))
        share.remaining, share.served = share.remaining - 1, share.served + 1

    def clear(self) -> None:
        """Forget all shares."""
        self._shares.clear()


request_quota = RequestQuota()
on_forget(request_quota.clear)


def reserve_steps(organization: str, steps: int, now: float) -> None:
    """Count what a batch is about to run, all of it or nothing; StepLimitReached where it is more than is left."""
    limit = settings().batch_steps
    if not limit:
        return
    if steps > limit:  # no day is long enough: waiting would not help
        raise InvalidRequest(field="steps", problem=f"{steps} of them; an organization may run {limit} a day")
    day = _period(now, DAY_SECONDS)
    try:
        _add(organization, _steps(day), steps, (day + 1) * DAY_SECONDS, max_used=limit - steps)
    except ConditionFailed:
        used = (_table().get(_partition(organization), _steps(day)) or {}).get("used", 0)
        wait = _seconds_left(now, DAY_SECONDS)
        raise StepLimitReached(steps=steps, used=used, limit=limit, retry_after=wait) from None


def release_steps(organization: str, steps: int, now: float) -> None:
    """Count less: what was taken at `now` does not run after all."""
    if settings().batch_steps:
        day = _period(now, DAY_SECONDS)
        _add(organization, _steps(day), -steps, (day + 1) * DAY_SECONDS)


def _reserve_requests(caller: Caller, minute: int, wanted: int, limit: int) -> int:
    """How many of the wanted requests the user still has; all of them while the counter cannot be reached."""
    try:
        ends = (minute + 1) * MINUTE_SECONDS
        used = _add(caller.organization, f"requests#{caller.user}#{minute}", wanted, ends)
    except StoreUnavailable:
        logger.warning("requests not counted", extra={"organization": caller.organization, "user": caller.user})
        return wanted
    return min(wanted, max(0, limit - (used - wanted)))


def _add(organization: str, key: str, amount: int, ends: int, max_used: int | None = None) -> int:
    """What a counter holds with the amount added; ConditionFailed where it held more than `max_used`."""
    item = _table().update(
        _partition(organization),
        key,
        "ADD #used :amount SET #expires_at = :later",
        values={":amount": amount, ":later": ends + COUNTER_RETENTION_SECONDS}
        | ({} if max_used is None else {":most": max_used}),
        condition="" if max_used is None else "attribute_not_exists(#used) OR #used <= :most",
    )
    used: int = item["used"]
    return used


def _steps(day: int) -> str:
    return f"steps#{day}"


def _period(now: float, seconds: int) -> int:
    return int(now // seconds)


def _seconds_left(now: float, seconds: int) -> int:
    """The whole seconds until the present period has ended."""
    return math.ceil(seconds - now % seconds)


def _partition(organization: str) -> str:
    return f"{organization}#quota"


def _table() -> Table:
    return Table(settings().ledger_table, "ledger")
