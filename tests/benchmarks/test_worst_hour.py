"""The bound of what a hostile user costs: computed from the limits, and no smaller than any part of it."""

import pytest

from benchmarks import worst_hour
from benchmarks.month import read
from benchmarks.prices import dollars
from benchmarks.worst_hour import CALL, STEP, lines, measured, worst_dollars

HOURS_OF_A_DAY = 24


def limit(name: str) -> int:
    return int(read({}).intrinsics.parameters[name])


def test_the_measured_amounts_are_those_of_the_page() -> None:
    assert measured(CALL)["http_api_request"] == 1
    assert measured(CALL)["lambda_restored_gb"] == 2
    assert measured(STEP)["dynamodb_write"] > measured(STEP)["states_request"] > 0


def test_calls_are_bounded_by_the_minute_and_by_the_day() -> None:
    hour, day = ({one.what: one for one in lines(hours=hours, users=1)} for hours in (1, HOURS_OF_A_DAY))
    name = "calls, each cold and of another account"
    assert hour[name].arithmetic == f"{60 * limit('UserRequests'):,}"
    assert day[name].arithmetic == f"{limit('DayCalls'):,}"
    assert limit("DayCalls") < HOURS_OF_A_DAY * 60 * limit("UserRequests")


def test_the_bound_is_no_smaller_than_its_parts_and_grows_with_the_users() -> None:
    one, many = lines(hours=1, users=1), lines(hours=1, users=5)
    assert worst_dollars(one) == pytest.approx(sum(sum(dollars(part.usage).values()) for part in one))
    assert worst_dollars(one) < worst_dollars(many) <= worst_dollars(lines(hours=HOURS_OF_A_DAY))
    assert worst_dollars(lines(hours=1, users=6)) == worst_dollars(lines(hours=1, users=50))


def test_a_days_bytes_cost_what_the_limit_says() -> None:
    sent = next(part for part in lines(hours=1, users=1) if part.what == "bytes sent")
    assert sent.usage == {"out_byte": limit("DayMegabytes") * worst_hour.BYTES_PER_MEGABYTE}
