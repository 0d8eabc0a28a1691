"""Times as arguments, as people say them: `now+2h`, or `now/d Asia/Tokyo`.

The language of times is the date math of Elasticsearch and Grafana, with a time zone after it: shifts `+1d` and `-2h`,
and `/d`, which rounds down. The units are y, M (months), w (weeks, from Monday), d, h, m (minutes) and s. The math
begins at `now`, or at a time, such as the start of an event: `2026-01-31T09:00+09:00+30m`.

Reference: https://www.elastic.co/docs/reference/elasticsearch/rest-apis/common-options#date-math
"""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

_OPERATION = re.compile(r"([+-]\d{1,4}|/)([yMwdhms])")
_ABSOLUTE = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d(?!\d*[yMwdhms]))?)?"
_MATH = rf"(?:{_OPERATION.pattern})*"
_TIME = re.compile(rf"(?P<anchor>{_ABSOLUTE}|now|)(?:\|\|)?(?P<math>{_MATH})")
_LOCAL = re.compile(
    rf"(?P<anchor>\d{{4}}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?)?)(?:\|\|)?(?P<math>{_MATH})"
)
_IN_QUERY = re.compile(rf"(?<![\w-])now(?P<math>(?:{_OPERATION.pattern})+)(?!\w)")
_CALENDAR_UNITS = frozenset("yMwd")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the moment that a text means, with its offset or in its zone; ValueError says what is wrong."""
    time, _, zone_name = text.strip().partition(" ")
    parts = _TIME.fullmatch(time) if time else None
    if parts is None:
        raise ValueError("it is no time such as 2026-01-31T09:00+09:00, now+2h or now/d Asia/Tokyo")
    zone = _zone(zone_name.strip()) if zone_name else None
    is_absolute = parts["anchor"] not in {"now", ""}
    moment = datetime.fromisoformat(parts["anchor"]) if is_absolute else now.astimezone(zone or UTC)
    if moment.tzinfo is None and zone is None:
        raise ValueError(f"it needs an offset or a time zone, e.g. {time} Asia/Tokyo")
    if moment.tzinfo is None or (zone and parts["math"]):
        moment = moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)
    if zone is None and not is_absolute and any(f"/{unit}" in parts["math"] for unit in _CALENDAR_UNITS):
        raise ValueError(f"where a day begins depends on the time zone: name one, e.g. {time} Asia/Tokyo")
    moment = _calculated(moment, parts["math"])
    return moment if is_absolute else moment.replace(microsecond=0)


def _calculated(moment: datetime, math: str) -> datetime:
    """Return the moment after shifting and rounding it as the operations say."""
    for amount, unit in _OPERATION.findall(math):
        moment = _rounded(moment, unit) if amount == "/" else _shifted(moment, int(amount), unit)
    return moment


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise ValueError(f"{name} is no time zone such as Asia/Tokyo") from None


def _rounded(moment: datetime, unit: str) -> datetime:
    """Return the beginning of the unit that the moment is in."""
    if unit == "w":
        return _rounded(moment - timedelta(days=moment.weekday()), "d")
    smaller = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    kept = "yMdhms".index(unit)
    return moment.replace(**dict(list(smaller.items())[kept:]))  # type: ignore[arg-type]


def _shifted(moment: datetime, amount: int, unit: str) -> datetime:
    """Return the moment so much later; a day is one of the calendar, an hour one of the clock."""
    if unit in _SECONDS:
        return (moment.astimezone(UTC) + timedelta(seconds=amount * _SECONDS[unit])).astimezone(moment.tzinfo)
    if unit in "wd":
        return moment + timedelta(days=amount * (7 if unit == "w" else 1))
    year, month = divmod(moment.year * 12 + moment.month - 1 + amount * (12 if unit == "y" else 1), 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


def _parsed(text: str) -> datetime:
    try:
        return parse_moment(text, datetime.now(UTC))
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("moment", "{problem}", {"problem": str(error)}) from None


def _with_offset(text: str) -> str:
    return _parsed(text).isoformat()


def _as_written(text: str) -> str:
    """Return a date as it is, a time without an offset with its seconds, and any other moment with its offset."""
    local = _LOCAL.fullmatch(text)
    if local is None:
        return _with_offset(text)
    has_time = "T" in local["anchor"] or any(unit in local["math"] for unit in _SECONDS)
    moment = f"{_parsed(f'{text} UTC'):%Y-%m-%dT%H:%M:%S}"
    return moment if has_time else moment[:10]


def _date(text: str) -> str:
    """Return the date in the zone that the text names, which a date alone does not need."""
    is_local = _LOCAL.fullmatch(text)
    if not is_local and not text[:1].isdecimal() and " " not in text.strip():
        raise PydanticCustomError("day", "a day depends on the time zone: name one, e.g. now+1d Asia/Tokyo")
    return f"{_parsed(f'{text} UTC' if is_local else text):%Y-%m-%d}"


_Text = Annotated[str, Field(max_length=100)]

Moment = Annotated[_Text, AfterValidator(_with_offset), Field(json_schema_extra={"format": "moment"})]
"""A moment, given to the tool with its offset."""
UtcMoment = Annotated[
    _Text,
    AfterValidator(lambda text: f"{_parsed(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"),
    Field(json_schema_extra={"format": "moment"}),
]
"""A moment, given to the tool in UTC with Z."""
When = Annotated[_Text, AfterValidator(_as_written), Field(json_schema_extra={"format": "moment"})]
"""A date, a time in a zone that another argument names, or a moment."""
Day = Annotated[_Text, AfterValidator(_date), Field(json_schema_extra={"format": "day"})]
"""A day, given to the tool as a date."""

LEGENDS = {
    "moment": "2026-01-31T09:00+09:00, now+2h, or with a zone: 2026-01-31T09:00 Asia/Tokyo, now/d Asia/Tokyo (today's "
    "begin), now/M+1M Asia/Tokyo (the month's end); units y M w d h m s; also from a time: ${e.start}+30m",
    "day": "2026-01-31, or with a zone: now+1d Asia/Tokyo (tomorrow), now/M+1M-1d Asia/Tokyo (the month's last day)",
}
"""What each format of a signature takes, for the model."""


def times_in_query(moment: str = "%Y-%m-%dT%H:%M:%SZ", day: str = "%Y-%m-%d") -> AfterValidator:
    """Replace `now-90d` inside a query, or in any text of a filter, by the time that it is, in UTC.

    A time is written in the format `moment`, and as a `day` where its math has no hours, minutes or seconds.
    """

    def written(match: re.Match[str]) -> str:
        is_day = not any(unit in match["math"] for unit in _SECONDS)
        return f"{_calculated(datetime.now(UTC), match['math']):{day if is_day else moment}}"

    def replaced(value: Any) -> Any:
        match value:
            case str():
                return _IN_QUERY.sub(written, value)
            case dict():
                return {name: replaced(inner) for name, inner in value.items()}
            case list():
                return [replaced(inner) for inner in value]
            case _:
                return value

    return AfterValidator(replaced)
