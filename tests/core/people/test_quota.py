"""The limit of a user's minute, counted by several sandboxes together."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.errors import UserLimitReached
from mcpist.people.quota import RequestQuota
from mcpist.settings import settings
from tests.core.sample import caller
from tests.examples import examples

MORNING = 1_800_000_000.0  # 2027-01-15T08:00:00Z, where a minute begins
UMA = caller()
MINUTES = count()  # each example has a minute of its own

type Limit = Callable[..., None]


@pytest.fixture(autouse=True)
def limit(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Set the limits; at first there is none."""

    def limit(requests: int = 0) -> None:
        monkeypatch.setenv("USER_REQUESTS", str(requests))
        settings.cache_clear()

    limit()
    aws.clear()
    return limit


def served(sandbox: RequestQuota, now: float = MORNING, who: Any = UMA) -> bool:
    try:
        sandbox.clock = lambda: now
        sandbox.count(who)
    except UserLimitReached:
        return False
    return True


def counters() -> list[dict[str, Any]]:
    return ledger_table().query("acme#quota")


# -- requests a minute -----------------------------------------------------------------------------------


def test_one_sandbox_serves_the_limit_and_no_more(limit: Limit, aws: list[str]) -> None:
    limit(requests=30)
    sandbox = RequestQuota()
    assert [served(sandbox) for _ in range(35)] == [True] * 30 + [False] * 5
    assert aws == ["UpdateItem"] * 11  # shares of two, two, and then three


def test_the_first_request_of_a_minute_and_those_of_a_share_need_no_request_to_the_store(
    limit: Limit, aws: list[str]
) -> None:
    limit(requests=300)
    sandbox = RequestQuota()
    assert served(sandbox)
    assert aws == []
    assert all(served(sandbox) for _ in range(30))
    assert aws == ["UpdateItem"] * 5
    assert [item["used"] for item in counters()] == [32]  # 2, 2, 4, 8, 16: as much again as it has served


def test_a_refusal_says_when_the_minute_ends(limit: Limit) -> None:
    limit(requests=1)
    for now, seconds in ((MORNING, 60), (MORNING + 0.5, 60), (MORNING + 59, 1), (MORNING + 59.9, 1)):
        sandbox = RequestQuota()
        served(sandbox, now)
        sandbox.clock = lambda now=now: now
        with pytest.raises(UserLimitReached) as refused:
            sandbox.count(UMA)
        assert refused.value.details == {"limit": 1, "retry_after": seconds}
        assert refused.value.code == "RATE_LIMIT_EXCEEDED"


def test_the_next_minute_has_a_new_counter(limit: Limit) -> None:
    limit(requests=2)
    sandbox = RequestQuota()
    assert [served(sandbox, MORNING + 59.999) for _ in range(3)] == [True, True, False]
    assert [served(sandbox, MORNING + 60) for _ in range(3)] == [True, True, False]
    assert [item["expires_at"] - MORNING for item in counters()] == [60 + 3_600, 120 + 3_600]


def test_each_user_of_each_organization_has_a_limit_of_their_own(limit: Limit) -> None:
    limit(requests=2)
    sandbox = RequestQuota()
    for who in (UMA, replace(UMA, user="ada"), replace(UMA, organization="other")):
        assert [served(sandbox, who=who) for _ in range(3)] == [True, True, False]


def test_without_a_limit_nothing_is_counted(aws: list[str]) -> None:
    sandbox = RequestQuota()
    assert all(served(sandbox) for _ in range(100))
    assert aws == []


@example(maximum=2, sandboxes=1, turns=[0] * 12)
@hypothesis_settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    maximum=st.integers(1, 40),
    sandboxes=st.integers(1, 6),
    turns=st.lists(st.integers(0, 5), min_size=1, max_size=80),
)
def test_n_sandboxes_serve_at_most_n_above_the_limit_and_lose_less_than_a_share_each(
    limit: Limit, maximum: int, sandboxes: int, turns: list[int]
) -> None:
    """A sandbox serves one request at a time and reserves by one atomic write: an interleaving is a list of turns."""
    limit(requests=maximum)
    now = MORNING + 60 * next(MINUTES)
    pool = [RequestQuota() for _ in range(sandboxes)]
    passed, refused = 0, False
    for turn in turns:
        if served(pool[turn % sandboxes], now):
            passed += 1
        else:
            refused = True
            assert passed >= maximum - (sandboxes - 1) * (max(1, maximum // 10) - 1)
    assert passed <= maximum + sandboxes
    assert refused or passed == len(turns)


@pytest.mark.parametrize(("sandboxes", "sent"), [(12, 24), (15, 200), (20, 160), (50, 100)])
def test_a_user_of_many_sandboxes_is_not_refused_far_below_the_limit(limit: Limit, sandboxes: int, sent: int) -> None:
    limit(requests=300)
    pool = [RequestQuota() for _ in range(sandboxes)]
    assert all(served(pool[turn % sandboxes]) for turn in range(sent))


def test_concurrent_sandboxes_keep_the_bound(limit: Limit) -> None:
    limit(requests=40)
    pool = [RequestQuota() for _ in range(8)]
    with atomic(), ThreadPoolExecutor(8) as threads:
        passed = sum(threads.map(lambda sandbox: sum(served(sandbox) for _ in range(20)), pool))
    assert 40 - 7 * 3 <= passed <= 48


def test_nobody_is_limited_while_the_store_is_down(limit: Limit, caplog: pytest.LogCaptureFixture) -> None:
    limit(requests=20)
    sandbox = RequestQuota()
    with failing(EndpointConnectionError(endpoint_url="https://dynamodb")), caplog.at_level(logging.WARNING):
        assert all(served(sandbox) for _ in range(41))
    assert [record.message for record in caplog.records] == ["requests not counted"] * 21
    assert all(served(sandbox) for _ in range(21))
    assert not served(sandbox)


def test_an_unexpected_exception_is_not_hidden(limit: Limit) -> None:
    limit(requests=20)
    sandbox = RequestQuota()
    served(sandbox)
    with failing(RuntimeError("no")), pytest.raises(RuntimeError):
        sandbox.count(UMA)


# -- DynamoDB --------------------------------------------------------------------------------------------


@contextmanager
def failing(error: Exception) -> Iterator[None]:
    """Let every change of a counter fail."""

    def refuse(**_: Any) -> None:
        raise error

    events = client("dynamodb").meta.events
    events.register("before-call.dynamodb.UpdateItem", refuse)
    yield
    events.unregister("before-call.dynamodb.UpdateItem", refuse)


@contextmanager
def atomic() -> Iterator[None]:
    """Let DynamoDB change one item after the other, which moto does not."""
    lock = Lock()
    events = client("dynamodb").meta.events
    hooks = {
        "before-call.dynamodb.UpdateItem": lambda **_: lock.acquire() and None,
        "after-call.dynamodb.UpdateItem": lambda **_: lock.release(),
    }
    for name, hook in hooks.items():
        events.register(name, hook)
    yield
    for name, hook in hooks.items():
        events.unregister(name, hook)
