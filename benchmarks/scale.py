"""A simulation of the busiest hour of many organizations: what each limit of AWS sees, and which is reached first.

Each call of the hour gets a second and an organization; what it asks of AWS is counted where it lands: at a partition
of one organization, at a table, at the account. The rates of a call are those that `make bench ARGS="costs"` counts.
"""

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.report import keep, table
from infra.source import ROOT
from mcpist.audit.record import SHARDS
from mcpist.people.in_flight import KEPT_LEASE_SECONDS

PAGE = ROOT / "docs/scale.md"
DAY_SECONDS, HOUR_SECONDS = 86_400, 3_600


@dataclass(frozen=True, slots=True)
class Load:
    """The simulated load; every number is an assumption that an owner may replace."""

    calls_a_day: int = 10_000_000
    organizations: int = 10_000
    largest_share: float = 0.1
    """The part of all calls that the largest organization makes; the n-th makes an n-th of that."""
    peak_ratio: float = 3.0
    """How much busier the busiest hour is than the mean one."""
    batch_part: float = 0.05
    """The part of the requests that are batches; the others are single calls."""
    steps: int = 10
    """The steps of a batch, in two waves a second apart."""
    write_part: float = 0.2
    """The part of tools that write, which have an audit row more."""
    cold_part: float = 0.1
    """The part of calls whose account is not in a sandbox's memory."""
    new_shape_part: float = 0.005
    """The part of batches whose shape no machine has."""
    call_seconds: float = 0.5
    """How long a function is busy with a call, or a step, most of it waiting for the service."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of AWS."""

    name: str
    per_second: float
    one_organization: bool
    """Whether each organization has its own, by its keys."""
    order: int = 1
    """The power of the calls with which its load grows."""


# Defaults of an account that is not new. Sources are on the page.
LIMITS = {
    "audit": Limit("audit: a shard of an organization (1,000 write units a second)", 1_000, one_organization=True),
    "leases": Limit(
        "ledger: an organization's requests in flight (one item, 1,000)", 1_000, one_organization=True, order=2
    ),
    "listing": Limit("ledger: the list of an organization's batches (1,000)", 1_000, one_organization=True),
    "ledger": Limit("ledger: the table, new and not warmed (4,000 write units)", 4_000, one_organization=False),
    "audit_table": Limit("audit: the table and each index, new (4,000)", 4_000, one_organization=False),
    "executions": Limit("Lambda: executions at once (1,000)", 1_000, one_organization=False),
    "api": Limit("API Gateway: requests (10,000)", 10_000, one_organization=False),
    "kms": Limit("KMS: symmetric operations (10,000)", 10_000, one_organization=False),
    "starts": Limit("Step Functions: StartExecution (6,000 in large regions)", 6_000, one_organization=False),
    "machines": Limit("Step Functions: CreateStateMachine (1 a second)", 1, one_organization=False),
}
# The write units of a step in the ledger: its item, its claim, its ending, and 2 for the header; those of a batch: the
# header and the list with 4, its place's beginning and end, and the day's count. Places are counted apart.
STEP_LEDGER_UNITS, BATCH_LEDGER_UNITS, UNITS_PER_ROW = 5, 7, 1
ORGANIZATION_PLACES = 250  # of an account that runs a thousand functions at once
LEASE_BYTES, LEASE_WRITES = 30, 2


@dataclass(frozen=True, slots=True)
class Seen:
    """The load of a limit: in its busiest second where it is most loaded, and in the mean of its busiest hour."""

    limit: Limit
    peak: float
    mean: float

    @property
    def used(self) -> float:
        """The part of the limit that the busiest second uses; of a bucket that refills, that the mean uses."""
        return (self.mean if self.limit.per_second == 1 else self.peak) / self.limit.per_second


def shares(load: Load) -> list[float]:
    """Return the part of all calls that each organization makes, the largest first; their sum is 1."""
    zipf = [load.largest_share / number for number in range(1, load.organizations + 1)]
    rest = 1 - sum(zipf)
    return [one / sum(zipf) for one in zipf] if rest < 0 else [one + rest / load.organizations for one in zipf]


