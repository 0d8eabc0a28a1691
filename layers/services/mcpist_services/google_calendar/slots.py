"""Times of a working day at which nobody is busy."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from mcpist.errors import InvalidRequest

STEP = timedelta(minutes=30)
HOURS = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"
_SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Span:
    """A part of time, in UTC."""

    start: datetime
    end: datetime

    @classmethod
    def parse(cls, start: str, end: str) -> "Span":
        """Return the span between two times with an offset."""
        return cls(datetime.fromisoformat(start).astimezone(UTC), datetime.fromisoformat(end).astimezone(UTC))


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """The hours of a day in which people meet."""

    start: time
    end: time
    zone: tzinfo
    weekends: bool

    @classmethod
    def parse(cls, text: str, zone: tzinfo, *, weekends: bool) -> "WorkingHours":
        """Return the hours that `09:00-18:00` says."""
        start, _, end = text.partition("-")
        if not re.fullmatch(HOURS, text) or start >= end:
            raise InvalidRequest(field="working_hours", problem="it ends after it starts, e.g. 09:00-18:00")
        return cls(time.fromisoformat(start), time.fromisoformat(end), zone, weekends)

    def days(self, span: Span) -> Iterator[Span]:
        """Yield the hours of each working day that the span touches."""
        day, last = (moment.astimezone(self.zone).date() for moment in (span.start, span.end))
        while day <= last:
            if self.weekends or day.weekday() < _SATURDAY:
                start, end = (datetime.combine(day, at, self.zone).astimezone(UTC) for at in (self.start, self.end))
                yield Span(start, end)
            day += timedelta(days=1)


def free_slots(span: Span, hours: WorkingHours, length: timedelta, busy: Iterable[Span]) -> Iterator[Span]:
    """Yield the slots of this length that begin on a half hour of the working day and overlap no busy time."""
    taken = sorted(busy, key=lambda each: each.start)
    for day in hours.days(span):
        start = _on_step(max(day.start, span.start), day.start)
        while (end := start + length) <= min(day.end, span.end):
            blocking = [each.end for each in taken if each.start < end and start < each.end]
            if not blocking:
                yield Span(start, end)
            start = _on_step(max(blocking, default=end), day.start)


def _on_step(moment: datetime, begin: datetime) -> datetime:
    """Return the first moment from this one on that is whole steps after `begin`."""
    return begin - (begin - moment) // STEP * STEP
