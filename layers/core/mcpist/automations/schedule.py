"""Schedules in the five fields of crontab: minute, hour, day of the month, month and day of the week (0 is Sunday)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mcpist.errors import InvalidRequest

_BOUNDS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
MAX_DAYS = 4 * 366 + 1
"""The longest time between two moments of a schedule: that of 29 February, but for a century."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The moments at which something happens, in a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either_day: bool
    """Whether one of day and weekday is enough, as in crontab where both are restricted."""
    zone: ZoneInfo

    def next_after(self, moment: int) -> int:
        """Return the first moment after another, in epoch seconds; InvalidRequest if there is none."""
        first = datetime.fromtimestamp(moment, UTC).astimezone(self.zone).date()
        for number in range(MAX_DAYS):
            if self._includes(day := first + timedelta(days=number)):
                found = next((at for at in self._moments(day) if at > moment), None)
                if found is not None:
                    return found
        raise InvalidRequest(field="schedule", problem="it never comes")

    def _includes(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_number, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_number or by_weekday) if self.either_day else (by_number and by_weekday)

    def _moments(self, day: date) -> Iterator[int]:
        """Yield the moments of a day in their order; a time that the change to summer time skips is left out."""
        for hour, minute in product(sorted(self.hours), sorted(self.minutes)):
            local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
            at = local.timestamp()
            back = datetime.fromtimestamp(at, self.zone)
            if (back.hour, back.minute) == (hour, minute):
                yield int(at)


def parse_schedule(text: str, time_zone: str = "UTC") -> Schedule:
    """Return the schedule of a text; InvalidRequest says which of its fields is wrong."""
    try:
        zone = ZoneInfo(time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InvalidRequest(field="time_zone", problem=f"there is no time zone {time_zone}") from None
    fields = text.split()
    if len(fields) != len(_BOUNDS):
        problem = "it has five fields: minute hour day month weekday, e.g. 0 9 * * 1-5"
        raise InvalidRequest(field="schedule", problem=problem)
    named = dict(zip(_BOUNDS, fields, strict=True))
    minutes, hours, days, months, weekdays = (_values(name, field) for name, field in named.items())
    either = not (named["day"].startswith("*") or named["weekday"].startswith("*"))
    weekdays = frozenset(day % 7 for day in weekdays)
    return Schedule(minutes, hours, days, months, weekdays, either, zone)


def _values(name: str, field: str) -> frozenset[int]:
    """Return the numbers that a field such as `*/15` or `1-5,0` means."""
    low, high = _BOUNDS[name]
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        begin, end = (
            (str(low), str(high)) if span == "*" else (first, last if dash else (str(high) if slash else first))
        )
        numbers = (begin, end, step if slash else "1")
        if not all(number.isascii() and number.isdigit() and len(number) <= 2 for number in numbers):
            raise _refused(name, part)
        begin_at, end_at, width = map(int, numbers)
        if not (low <= begin_at <= end_at <= high and width):
            raise _refused(name, part)
        found.update(range(begin_at, end_at + 1, width))
    return frozenset(found)


def _refused(name: str, part: str) -> InvalidRequest:
    low, high = _BOUNDS[name]
    return InvalidRequest(
        field="schedule",
        problem=f"{part!r} is no {name}: write *, a number from {low} to {high}, "
        "a range such as 1-5, a list such as 1,15, or a step such as */15",
    )
