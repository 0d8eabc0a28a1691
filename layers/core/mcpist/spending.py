"""The spending of an organization in a day (UTC), and its limits: calls, steps of batches, program seconds, bytes.

An item of the ledger for each day, under `pk` ORGANIZATION#quota and `sk` day#DAY, has a counter for each limit. Steps
are reserved before they run, all or none, but for quick reads. The rest is counted in the memory of a sandbox, which
adds it to the item once it is a thousandth of what is left of a limit, or ten minutes old: so a call costs no request
of its own. N sandboxes exceed a limit by N thousandths of it at most; what a sandbox has not yet added when it ends is
lost.
"""

import logging
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcpist.aws.attributes import Item
from mcpist.aws.clients import AwsError, ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.errors import DayLimitReached, InvalidRequest, StepLimitReached, StoreUnavailable
from mcpist.memory import Clock, on_forget, wall_clock
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import DAY_LIMIT_WARNINGS

DAY_SECONDS = 86_400
SHARES_OF_REST = 1_000
MAX_UNSAVED_SECONDS = 600
WARNING_PERCENT = 80
RETENTION_SECONDS = 3_600  # after the day, for clocks that are behind
BYTES_PER_MEGABYTE = 1_000_000

type Measure = Literal["calls", "steps", "program_seconds", "bytes"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Spent:
    """A limit of the day, and how much of it an organization has spent."""

    measure: Measure
    used: int
    limit: int

    @property
    def percent(self) -> int:
        """The spent part of the limit in percent, rounded down."""
        return 100 * self.used // self.limit

    @property
    def state(self) -> Literal["ok", "near", "reached"]:
        """Whether the limit is near, or reached."""
        return "reached" if self.percent >= 100 else "near" if self.percent >= WARNING_PERCENT else "ok"


@dataclass(slots=True)
class _Organization:
    """One organization as a sandbox knows it."""

    saved: Mapping[str, int] = field(default_factory=dict)
    """The item, as the store answered last."""
    unsaved: Counter[Measure] = field(default_factory=Counter)
    since: float = math.inf
    """When the oldest of `unsaved` was counted."""


class Spending:
    """The counters of one sandbox."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self.clock = clock
        self._day = 0
        self._organizations: dict[str, _Organization] = {}
        on_forget(self.clear)

    def clear(self) -> None:
        """Forget all counters."""
        self._organizations.clear()

    def add(self, organization: str, measure: Measure, amount: float = 1) -> None:
        """Count what has been spent, without a request to the store."""
        known = self._of(organization)
        known.unsaved[measure] += math.ceil(amount)
        known.since = min(known.since, self.clock())

    def check(self, organization: str, *measures: Measure) -> None:
        """Raise DayLimitReached where one of these limits is reached, as far as this sandbox knows.

        What is due is added to the item before; while the table cannot be reached, nobody is refused for it.
        """
        known, limits = self._of(organization), day_limits()
        if self._is_due(known, limits):
            try:
                self._save(organization, known)
            except (StoreUnavailable, AwsError):
                logger.warning("spending not counted", extra={"organization": organization})
        for measure in measures:
            limit = limits.get(measure, math.inf)
            if (used := known.saved.get(measure, 0) + known.unsaved[measure]) >= limit:
                raise DayLimitReached(limit=limit, used=used, measure=measure, retry_after=seconds_left(self.clock()))

    def reserve_steps(self, organization: str, steps: int, now: float) -> None:
        """Count the steps that a batch is about to run, all or none.

        StepLimitReached if too few are left today, DayLimitReached if what they need beside is spent.
        """
        limit = day_limits().get("steps")
        self.check(organization, "bytes")
        if not limit or not steps:
            return
        if steps > limit:  # waiting for another day would not help
            raise InvalidRequest(field="steps", problem=f"there are {steps}; an organization may run {limit} a day")
        try:
            item = _add(organization, _day(now), {"steps": steps}, max_steps=limit - steps)
        except ConditionFailed:
            used = (ledger_table().get(_partition(organization), _key(_day(now))) or {}).get("steps", 0)
            raise StepLimitReached(steps=steps, used=used, limit=limit, retry_after=seconds_left(now)) from None
        _warn(organization, item, {"steps": steps})

    def _of(self, organization: str) -> _Organization:
        if self._day != (day := _day(self.clock())):
            self._day, self._organizations = day, {}
        return self._organizations.setdefault(organization, _Organization())

    def _is_due(self, known: _Organization, limits: Mapping[Measure, int]) -> bool:
        if self.clock() - known.since >= MAX_UNSAVED_SECONDS:
            return True
        return any(
            amount * SHARES_OF_REST >= max(1, limits[measure] - known.saved.get(measure, 0))
            for measure, amount in known.unsaved.items()
            if measure in limits
        )

    def _save(self, organization: str, known: _Organization) -> None:
        amounts = {measure: amount for measure, amount in known.unsaved.items() if amount}
        # Lost, rather than added twice, where the store's answer does not come.
        known.unsaved, known.since = Counter(), math.inf
        known.saved = _add(organization, self._day, amounts)
        _warn(organization, known.saved, amounts)


spending = Spending()


def day_limits() -> dict[Measure, int]:
    """Return the limits of an organization's day; none for what is not limited."""
    chosen = settings()
    limits: dict[Measure, int] = {
        "calls": chosen.day_calls,
        "steps": chosen.batch_steps,
        "program_seconds": chosen.day_program_seconds,
        "bytes": chosen.day_megabytes * BYTES_PER_MEGABYTE,
    }
    return {measure: limit for measure, limit in limits.items() if limit}


def spent_today(organization: str, now: float) -> list[Spent]:
    """Return how much an organization has spent of each limit, as far as its sandboxes have added it."""
    item = ledger_table().get(_partition(organization), _key(_day(now))) or {}
    return [Spent(measure, item.get(measure, 0), limit) for measure, limit in day_limits().items()]


def release_steps(organization: str, steps: int, now: float) -> None:
    """Return steps that were reserved at `now` and do not run."""
    if "steps" in day_limits():
        _add(organization, _day(now), {"steps": -steps})


def _warn(organization: str, item: Mapping[str, int], added: Mapping[Measure, int]) -> None:
    """Log and count that a limit is near, or reached: once, since only one addition crosses it."""
    limits = day_limits()
    for measure in limits.keys() & added.keys():
        now = Spent(measure, item[measure], limits[measure])
        before = Spent(measure, now.used - added[measure], now.limit)
        if now.state != before.state:
            about = {"organization": organization, "measure": measure, "used": now.used, "limit": now.limit}
            logger.warning("limit of the day %s", now.state, extra=about)
            invocation.count(DAY_LIMIT_WARNINGS, by=measure)


def _add(organization: str, day: int, amounts: Mapping[Measure, int], max_steps: int | None = None) -> Item:
    """Add to the counters of a day and return its item; ConditionFailed if there were more than `max_steps`."""
    return ledger_table().update(
        _partition(organization),
        _key(day),
        "ADD " + ", ".join(f"#{name} :{name}" for name in amounts) + " SET #expires_at = :later",
        values={f":{name}": amount for name, amount in amounts.items()}
        | {":later": (day + 1) * DAY_SECONDS + RETENTION_SECONDS}
        | ({} if max_steps is None else {":max": max_steps}),
        condition="" if max_steps is None else "attribute_not_exists(#steps) OR #steps <= :max",
    )


def seconds_left(now: float) -> int:
    """Return the seconds until the day ends, rounded up."""
    return math.ceil(DAY_SECONDS - now % DAY_SECONDS)


def _day(now: float) -> int:
    return int(now // DAY_SECONDS)


def _key(day: int) -> str:
    return f"day#{day}"


def _partition(organization: str) -> str:
    return f"{organization}#quota"
