"""A sandbox killed at every point of a refresh: what the provider still honours is never lost, and nothing loops."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.token_broker.stack import OWNER, PACE, BrokerProcess, BrokerStack
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, traffic_of

# Takeovers within a moment: here nothing but a killed process is late.
QUICK: dict[str, Any] = {"lease": 0.6, "beat": 0.1, "margin": 0.2}

type Point = tuple[str, str, HookPhase]

LEASE = f"lease#{OWNER}"
# Where AWS is asked: the operation, the item's sort key, and the moment; each in the order of a refresh.
AWS_POINTS: dict[str, Point] = {
    "before it has the lease": ("UpdateItem", LEASE, "before"),
    "with the lease": ("UpdateItem", LEASE, "after"),
    "before it reads the grant": ("GetItem", OWNER, "before"),
    "before it has the data keys": ("GenerateDataKey", "", "before"),
    "before it stores": ("UpdateItem", OWNER, "before"),
    "after it stored": ("UpdateItem", OWNER, "after"),
    "before it gives the lease back": ("DeleteItem", LEASE, "before"),
}
# Where the provider holds the request.
PROVIDER_POINTS = {"before the provider redeems": "asked", "before the provider's answer": "answered"}
# Here the provider has redeemed the stored refresh token, and nobody knows its answer.
REDEEMED = {"before the provider's answer", "before it stores"}


@contextmanager
def killing(stack: BrokerStack, sandbox: BrokerProcess, point: str) -> Iterator[threading.Event]:
    """The sandbox is killed where the point says; the event tells that it was."""
    killed = threading.Event()
    if point in PROVIDER_POINTS:
        stack.server.steer(hold=PROVIDER_POINTS[point])
        watcher = threading.Thread(target=kill_when, args=[lambda: stack.server.state.waiting, sandbox, killed])
        watcher.start()
        yield killed
        watcher.join()
        return
    operation, owner, moment = AWS_POINTS[point]

    def hook(request: AwsRequest, now: HookPhase) -> None:
        key = request.body.get("Key", {}).get("sk", {}).get("S", "")
        if (request.operation, key, now) != (operation, owner, moment) or killed.is_set():
            return
        killed.set()
        sandbox.kill()
        raise InjectedResponse(500, {"__type": "InternalServerError"})

    traffic_of(stack.aws).on_request = hook
    yield killed
    traffic_of(stack.aws).on_request = None


def kill_when(is_there: Callable[[], object], sandbox: BrokerProcess, killed: threading.Event) -> None:
    while not is_there():
        time.sleep(0.001)  # a busy loop would take the provider's share of this process
    sandbox.kill()
    killed.set()


# A provider is strict or lenient with a refresh token that it has redeemed before: elsewhere its mode changes nothing.
KILLS = [
    *((point, "strict") for point in (*AWS_POINTS, *PROVIDER_POINTS)),
    *((point, "lenient") for point in sorted(REDEEMED)),
]


@pytest.mark.parametrize(
    ("point", "mode"),
    [
        pytest.param(point, mode, marks=() if point in REDEEMED and mode == "strict" else pytest.mark.slow)
        for point, mode in KILLS
    ],
)
def test_a_killed_refresh_loses_no_grant_that_the_provider_honours_and_never_loops(
    stack: BrokerStack, point: str, mode: str
) -> None:
    stack.server.reset()
    stack.server.steer(mode=mode)
    grant = stack.connect()
    stack.age()
    with stack.sandboxes(2) as (victim, heir):
        with killing(stack, victim, point) as killed:
            victim.send(service="example", refused=None, threads=1, pace=PACE | QUICK)
            assert victim.receive() is None
        assert killed.is_set()
        stack.server.steer(hold="")
        found = [stack.play([heir], threads=1, **QUICK).found[0] for _ in range(3)]
    state, now = stack.server.state, stack.grant()
    assert now is not None
    if point in REDEEMED and mode == "strict":
        assert found == ["RECONNECT_REQUIRED"] * 3
        assert (len(state.redeems), len(state.refused)) == (1, 1)
        assert (now.version, now.rejection and now.rejection.code) == (grant.version, "invalid_grant")
    else:
        assert found == [f"2 {now.unseal_token('access_token').get_secret_value()}"] * 3
        assert (len(state.redeems), len(state.refused)) == (1 + (point in REDEEMED), 0)
        assert stack.server.accepts(found[0].split()[1])
        assert now.unseal_token("refresh_token").get_secret_value() in state.refresh_tokens


def test_the_points_are_those_of_a_refresh_in_their_order(stack: BrokerStack) -> None:
    """Between the provider's answer and the stored pair stands one request to AWS, and nothing else."""
    stack.server.reset()
    stack.connect()
    stack.age()
    seen: list[str] = []

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if moment == "before" and request.service in {"dynamodb", "kms"}:
            redeemed = " after the redeem" if stack.server.state.redeems else ""
            seen.append(f"{request.operation}{redeemed}")

    with stack.sandboxes(1) as sandboxes:
        traffic_of(stack.aws).on_request = hook
        stack.play(sandboxes, threads=1, beat=30)
        traffic_of(stack.aws).on_request = None
    # On a loaded machine a lease may grow too old before the provider is asked; then it begins anew.
    assert seen[:6] == ["BatchGetItem", "BatchGetItem", "UpdateItem", "GetItem", "Decrypt", "GenerateDataKey"]
    assert seen[-4:] == [
        "GenerateDataKey",
        "UpdateItem after the redeem",
        "PutItem after the redeem",
        "DeleteItem after the redeem",
    ]
    assert sum(one.endswith("after the redeem") for one in seen) == 3
