"""When people are busy, and when all of them are free."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import Moment
from mcpist.tools.declare.call import Call, Calls, given
from mcpist_services.google_calendar.fields import Attendees, Begin, Timezone
from mcpist_services.google_calendar.module import google_calendar
from mcpist_services.google_calendar.tools.calendars import ZONE_SETTING, zone_of

MAX_GUESTS = 49  # Google answers for 50 calendars, one of which is the caller's

# People propose times at full and half hours.
STEP = timedelta(minutes=30)
HOURS = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"
_SATURDAY = 5
BusyCalendars = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    Field(min_length=1, max_length=50),
    "Ids of calendars, or people's e-mail addresses; your own if left out, e.g. primary, ada@example.com",
]
WEEK: dict[str, Any] = {"time_min": "2026-01-26T00:00:00+09:00", "time_max": "2026-01-31T00:00:00+09:00"}


@google_calendar.reads(shows("calendar", "start", "end", "error"), "calendar.freebusy.query")
def free_busy(
    time_min: Begin,
    time_max: Annotated[Moment, "e.g. 2026-01-31T18:00:00+09:00"],
    calendar_ids: BusyCalendars | None = None,
    timezone: Annotated[Timezone | None, "For the times in the answer; UTC if left out, e.g. Asia/Tokyo"] = None,
) -> Calls:
    """Find out when people are busy: a row for each busy time. A calendar without a row is free."""
    answer = yield _question(calendar_ids or ["primary"], time_min, time_max, timezone)
    return [row for calendar, times in answer.json["calendars"].items() for row in _busy(calendar, times)]


@google_calendar.reads(
    shows("start", "end", "weekday", "not_visible"), "calendar.freebusy.query", uses=(WEEK, WEEK | {"timezone": "UTC"})
)
def propose_times(
    attendees: Annotated[Attendees, Field(max_length=MAX_GUESTS), "Whom you meet, e.g. ada@example.com"],
    duration_minutes: Annotated[int, Field(ge=5, le=1440), "How long, e.g. 60"] = 30,
    time_min: Annotated[Begin, "Not before this, e.g. 2026-01-26T00:00:00+09:00"] = "now",
    time_max: Annotated[Moment, "Not after this, e.g. 2026-01-31T00:00:00+09:00"] = "now+7d",
    timezone: Annotated[Timezone | None, "Of the working hours; your calendar's if left out, e.g. Asia/Tokyo"] = None,
    working_hours: Annotated[str, Field(pattern=f"^{HOURS}$"), "From-to, e.g. 09:00-18:00"] = "09:00-18:00",
    weekends: Annotated[bool, "Saturdays and Sundays too"] = False,
    limit: Annotated[int, Field(ge=1, le=500)] = 5,
) -> Calls:
    """Propose times for a meeting: the first in the working hours at which you and all guests are free.

    Create it with create_event. Calendars that you may not see count as free, and are named in not_visible.
    """
    name = timezone or (yield ZONE_SETTING).json["value"]
    zone = zone_of(name)
    hours = WorkingHours.parse(working_hours, zone, weekends=weekends)
    calendars = (yield _question(["primary", *attendees], time_min, time_max, name)).json["calendars"]
    hidden = [calendar for calendar, times in calendars.items() if times.get("errors")]
    busy = [Span.parse(each["start"], each["end"]) for times in calendars.values() for each in times.get("busy", [])]
    found = free_slots(Span.parse(time_min, time_max), hours, timedelta(minutes=duration_minutes), busy)
    slots = [(slot.start.astimezone(zone), slot.end.astimezone(zone)) for slot in islice(found, limit)]
    return [
        {"start": start.isoformat(), "end": end.isoformat(), "weekday": f"{start:%A}", "not_visible": hidden}
        for start, end in slots
    ]


def _question(calendars: list[str], time_min: str, time_max: str, timezone: str | None) -> Call:
    items = [{"id": calendar} for calendar in calendars]
    return Call("POST", "/freeBusy", json=given(timeMin=time_min, timeMax=time_max, timeZone=timezone, items=items))


def _busy(calendar: str, times: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for span in times.get("busy", []):
        yield {"calendar": calendar, "start": span["start"], "end": span["end"], "error": None}
    for error in times.get("errors", []):
        yield {"calendar": calendar, "start": None, "end": None, "error": error["reason"]}


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
