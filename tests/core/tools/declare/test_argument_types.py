"""Which moment a text means."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mcpist.tools.declare.argument_types import Day, Moment, UtcMoment, When, parse_moment, times_in_query
from tests.faults import for_each

NOW = datetime(2026, 1, 31, 23, 30, 15, 700, UTC)  # in Tokyo 2026-02-01 08:30:15, a Sunday


@for_each(
    ("text", "moment"),
    [
        ("now", "2026-01-31T23:30:15+00:00"),
        ("now Asia/Tokyo", "2026-02-01T08:30:15+09:00"),
        ("now+2h", "2026-02-01T01:30:15+00:00"),
        ("-30m", "2026-01-31T23:00:15+00:00"),
        ("+1d", "2026-02-01T23:30:15+00:00"),
        ("now/h", "2026-01-31T23:00:00+00:00"),
        ("now/d Asia/Tokyo", "2026-02-01T00:00:00+09:00"),
        ("now/d+1d+9h Asia/Tokyo", "2026-02-02T09:00:00+09:00"),
        ("now/w Asia/Tokyo", "2026-01-26T00:00:00+09:00"),
        ("now/w+1w Asia/Tokyo", "2026-02-02T00:00:00+09:00"),
        ("now/M+1M Europe/Zurich", "2026-03-01T00:00:00+01:00"),
        ("now/y America/New_York", "2026-01-01T00:00:00-05:00"),
        ("now+1M", "2026-02-28T23:30:15+00:00"),
        ("now-1y", "2025-01-31T23:30:15+00:00"),
        ("2026-01-31T09:00+09:00", "2026-01-31T09:00:00+09:00"),
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00+00:00"),
        ("2026-01-31T09:00:00.25Z", "2026-01-31T09:00:00.250000+00:00"),
        ("2026-01-31T09:00 Asia/Tokyo", "2026-01-31T09:00:00+09:00"),
        ("2026-07-01 Europe/Zurich", "2026-07-01T00:00:00+02:00"),
        ("2026-01-31T09:00+09:00+30m", "2026-01-31T09:30:00+09:00"),
        ("2026-01-31T09:00:00.000+0900-1d", "2026-01-30T09:00:00+09:00"),
        ("2026-01-31T09:00:00Z||+1h", "2026-01-31T10:00:00+00:00"),
        ("2026-01-31T09:00+30m Asia/Tokyo", "2026-01-31T09:30:00+09:00"),
        ("2026-01-31T20:00:00Z/d Asia/Tokyo", "2026-02-01T00:00:00+09:00"),
        ("2026-01-31+1M-1d Asia/Tokyo", "2026-02-27T00:00:00+09:00"),
    ],
)
def test_a_text_means_a_moment(text: str, moment: str) -> None:
    assert parse_moment(text, NOW).isoformat() == moment


def test_a_day_later_is_the_same_time_of_the_clock_and_an_hour_later_is_an_hour() -> None:
    evening = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)  # the clocks go forward in the night
    assert parse_moment("now+1d Europe/Zurich", evening).isoformat() == "2026-03-29T13:00:00+02:00"
    assert parse_moment("now+24h Europe/Zurich", evening).isoformat() == "2026-03-29T14:00:00+02:00"


@for_each(
    ("text", "problem"),
    [
        ("", "no time such as"),
        ("tomorrow", "no time such as"),
        ("last week", "no time such as"),
        ("now+1", "no time such as"),
        ("31.1.2026", "no time such as"),
        ("now/d", "name one, e.g. now/d Asia/Tokyo"),
        ("2026-01-31T09:00", "it needs an offset or a time zone"),
        ("2026-01-31", "it needs an offset or a time zone"),
        ("now Mars/Olympus", "Mars/Olympus is no time zone"),
        ("now ../../etc/passwd", "is no time zone"),
        ("2026-02-30 Asia/Tokyo", "day"),
        ("now+9999y", "year"),
        ("2026-01-31T09:00:00Z+30", "no time such as"),
        ("2026-01-31T09:00+30m", "it needs an offset or a time zone"),
    ],
)
def test_a_text_that_means_no_moment_says_why(text: str, problem: str) -> None:
    with pytest.raises((ValueError, OverflowError), match=problem):
        parse_moment(text, NOW)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Moment, "2026-01-31T09:00+09:00", "2026-01-31T09:00:00+09:00"),
        (UtcMoment, "2026-01-31T09:00+09:00", "2026-01-31T00:00:00Z"),
        (UtcMoment, "2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
        (Day, "2026-01-31", "2026-01-31"),
        (Day, "2026-01-31T23:00 Asia/Tokyo", "2026-01-31"),
        (Day, "2026-01-31+1d", "2026-02-01"),
        (Day, "2026-01-31T23:00:00+09:00+2h", "2026-02-01"),
        (When, "2026-01-31T09:00+90m", "2026-01-31T10:30:00"),
        (When, "2026-01-31+1d", "2026-02-01"),
        (When, "2026-01-31T00:00:00.0000000-1d", "2026-01-30T00:00:00"),
        (When, "2026-01-31T09:00:00+09:00+30m", "2026-01-31T09:30:00+09:00"),
    ],
)
def test_an_argument_reaches_the_tool_in_one_format(kind: Any, text: str, value: str) -> None:
    assert TypeAdapter(kind).validate_python(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Moment, "now+9999y", "year"),
        (Moment, "yesterday", "it is no time such as"),
        (Day, "now+1d", "a day depends on the time zone"),
        (Day, "2026-13-01", "month"),
    ],
)
def test_an_argument_that_is_no_time_is_refused_in_plain_words(kind: Any, text: str, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem) as refused:
        TypeAdapter(kind).validate_python(text)
    assert "Value error" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "pattern"),
    [
        ("is:open updated:<now-90d", r"is:open updated:<\d{4}-\d\d-\d\d"),
        ("created:>=now/M", r"created:>=\d{4}-\d\d-01"),
        ("created:now-2h..now-1h", r"created:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.\.\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
        ("do it now", "do it now"),
        ("unknown-90d now-90days", "unknown-90d now-90days"),
    ],
)
def test_a_query_may_hold_times(query: str, pattern: str) -> None:
    assert re.fullmatch(pattern, TypeAdapter(Annotated[str, times_in_query()]).validate_python(query))


def test_a_filter_may_hold_times() -> None:
    kind = Annotated[dict[str, Any], times_in_query(day="%d")]
    read = TypeAdapter(kind).validate_python({"and": [{"date": {"before": "now+1d"}}, {"number": {"equals": 3}}]})
    assert re.fullmatch(r"\d\d", read["and"][0]["date"]["before"])
    assert read["and"][1] == {"number": {"equals": 3}}
