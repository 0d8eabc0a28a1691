"""Times as arguments, as people say them: `now+2h`, or `now/d Asia/Tokyo`.

The language of times is the date math of Elasticsearch and Grafana, with a time zone after it: shifts `+1d` and `-2h`,
and `/d`, which rounds down. The units are y, M (months), w (weeks, from Monday), d, h, m (minutes) and s.

Reference: https://www.elastic.co/docs/reference/elasticsearch/rest-apis/common-options#date-math
"""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

_OPERATION = re.compile(r"([+-]\d{1,4}|/)([yMwdhms])")
_MATH = re.compile(rf"(?:now)?(?:{_OPERATION.pattern})*")
_ABSOLUTE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?")
_CALENDAR_UNITS = frozenset("yMwd")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the moment that a text means, with its offset or in its zone; ValueError says what is wrong."""
    time, _, zone_name = text.strip().partition(" ")
    if not time or not (_ABSOLUTE.fullmatch(time) or _MATH.fullmatch(time)):
        raise ValueError("it is no time such as 2026-01-31T09:00+09:00, now+2h or now/d Asia/Tokyo")
    zone = _zone(zone_name.strip()) if zone_name else None
    if _ABSOLUTE.fullmatch(time):
        moment = datetime.fromisoformat(time)
        if moment.tzinfo is None and zone is None:
            raise ValueError(f"it needs an offset or a time zone, e.g. {time} Asia/Tokyo")
        return moment if moment.tzinfo else moment.replace(tzinfo=zone)
    moment = now.astimezone(zone or UTC)
    for amount, unit in _OPERATION.findall(time):
        if amount == "/" and unit in _CALENDAR_UNITS and zone is None:
            raise ValueError(f"where a day begins depends on the time zone: name one, e.g. {time} Asia/Tokyo")
        moment = _rounded(moment, unit) if amount == "/" else _shifted(moment, int(amount), unit)
    return moment.replace(microsecond=0)


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
    if " " in text.strip() or not _LOCAL.fullmatch(text):
        return _with_offset(text)
    local = f"{_parsed(f'{text} UTC'):%Y-%m-%dT%H:%M:%S}"
    return local if "T" in text else local[:10]


def _date(text: str) -> str:
    """Return the date in the zone that the text names, which a date alone does not need."""
    is_absolute = _ABSOLUTE.fullmatch(text)
    if not is_absolute and " " not in text.strip():
        raise PydanticCustomError("day", "a day depends on the time zone: name one, e.g. now+1d Asia/Tokyo")
    return f"{_parsed(f'{text} UTC' if is_absolute else text):%Y-%m-%d}"


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
    "begin), now/M+1M Asia/Tokyo (the month's end); units y M w d h m s",
    "day": "2026-01-31, or with a zone: now+1d Asia/Tokyo (tomorrow), now/M+1M-1d Asia/Tokyo (the month's last day)",
}
"""What each format of a signature takes, for the model."""
