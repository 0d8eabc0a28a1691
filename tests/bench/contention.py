"""The wait of sandboxes for a token that one of them refreshes at a real authorization server."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from infra.bench.broker import function_of
from infra.bench.report import Row
from tests.token_broker.authorization_server import running
from tests.token_broker.stack import BrokerProcess, BrokerStack, running_stack
from token_broker.resolving.lease import DEFAULT_LEASE_TIMING

ROUNDS = 10
SANDBOXES = 8  # that need the token at the same moment
REFRESH_DELAY_SECONDS = 1.0  # until the provider answers


def rows() -> Iterator[Row]:
    """How long sandboxes wait for a token that one of them refreshes at a real authorization server.

    It has an AWS of its own, and a process runs one at a time: the deployment must be closed.
    """
    with running() as server, running_stack(server) as stack:
        # The tests' stack is more patient with its stores than what is deployed.
        patience = function_of(stack.aws).environment["STORE_SECONDS"]
        deployed = replace(stack, environment={**stack.environment, "STORE_SECONDS": patience})
        deployed.connect()
        with deployed.sandboxes(SANDBOXES) as sandboxes:
            for sandbox in sandboxes:  # each imports now what a snapshot holds
                _refresh(deployed, [sandbox], 0)
            yield _waiting([_refresh(deployed, sandboxes, REFRESH_DELAY_SECONDS) for _ in range(ROUNDS)])


def _waiting(rounds: Iterable[list[float]]) -> Row:
    """The waits of who did not ask the provider.

    Nobody tells who did: without the fastest of a round the others cannot look better than they were.
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
    """One round: the token has ended, and all need it."""
    stack.server.reset()
    stack.server.steer(delay_seconds=answer)
    stack.age()
    played = stack.play(sandboxes, threads=1, **asdict(DEFAULT_LEASE_TIMING))
    assert len(set(played.found)) == len(stack.server.state.redeems) == 1, "not one redeem, one token"
    return played.seconds
