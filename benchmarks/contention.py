"""The wait of sandboxes for a token that one of them refreshes at a real authorization server."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from benchmarks.broker import FUNCTION
from benchmarks.report import Row
from tests.token_broker.authorization_server import running
from tests.token_broker.stack import BrokerProcess, BrokerStack, running_stack
from token_broker.resolving.lease import DEFAULT_LEASE_TIMING

ROUNDS = 10
SANDBOXES = 8  # that need the token at the same moment
REFRESH_DELAY_SECONDS = 1.0  # until the provider answers


def rows() -> Iterator[Row]:
    """Measure the wait of sandboxes for a token that one of them refreshes at a real authorization server.

    It starts an embedded AWS, of which a process can run only one.
    """
    with running() as server, running_stack(server) as stack:
        # The tests' stack has a longer store timeout than a deployed one.
        broker = next(function for function in stack.aws.template.functions if function.id == FUNCTION)
        deployed = replace(
            stack, environment={**stack.environment, "STORE_SECONDS": broker.environment["STORE_SECONDS"]}
        )
        deployed.connect()
        with deployed.sandboxes(SANDBOXES) as sandboxes:
            for sandbox in sandboxes:  # so that each imports what a snapshot would hold
                _refresh(deployed, [sandbox], 0)
            yield _waiting([_refresh(deployed, sandboxes, REFRESH_DELAY_SECONDS) for _ in range(ROUNDS)])


def _waiting(rounds: Iterable[list[float]]) -> Row:
    """Return the row of the waits of sandboxes that did not refresh.

    The one that refreshed is not known; leaving out the fastest of a round cannot make the others look faster.
    """
    waits = [(seconds, seconds - fastest) for fastest, *others in map(sorted, rounds) for seconds in others]
    worst, lag = (statistics.quantiles(some, n=20, method="inclusive")[-1] for some in zip(*waits, strict=True))
    return (
        f"wait of {SANDBOXES - 1} sandboxes for another one's refresh, against the provider's answer: 95th percentile",
        f"{worst / REFRESH_DELAY_SECONDS:.2f} ({worst:.2f} s : {REFRESH_DELAY_SECONDS:.2f} s), "
        f"{lag:.2f} s after the first",
        "",
    )


def _refresh(stack: BrokerStack, sandboxes: Sequence[BrokerProcess], answer: float) -> list[float]:
    """Play one round in which the token has expired and all sandboxes need it."""
    stack.server.reset()
    stack.server.steer(delay_seconds=answer)
    stack.age()
    played = stack.play(sandboxes, threads=1, **asdict(DEFAULT_LEASE_TIMING))
    assert len(set(played.found)) == len(stack.server.state.redeems) == 1, "not one redeem, one token"
    return played.seconds
