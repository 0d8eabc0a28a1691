"""Many sandboxes refresh one rotating grant at the same moment: a real server counts the requests that reach it.

The server ends the whole grant when a used refresh token is sent again. So two requests in one round are not only
counted: no later round would get a token. `make test-all ARGS="-k contention"` has fifty threads in each process.
"""

from dataclasses import dataclass

import pytest

from tests.examples import examples
from tests.token_broker.stack import OWNER, PACE, BrokerStack


@dataclass(frozen=True)
class Contention:
    """How many threads resolve at the same moment, and in each round how many leases late the provider answers."""

    processes: int
    threads: int
    delays: tuple[float, ...]
    lease_seconds: float

    def __str__(self) -> str:
        return f"{self.processes} processes of {self.threads} threads"

    @property
    def pace(self) -> dict[str, float]:
        """The lease's times, in the proportions of `PACE`."""
        scale = self.lease_seconds / PACE["lease"]
        return {"lease": self.lease_seconds, "beat": PACE["beat"] * scale, "margin": PACE["margin"] * scale}


FEW = Contention(processes=4, threads=8, delays=(0, 0.5, 1.5), lease_seconds=1)
MANY = Contention(
    processes=8, threads=examples(50, quick=20), delays=(0, 0.1, 0.5, 1.5, 3), lease_seconds=PACE["lease"]
)


@pytest.mark.parametrize("contention", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=str)
def test_all_sandboxes_together_redeem_once_a_round(stack: BrokerStack, contention: Contention) -> None:
    grant = stack.connect()
    with stack.sandboxes(contention.processes) as sandboxes:
        for number, delay in enumerate(contention.delays):
            stack.server.reset()
            stack.server.steer(delay_seconds=delay * contention.lease_seconds)
            # In turn the token has expired, and a service has refused it.
            refused = grant.version if number % 2 else None
            stack.age("access_expires_at" if refused is None else "updated_at")
            played = stack.play(sandboxes, threads=contention.threads, refused=refused, **contention.pace)
            after = stack.grant()
            assert after is not None
            token = after.unseal_token("access_token").get_secret_value()
            state = stack.server.state
            assert (len(state.redeems), state.refused) == (1, ())
            assert played.found == [f"{grant.version + 1} {token}"] * contention.processes * contention.threads
            grant = after
        stack.server.reset()
        stack.age("updated_at")
        last = stack.play(sandboxes[:1], threads=1, refused=grant.version).found
    state = stack.server.state
    assert last == [f"{grant.version + 1} {token}" for token in state.access_tokens[-1:]]
    assert len(state.redeems) == 1
    assert stack.server.accepts(last[0].split()[1])
    assert stack.item(f"lease#{OWNER}") is None
