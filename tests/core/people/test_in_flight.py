"""The requests that a user and an organization have in flight, counted by several sandboxes together."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import TooManyBatches, TooManyInFlight
from mcpist.people.in_flight import (
    KEPT_LEASE_SECONDS,
    MAX_KEPT_LEASES,
    MAX_QUICK_SECONDS,
    MAX_REQUEST_SECONDS,
    STALE_SECONDS,
    InFlight,
    begin_batch,
    end_batch,
    steps_at_once,
)
from mcpist.settings import settings
from tests.clock import Clock
from tests.core.people.test_quota import failing
from tests.core.sample import caller
from tests.examples import examples

UMA = caller()
ORGANIZATIONS = count()  # each example has an organization of its own

MADE: list["Sandboxes"] = []

type Limits = Callable[[int, int], None]


@pytest.fixture(autouse=True)
def limits(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Limits]:
    """Set the limits of a user and of an organization; what is in flight at the end ends."""

    def limits(user: int, organization: int) -> None:
        monkeypatch.setenv("USER_CONCURRENCY", str(user))
        monkeypatch.setenv("ORGANIZATION_CONCURRENCY", str(organization))
        settings.cache_clear()

    limits(5, 8)
    aws.clear()
    yield limits
    while MADE:
        for _, held in MADE.pop().running.values():
            held.close()


class Sandboxes:
    """Sandboxes that serve one request each; a request that begins goes to one that is idle."""

    def __init__(self, number: int = 20, prefix: str = "lease_", clock: Clock | None = None) -> None:
        MADE.append(self)
        self.clock = clock or Clock()
        self.pool = [InFlight(self.clock, prefix) for _ in range(number)]
        self.running: dict[int, tuple[str, ExitStack]] = {}

    def begin(self, who: Caller = UMA, sandbox: int | None = None) -> int | None:
        """Return the sandbox that serves a request from now on; None if it was refused."""
        idle = [number for number in range(len(self.pool)) if number not in self.running]
        chosen = idle[0] if sandbox is None else sandbox
        held = ExitStack()
        try:
            held.enter_context(self.pool[chosen].counted(who))
        except TooManyInFlight:
            return None
        self.running[chosen] = (who.user, held)
        return chosen

    def end(self, sandbox: int) -> None:
        self.running.pop(sandbox)[1].close()

    @property
    def users(self) -> Counter[str]:
        """How many requests of each user are in flight."""
        return Counter(user for user, _ in self.running.values())


def user(name: str, organization: str = "acme") -> Caller:
    return replace(UMA, user=name, organization=organization)


def leases() -> list[str]:
    (item,) = ledger_table().query("acme#quota", "in_flight")
    return [name for name in item if name.startswith("lease_")]


def test_a_user_has_no_more_in_flight_than_the_limit(limits: Limits) -> None:
    limits(3, 0)
    sandboxes = Sandboxes()
    started = [sandboxes.begin() for _ in range(10)]
    assert started == [0, 1, 2, *[None] * 7]
    sandboxes.end(1)
    sandboxes.clock.advance(2)
    assert sandboxes.begin() == 1


def test_a_user_of_a_full_organization_leaves_room_for_the_others() -> None:
    sandboxes = Sandboxes()
    greedy = [sandboxes.begin() for _ in range(10)]
    assert sum(one is not None for one in greedy) == 4  # half of the organization's eight
    assert all(sandboxes.begin(user(name)) is not None for name in ("ben", "cleo", "dora", "emil"))
    assert sandboxes.begin(user("fay")) is None
    assert sandboxes.begin(user("uma", "globex")) is not None  # another organization


def test_the_steps_of_a_user_leave_places_to_others_and_to_the_users_own_requests() -> None:
    requests, steps, ben = Sandboxes(), Sandboxes(prefix="step_"), user("ben")
    assert requests.begin() is not None  # the batch's own
    assert sum(steps.begin() is not None for _ in range(10)) == steps_at_once() == 4  # half of the organization's eight
    assert requests.begin() is not None
    assert [steps.begin(ben), requests.begin(ben)] == [4, 2]
    assert requests.begin(user("dora")) is None, "all eight are taken"
    steps.end(3)
    requests.clock.advance(2)
    assert requests.begin(user("dora")) is not None


def test_a_refusal_says_the_limit_and_when_to_come_again(limits: Limits) -> None:
    limits(1, 0)
    sandboxes = Sandboxes()
    sandboxes.begin()
    with pytest.raises(TooManyInFlight) as refused, sandboxes.pool[1].counted(UMA):
        pass
    assert refused.value.details == {"limit": 1, "retry_after": 1}
    assert (refused.value.status, refused.value.code) == (429, "RATE_LIMIT_EXCEEDED")


def test_the_requests_of_a_quiet_user_ask_the_store_once_a_minute(aws: list[str]) -> None:
    sandboxes = Sandboxes()
    for _ in range(20):
        sandboxes.end(sandboxes.begin() or 0)
        sandboxes.clock.advance(2)
    assert aws == ["UpdateItem"]
    sandboxes.clock.advance(KEPT_LEASE_SECONDS)
    sandboxes.begin()
    assert aws == ["UpdateItem"] * 2


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_user_beside_others_or_in_several_sandboxes_writes_a_tenth_a_request_at_most(
    aws: list[str], number: int
) -> None:
    sandboxes = Sandboxes(number)
    for turn in range(100):
        who = UMA if turn % 3 else user("ben")
        together = [sandboxes.begin(who, sandbox) for sandbox in range(number)]
        assert None not in together, turn
        for sandbox in range(number):
            sandboxes.end(sandbox)
        sandboxes.clock.advance(0.2)
    assert len(aws) <= 0.1 * 100 * number


def test_who_was_slow_in_a_sandbox_is_counted_there_for_a_minute(limits: Limits) -> None:
    limits(3, 0)
    sandboxes = Sandboxes(6)

    def begin_all() -> int:
        return sum(sandboxes.begin(sandbox=sandbox) is not None for sandbox in range(6))

    def end_all(seconds: float) -> None:
        sandboxes.clock.advance(seconds)
        for sandbox in list(sandboxes.running):
            sandboxes.end(sandbox)

    assert begin_all() == 3
    end_all(0.1)
    sandboxes.clock.advance(2)
    assert begin_all() == 5, "two idle ones count for nobody, so three are counted beside them"
    end_all(MAX_QUICK_SECONDS)
    assert begin_all() == 3
    end_all(MAX_QUICK_SECONDS)


def test_places_that_sandboxes_keep_count_for_their_organization() -> None:
    sandboxes = Sandboxes(20)
    for _ in range(2):
        for sandbox in range(4):
            sandboxes.begin(sandbox=sandbox)
        for sandbox in range(4):
            sandboxes.end(sandbox)
    others = [sandboxes.begin(user(name), sandbox) for sandbox, name in enumerate("abcdefgh", 4)]
    assert sum(one is not None for one in others) == 6, "one lease counts as a whole, the three kept ones as another"
    assert all(sandboxes.begin(user(name), sandbox) is not None for sandbox, name in enumerate("wxyz")), (
        "these are idle"
    )
    assert sandboxes.users.total() == 10


def test_idle_places_refuse_nobody_of_an_organization_that_uses_five_eighths_of_its_own() -> None:
    requests = Sandboxes(12)
    steps = Sandboxes(prefix="step_", clock=requests.clock)
    for sandbox in [requests.begin(sandbox=sandbox) for sandbox in range(4)]:
        requests.end(sandbox or 0)
    for sandbox in [steps.begin(sandbox=sandbox) for sandbox in range(2)]:
        steps.end(sandbox or 0)
    assert None not in [requests.begin(user(name), sandbox) for sandbox, name in enumerate(("ben", "cleo"), 5)]
    assert None not in [steps.begin(user("ben"), sandbox) for sandbox in range(3, 6)]


def test_a_batch_alone_has_its_places_beside_what_its_user_s_idle_sandboxes_keep() -> None:
    requests = Sandboxes(4)
    steps = Sandboxes(prefix="step_", clock=requests.clock)
    for _ in range(2):
        for sandbox in [requests.begin(sandbox=sandbox) for sandbox in range(4)]:
            requests.end(sandbox or 0)
    assert requests.begin(sandbox=2) is not None  # the batch's own
    assert sum(steps.begin() is not None for _ in range(10)) == steps_at_once()


def test_an_organization_of_a_thousand_requests_a_second_writes_less_than_its_item_takes(
    limits: Limits, aws: list[str]
) -> None:
    """DynamoDB writes 1,000 KB a second of one item; requests of 50 users take 0.1 s each, in 100 sandboxes."""
    limits(5, 250)
    sandboxes, seconds = Sandboxes(100), 3
    for turn in range(10 * seconds):
        for sandbox in range(100):
            assert sandboxes.begin(user(f"u{(turn * 7 + sandbox) % 50}"), sandbox) is not None
        sandboxes.clock.advance(0.1)
        for sandbox in range(100):
            sandboxes.end(sandbox)
    (item,) = ledger_table().query("acme#quota", "in_flight")
    kilobytes = -(-sum(len(name) + 8 for name in item) // 1_000)
    assert len(aws) <= 300, "of 3,000 requests; none of them is written again in this minute"
    assert len(aws) * kilobytes / KEPT_LEASE_SECONDS < 1_000


def test_a_user_whose_requests_wander_through_the_sandboxes_is_never_refused() -> None:
    sandboxes = Sandboxes(40)
    for number in range(40):
        assert sandboxes.begin(sandbox=number) is not None
        sandboxes.end(number)
    assert len(leases()) == 1


def test_a_refused_user_asks_the_store_nothing_for_a_second(limits: Limits, aws: list[str]) -> None:
    limits(1, 0)
    sandboxes = Sandboxes(2)
    sandboxes.begin(sandbox=0)
    sandboxes.begin(sandbox=1)
    aws.clear()
    assert [sandboxes.begin(sandbox=1) for _ in range(50)] == [None] * 50
    assert aws == []
    assert leases() == leases()[:1]


def test_the_lease_of_a_sandbox_that_died_ends_by_itself_and_is_removed(limits: Limits) -> None:
    limits(1, 0)
    Sandboxes().begin()
    others = Sandboxes()
    assert others.begin() is None
    others.clock.advance(KEPT_LEASE_SECONDS + MAX_REQUEST_SECONDS + 1)
    assert others.begin() is not None
    others.clock.advance(STALE_SECONDS)
    assert others.begin() is None  # which removes what is stale
    assert len(leases()) == 1


def test_an_organization_of_many_users_keeps_few_stale_leases() -> None:
    sandboxes = Sandboxes(60)
    for number in range(60):
        sandboxes.end(sandboxes.begin(user(f"u{number}"), sandbox=number) or 0)
        sandboxes.clock.advance(60)
    assert len(leases()) < 25


def test_the_item_of_a_busy_organization_stays_small_however_many_users_it_has(limits: Limits) -> None:
    limits(5, 250)
    sandboxes = Sandboxes(10)
    for number in range(120):
        assert sandboxes.begin(user(f"u{number}"), sandbox=number % 10) is not None
        sandboxes.end(number % 10)
    assert len(leases()) <= MAX_KEPT_LEASES


def test_without_limits_nothing_is_counted(limits: Limits, aws: list[str]) -> None:
    limits(0, 8)
    sandboxes = Sandboxes()
    assert None not in [sandboxes.begin() for _ in range(20)]
    assert aws == []


def test_nobody_is_refused_while_the_store_is_down(caplog: pytest.LogCaptureFixture) -> None:
    from botocore.exceptions import EndpointConnectionError

    sandboxes = Sandboxes()
    with failing(EndpointConnectionError(endpoint_url="https://dynamodb")), caplog.at_level(logging.WARNING):
        assert None not in [sandboxes.begin() for _ in range(20)]
    assert {record.message for record in caplog.records} == {"request not counted"}


def test_sandboxes_of_one_snapshot_have_leases_of_their_own(limits: Limits) -> None:
    limits(3, 0)
    sandboxes = Sandboxes(2)
    for sandbox in sandboxes.pool:
        sandbox.clear()  # as after a restore
    sandboxes.begin()
    sandboxes.begin()
    assert len(leases()) == 2


@example((1, 10), [(True, 0, 0), (True, 0, 1)])
@example((2, 4), [*[(False, 0, 0)] * 6, (False, 1, 1), (False, 0, 1), (False, 0, 2), (False, 1, 3)])
@hypothesis_settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    bounds=st.tuples(st.integers(1, 6), st.integers(2, 10)),
    turns=st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 11)), max_size=60),
)
def test_the_limits_hold_in_every_interleaving_and_refuse_nobody_far_below_them(
    limits: Limits, bounds: tuple[int, int], turns: list[Any]
) -> None:
    per_user, per_organization = bounds
    limits(per_user, per_organization)
    sandboxes, organization = Sandboxes(12), f"org{next(ORGANIZATIONS)}"
    for begins, person, number in turns:
        if number in sandboxes.running:
            if not begins:
                sandboxes.end(number)
            continue
        before = sandboxes.users
        started = sandboxes.begin(user(f"u{person}", organization), sandbox=number)
        assert max(sandboxes.users.values(), default=0) <= per_user + per_organization // 2
        most_kept = (per_organization // 2 + per_organization // 4 + 1) // 2
        assert sandboxes.users.total() <= per_organization + most_kept
        if started is None:
            mine, all_of_them = before[f"u{person}"], before.total()
            # Kept leases take three eighths of the limit at most: it may refuse from the rest on.
            full = all_of_them + 1 + mine >= per_organization - most_kept
            assert full or mine >= min(per_user, per_organization // 2) - 1
        sandboxes.clock.advance(1.5)


# -- batches ---------------------------------------------------------------------------------------------


def begins(user: str, batch: int, *, now: float = 0, closes_at: float = 900) -> bool:
    try:
        begin_batch("acme", user, f"b_{batch:x}", closes_at, now)
    except TooManyBatches:
        return False
    return True


def test_a_user_has_no_more_batches_running_than_the_limit_and_leaves_the_last_places_to_others(limits: Limits) -> None:
    limits(5, 8)
    assert [begins("uma", number) for number in range(5)] == [True] * 4 + [False]
    assert [begins(user, number) for number, user in enumerate(("ada", "bob", "eve"), 5)] == [True] * 3
    assert [begins("ada", 8), begins("kim", 9), begins("tom", 10)] == [False, True, False]
    limits(2, 0)
    assert [begins("ada", number) for number in (11, 12)] == [True, False]


def test_a_batch_that_ended_or_whose_time_is_over_counts_no_more(limits: Limits) -> None:
    limits(2, 0)
    assert [begins("uma", number) for number in range(3)] == [True, True, False]
    end_batch("acme", "uma", "b_0")
    end_batch("acme", "uma", "b_0")
    assert [begins("uma", number) for number in (3, 4)] == [True, False]
    assert begins("uma", 5, now=902, closes_at=2_000)
    assert {name[-3:] for name in ledger_table().get("acme#quota", "batches") or {} if name.startswith("batch_")} == {
        "b_5"
    }


def test_a_batch_that_begins_twice_counts_once(limits: Limits) -> None:
    limits(2, 0)
    assert [begins("uma", 0), begins("uma", 0), begins("uma", 1), begins("uma", 2)] == [True, True, True, False]


def test_without_a_limit_no_batch_is_counted(limits: Limits, aws: list[str]) -> None:
    limits(0, 8)
    assert all(begins("uma", number) for number in range(20))
    end_batch("acme", "uma", "b_1")
    assert aws == []
