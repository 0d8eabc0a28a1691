import pytest

from mcpist.running.refusals import rate_limit_reset, retry_after
from mcpist.running.send import MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS, Cooldowns
from tests.faults import for_each

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


@for_each(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("2.5", 2.5),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 15 Jan 2027 08:01:00 -0000", 60),
        ("2027-01-15T08:02Z", 120),
        ("2027-01-15T17:00:30+09:00", 30),
        ("1800000090", 90),
        ("1700000000", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e3", None),
        ("9" * 5000, None),
        ("Fri, 99 Jan 2027 08:01:00 GMT", None),
    ],
)
def test_a_wait_is_read_from_seconds_and_from_dates(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000100"}, 100),
        ({"x-ratelimit-remaining": "7", "x-ratelimit-reset": "1800000100"}, None),
        ({"x-ratelimit-reset": "2027-01-15T08:01Z"}, 60),
        ({"ratelimit-reset": "30", "x-ratelimit-reset": "2027-01-15T09:00Z"}, 30),
        ({}, None),
    ],
)
def test_a_reset_counts_where_nothing_remains(headers: dict[str, str], seconds: float | None) -> None:
    assert rate_limit_reset(headers, NOW) == seconds


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def test_a_cooldown_ends_at_its_moment_and_holds_for_its_key_alone() -> None:
    clock = Clock()
    cooldowns = Cooldowns(MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS, clock)
    cooldowns.start(("acme", "shop"), 60)
    clock.now += 59
    assert cooldowns.remaining(("acme", "shop"), ("acme", "shop", "/x")) == pytest.approx(1)
    assert cooldowns.remaining(("acme", "other")) == 0
    clock.now += 1
    assert cooldowns.remaining(("acme", "shop")) == 0


def test_a_cooldown_lasts_an_hour_at_most_whatever_a_service_or_a_clock_says() -> None:
    clock = Clock()
    cooldowns = Cooldowns(MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS, clock)
    cooldowns.start(("acme",), 10**6)
    assert cooldowns.remaining(("acme",)) == MAX_COOLDOWN_SECONDS
    clock.now += MAX_COOLDOWN_SECONDS
    assert cooldowns.remaining(("acme",)) == 0
    cooldowns.start(("acme",), 60)
    clock.now -= 10**6
    assert cooldowns.remaining(("acme",)) == 0


def test_the_oldest_cooldown_makes_room_for_the_newest() -> None:
    cooldowns = Cooldowns(MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS, Clock())
    for number in range(MAX_COOLDOWNS + 1):
        cooldowns.start((str(number),), 60)
    assert cooldowns.remaining(("0",)) == 0
    assert cooldowns.remaining(("1",)) == cooldowns.remaining((str(MAX_COOLDOWNS),)) == 60
