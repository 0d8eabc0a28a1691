"""What organizations spend in a day, counted by several sandboxes together."""

import io
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcpist import spending as day
from mcpist.aws.table import ledger_table
from mcpist.errors import DayLimitReached, InvalidRequest, StepLimitReached, StoreUnavailable
from mcpist.settings import settings
from mcpist.spending import Measure, Spending, Spent, release_steps, spent_today
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from tests import emf
from tests.core.people.test_quota import atomic, failing
from tests.examples import examples

MORNING = 1_800_000_000.0  # 2027-01-15T08:00:00Z
HOURS_LEFT = 16

type Limit = Callable[..., None]


@pytest.fixture(autouse=True)
def limit(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Set the limits; at first there is none."""

    def limit(**limits: int) -> None:
        for name in ("day_calls", "batch_steps", "day_program_seconds", "day_megabytes"):
            monkeypatch.setenv(name.upper(), str(limits.get(name, 0)))
        settings.cache_clear()

    limit()
    aws.clear()
    return limit


def sandbox(now: float = MORNING) -> Spending:
    return Spending(lambda: now)


def reserve_steps(organization: str, steps: int, now: float) -> None:
    sandbox(now).reserve_steps(organization, steps, now)


def calls(one: Spending, organization: str = "acme", measure: Measure = "calls", amount: float = 1) -> bool:
    """Use a tool; return whether it was not refused."""
    try:
        one.check(organization, measure)
    except DayLimitReached:
        return False
    one.add(organization, measure, amount)
    return True


def counters() -> dict[str, int]:
    (item,) = ledger_table().query("acme#quota")
    return {name: value for name, value in item.items() if name not in {"pk", "sk", "expires_at"}}


# -- calls, seconds and bytes ----------------------------------------------------------------------------


def test_a_call_costs_no_request_until_a_thousandth_of_the_limit_is_counted(limit: Limit, aws: list[str]) -> None:
    limit(day_calls=100_000)
    one = sandbox()
    assert all(calls(one) for _ in range(100))
    assert aws == []
    assert all(calls(one) for _ in range(900))
    assert aws == ["UpdateItem"] * 9
    assert counters() == {"calls": 900}


def test_a_warm_call_costs_a_fiftieth_of_a_write_by_the_default_limits(limit: Limit, aws: list[str]) -> None:
    limit(day_calls=100_000, batch_steps=50_000, day_program_seconds=36_000, day_megabytes=20_000)
    one = sandbox()
    for _ in range(2_000):
        assert calls(one)
        one.add("acme", "bytes", 3_000)
    assert len(aws) <= 2_000 / 50


def test_a_limit_that_is_reached_says_so_and_when_the_day_ends(limit: Limit) -> None:
    limit(day_calls=3)
    one = sandbox()
    assert [calls(one) for _ in range(5)] == [True] * 3 + [False] * 2
    with pytest.raises(DayLimitReached) as refused:
        one.check("acme", "calls")
    assert refused.value.code == "RATE_LIMIT_EXCEEDED"
    expected = {"limit": 3, "used": 3, "measure": "calls", "retry_after": HOURS_LEFT * 3_600}
    assert refused.value.details == expected
    one.check("acme", "bytes", "program_seconds")
    one.check("other", "calls")


@pytest.mark.parametrize(
    ("measure", "setting", "amount"),
    [("bytes", "day_megabytes", 400_000), ("program_seconds", "day_program_seconds", 0.4)],
)
def test_seconds_and_bytes_are_counted_by_their_amounts(
    limit: Limit, measure: Measure, setting: str, amount: float
) -> None:
    limit(**{setting: 1})
    served = [calls(sandbox_, measure=measure, amount=amount) for sandbox_ in [sandbox()] for _ in range(5)]
    assert served.count(True) == (3 if measure == "bytes" else 1)  # a second that has begun is billed


def test_the_next_day_begins_anew(limit: Limit) -> None:
    limit(day_calls=1)
    one = sandbox()
    midnight = MORNING + HOURS_LEFT * 3_600
    for now in (midnight - 1, midnight):
        one.clock = lambda now=now: now
        assert [calls(one), calls(one)] == [True, False]


def test_what_is_not_counted_for_ten_minutes_is_added_with_the_next_use(limit: Limit, aws: list[str]) -> None:
    limit(day_calls=100_000)
    one = sandbox()
    calls(one)
    one.clock = lambda: MORNING + day.MAX_UNSAVED_SECONDS - 1
    calls(one)
    assert aws == []
    one.clock = lambda: MORNING + day.MAX_UNSAVED_SECONDS
    calls(one)
    assert aws == ["UpdateItem"]
    assert counters() == {"calls": 2}


@hypothesis_settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(maximum=st.integers(1, 300), turns=st.lists(st.integers(0, 5), min_size=1, max_size=30), step=st.integers(1, 20))
def test_n_sandboxes_exceed_a_limit_by_n_thousandths_and_one_call_each(
    limit: Limit, maximum: int, turns: list[int], step: int
) -> None:
    limit(day_calls=maximum)
    organization = f"acme{maximum}-{step}-{len(turns)}-{sum(turns)}"
    ledger_table().delete(f"{organization}#quota", f"day#{int(MORNING // 86_400)}")
    pool, passed = [sandbox() for _ in range(6)], 0
    for turn in turns:
        passed += sum(calls(pool[turn], organization) for _ in range(step))
    assert passed <= maximum + 6 * (maximum // 1_000 + 1)


def test_nobody_is_refused_while_the_store_is_down(limit: Limit, caplog: pytest.LogCaptureFixture) -> None:
    limit(day_calls=20)
    one = sandbox()
    with failing(EndpointConnectionError(endpoint_url="https://dynamodb")), caplog.at_level(logging.WARNING):
        assert all(calls(one) for _ in range(30))
    assert {record.message for record in caplog.records} == {"spending not counted"}


def test_without_a_limit_nothing_is_written(aws: list[str]) -> None:
    one = sandbox()
    assert all(calls(one) for _ in range(1_000))
    assert aws == []


def test_a_limit_that_is_near_or_reached_is_logged_and_counted_once(
    limit: Limit,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "mcpist/stack")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mcpist")
    limit(day_calls=10, batch_steps=10)
    pool = [sandbox(), sandbox()]
    with invocation.begin("door", LineLogger(io.StringIO()), "r1"), caplog.at_level(logging.WARNING):
        for turn in range(14):
            calls(pool[turn % 2])
        reserve_steps("acme", 9, MORNING)
    seen = [(record.message, record.measure) for record in caplog.records]  # type: ignore[attr-defined]
    assert seen == [
        ("limit of the day near", "calls"),
        ("limit of the day reached", "calls"),
        ("limit of the day near", "steps"),
    ]
    counted = [metric for metric in emf.seen(capsys.readouterr().out) if metric.name == "DayLimitWarnings"]
    assert {(metric.dimensions, metric.value) for metric in counted} == {
        (frozenset({("service", "mcpist"), ("measure", "calls")}), 2.0),
        (frozenset({("service", "mcpist"), ("measure", "steps")}), 1.0),
    }


def test_what_is_spent_can_be_read_with_its_state(limit: Limit) -> None:
    limit(day_calls=10, batch_steps=10, day_megabytes=1)
    reserve_steps("acme", 8, MORNING)
    one = sandbox()
    for _ in range(11):
        calls(one)
    assert spent_today("acme", MORNING) == [
        Spent("calls", 10, 10),
        Spent("steps", 8, 10),
        Spent("bytes", 0, 1_000_000),
    ]
    assert [one.state for one in spent_today("acme", MORNING)] == ["reached", "near", "ok"]


# -- steps a day -----------------------------------------------------------------------------------------


def test_steps_are_counted_in_one_request_and_all_refused_together(limit: Limit, aws: list[str]) -> None:
    limit(batch_steps=10)
    reserve_steps("acme", 8, MORNING)
    assert aws == ["UpdateItem"]
    with pytest.raises(StepLimitReached) as refused:
        reserve_steps("acme", 3, MORNING)
    assert refused.value.details == {"steps": 3, "used": 8, "limit": 10, "retry_after": 16 * 3_600}
    reserve_steps("acme", 2, MORNING)
    assert counters() == {"steps": 10}


def test_more_steps_than_a_day_may_have_are_refused_without_a_retry_time(limit: Limit) -> None:
    limit(batch_steps=10)
    with pytest.raises(InvalidRequest, match="an organization may run 10 a day") as refused:
        reserve_steps("acme", 11, MORNING)
    assert "retry_after" not in refused.value.details
    assert ledger_table().query("acme#quota") == []


def test_released_steps_can_be_reserved_again(limit: Limit) -> None:
    limit(batch_steps=10)
    reserve_steps("acme", 8, MORNING)
    release_steps("acme", 8, MORNING)
    reserve_steps("acme", 10, MORNING)
    assert counters() == {"steps": 10}


def test_a_day_ends_at_midnight_utc(limit: Limit) -> None:
    limit(batch_steps=1)
    midnight = MORNING + 16 * 3_600
    reserve_steps("acme", 1, midnight - 0.001)
    with pytest.raises(StepLimitReached) as refused:
        reserve_steps("acme", 1, midnight - 0.001)
    assert refused.value.details["retry_after"] == 1
    reserve_steps("acme", 1, midnight)
    reserve_steps("other", 1, midnight)


def test_concurrent_batches_never_exceed_the_limit_of_the_day(limit: Limit) -> None:
    limit(batch_steps=50)

    def begins(_: int) -> bool:
        try:
            reserve_steps("acme", 7, MORNING)
        except StepLimitReached:
            return False
        return True

    with atomic(), ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(begins, range(16))) == 7


def test_steps_that_cannot_be_counted_are_refused(limit: Limit) -> None:
    limit(batch_steps=10)
    with failing(EndpointConnectionError(endpoint_url="https://dynamodb")), pytest.raises(StoreUnavailable):
        reserve_steps("acme", 1, MORNING)
