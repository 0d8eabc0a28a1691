"""Saturation: how many requests a second a deployment serves while their 95th percentile stays under a bound.

The clients are those of the soak without pauses: each sends its next request when it has an answer (a closed loop).
Their number doubles from stage to stage until the percentile is over the bound or the throughput no longer grows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from statistics import quantiles

from benchmarks.report import Row, show
from benchmarks.soak import seed_users, soak
from benchmarks.stub_deployment import LARGE_ACCOUNT, run_stub_deployment, say

MAX_P95_MS = 1_000
# Two shared cores run the clients, all sandboxes and the embedded AWS.
MIN_REQUESTS_PER_SECOND = 5
STAGES = tuple(2**power for power in range(8))
# A stage with less than this is at most as fast as the one before.
MIN_THROUGHPUT_GAIN = 1.05


@dataclass(frozen=True)
class Stage:
    """One number of clients: the milliseconds of their answers, each checked, and their errors."""

    clients: int
    seconds: float
    milliseconds: list[float] = field(repr=False)
    errors: int = 0

    @property
    def rate(self) -> float:
        """The right answers a second."""
        return len(self.milliseconds) / self.seconds

    @property
    def p95(self) -> float:
        """The 95th percentile of all kinds of requests together; batches of three steps are among them."""
        return (
            quantiles(self.milliseconds, n=20, method="inclusive")[-1] if len(self.milliseconds) > 1 else float("inf")
        )

    @property
    def is_within(self) -> bool:
        """Whether its answers came without an error and within the bound."""
        return not self.errors and self.p95 <= MAX_P95_MS


def measure(seconds: float) -> list[str]:
    """Run the stages, write the table into docs/benchmarks.md, and return the bounds that were missed."""
    with run_stub_deployment(LARGE_ACCOUNT) as stub:
        people = seed_users(stub.deployment)
        stages: list[Stage] = []
        for clients in STAGES:
            say(f"{clients} clients without pauses for {seconds:.0f} s")
            run = soak(stub.deployment, people, clients, seconds, pause_seconds=0)
            times = [one for kind in run.seen["milliseconds"].values() for one in kind]
            stages.append(Stage(clients, seconds, times, sum(run.seen["errors"].values())))
            if is_saturated(stages):
                break
    return show(rows(stages), "saturation", f": {seconds:.0f} s a stage")


def is_saturated(stages: list[Stage]) -> bool:
    """Whether the last stage is beyond the bound, or hardly faster than the one before."""
    *_, last = stages
    slower = len(stages) > 1 and last.rate < stages[-2].rate * MIN_THROUGHPUT_GAIN
    return slower or not last.is_within


def rows(stages: list[Stage]) -> Iterator[Row]:
    """Yield a row for each stage, and the highest throughput of a stage within the bound."""
    for stage in stages:
        seen = f"{stage.rate:.1f} a second, 95th percentile {stage.p95:.0f} ms, {stage.errors} errors"
        yield f"{stage.clients} clients without pauses", seen, ""
    within = [stage.rate for stage in takewhile(lambda stage: stage.is_within, stages)]
    bound = f"{MIN_REQUESTS_PER_SECOND} or more"
    yield f"requests a second at a 95th percentile under {MAX_P95_MS:,} ms", f"{max(within, default=0):.1f}", bound