def simulate(load: Load, seed: int = 1) -> list[Seen]:
    """Simulate the busiest hour, and return what each limit sees, the most used first."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    requests = round(load.calls_a_day / DAY_SECONDS * load.peak_ratio * HOUR_SECONDS)
    parts = shares(load)
    weights, lease_units = list(itertools.accumulate(parts)), [_lease_units(load, part) for part in parts]
    counts: dict[str, defaultdict[tuple[int, int, int], float]] = {name: defaultdict(float) for name in LIMITS}
    for organization in dice.choices(range(load.organizations), cum_weights=weights, k=requests):
        for name, second, shard, amount in _asked(load, dice, lease_units[organization]):
            place = (organization, shard) if LIMITS[name].one_organization else (-1, 0)
            counts[name][second, *place] += amount
    found = [_seen(LIMITS[name], counter) for name, counter in counts.items()]
    return sorted(found, key=lambda seen: -seen.used)


def rows(load: Load, found: list[Seen]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each limit: what it sees, and at how many calls a day it is reached."""
    for seen in found:
        reached = load.calls_a_day / seen.used ** (1 / seen.limit.order) if seen.used else math.inf
        text = f"{reached / 1e6:,.1f} million" if reached < math.inf else "never"
        yield seen.limit.name, f"{seen.mean:,.1f}", f"{seen.peak:,.0f}", f"{seen.used:.1%}", text


def measure() -> None:
    """Simulate many organizations and one alone, print the tables and write them into docs/scale.md."""
    many, one = Load(), Load(organizations=1, largest_share=1.0)
    columns = ("limit", "mean of the hour", "busiest second", "used", "reached at calls a day")
    texts = []
    for load in (many, one):
        whose = f"{load.organizations:,} organization" + ("s" if load.organizations > 1 else "")
        texts.append(f"{load.calls_a_day:,} calls a day of {whose}\n\n{table(columns, rows(load, simulate(load)))}")
    texts.append(
        table(("1,000 requests and steps a second of one organization, each of", "write units a second"), hot())
    )
    text = "\n".join(texts)
    print(text)
    keep(text, PAGE, "simulation")


def hot() -> Iterator[tuple[str, str]]:
    """Yield what the places of a busy organization cost, by the seconds for which each is taken."""
    for seconds in (0.1, 0.18, 0.25):
        load = Load(calls_a_day=1_000 * DAY_SECONDS, organizations=1, peak_ratio=1, batch_part=0, call_seconds=seconds)
        yield (
            f"{seconds} s: {1_000 * seconds:.0f} of {ORGANIZATION_PLACES} places",
            f"{1_000 * _lease_units(load, 1):,.0f}",
        )


def _lease_units(load: Load, part: float) -> float:
    """Return the write units of a request or a step for its place, in an item that has all leases of its organization.

    Sandboxes keep three quarters of a large account's places, which are written twice a minute; the others twice each.
    """
    tools = load.calls_a_day / DAY_SECONDS * load.peak_ratio * part * (1 + load.batch_part * load.steps)
    busy = tools * load.call_seconds
    kept = min(busy, ORGANIZATION_PLACES * 3 // 4)
    writes = (busy - kept) / busy + min(1, max(1, kept) / KEPT_LEASE_SECONDS / tools)
    return LEASE_WRITES * writes * math.ceil(max(1, busy) * LEASE_BYTES / 1024)


def _asked(load: Load, dice: random.Random, lease_units: float) -> Iterator[tuple[str, int, int, float]]:
    """Yield what one request asks: the limit, the second, the shard, and how much."""
    second = dice.randrange(HOUR_SECONDS)
    yield "api", second, 0, 1
    yield from _work(load, dice, second, lease_units)
    if dice.random() >= load.batch_part:
        return
    yield "listing", second, 0, 1
    yield "starts", second, 0, 1
    yield "ledger", second, 0, BATCH_LEDGER_UNITS
    if dice.random() < load.new_shape_part:
        yield "machines", second, 0, 1
    for number in range(load.steps):
        later = second + number * 2 // load.steps
        yield "ledger", later, 0, STEP_LEDGER_UNITS
        yield from _work(load, dice, later, lease_units)


def _work(load: Load, dice: random.Random, second: int, lease_units: float) -> Iterator[tuple[str, int, int, float]]:
    """Yield what one tool asks."""
    for _ in range(2 if dice.random() < load.write_part else 1):
        yield "audit", second, dice.randrange(SHARDS), UNITS_PER_ROW
        yield "audit_table", second, 0, UNITS_PER_ROW
    yield "leases", second, 0, lease_units
    yield "ledger", second, 0, lease_units
    yield "executions", second, 0, load.call_seconds
    if dice.random() < load.cold_part:
        yield "kms", second, 0, 1


def _seen(limit: Limit, counter: Mapping[tuple[int, int, int], float]) -> Seen:
    """Return the busiest second of the most loaded place, and that place's mean."""
    totals: defaultdict[tuple[int, int], float] = defaultdict(float)
    for (_, organization, shard), amount in counter.items():
        totals[organization, shard] += amount
    return Seen(limit, max(counter.values(), default=0), max(totals.values(), default=0) / HOUR_SECONDS)
