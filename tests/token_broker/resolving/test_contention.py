"""Many sandboxes refresh one rotating grant at the same moment: a real server counts what reaches it.

The server ends the whole grant when a used refresh token comes again, so two redeems in one round are not only
counted: nothing works any more after them.
"""

from tests.token_broker.stack import OWNER, PACE, BrokerStack

ROUNDS = 20
PROCESSES = 8
THREADS = 50
# How late the provider answers, in leases.
DELAYS = (0, 0.1, 0.5, 1.5, 3)


def test_eight_processes_of_fifty_threads_redeem_once_a_round(stack: BrokerStack) -> None:
    """In turn the token has ended, and a service has refused it."""
    grant = stack.connect()
    with stack.sandboxes(PROCESSES) as sandboxes:
        for number in range(ROUNDS):
            stack.server.reset()
            stack.server.steer(delay_seconds=DELAYS[number % len(DELAYS)] * PACE["lease"])
            refused = grant.version if number % 2 else None
            stack.age("access_expires_at" if refused is None else "updated_at")
            played = stack.play(sandboxes, threads=THREADS, refused=refused)
            now = stack.grant()
            assert now is not None
            token = now.unseal_token("access_token").get_secret_value()
            state = stack.server.state
            assert (len(state.redeems), state.refused) == (1, ())
            assert played.found == [f"{grant.version + 1} {token}"] * PROCESSES * THREADS
            grant = now
        stack.server.reset()
        stack.age("updated_at")
        last = stack.play(sandboxes[:1], threads=1, refused=grant.version).found
    state = stack.server.state
    assert last == [f"{grant.version + 1} {token}" for token in state.access_tokens[-1:]]
    assert len(state.redeems) == 1
    assert stack.server.accepts(last[0].split()[1])
    assert stack.item(f"lease#{OWNER}") is None
