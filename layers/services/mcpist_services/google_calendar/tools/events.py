"""Events and their guests."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Unpack

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import Moment, When
from mcpist.tools.declare.call import Call, Calls, Work, changes, given, path_template
from mcpist.tools.declare.undo import ToolChange, restores, undone_by, unless
from mcpist_services.google_calendar.fields import (
    Attendees,
    EventOptions,
    EventType,
    Response,
    SendUpdates,
    Timezone,
    answer_of_guest,
    conference_request,
    event_times,
    has_offset,
    merge_into_current,
    own_answer,
    own_guest,
    shared_fields,
    write_query,
)
from mcpist_services.google_calendar.module import PAGES, READING_EVENTS, CalendarId, EventId, google_calendar

_events_path = path_template("/calendars/{calendar_id}/events")
_event_path = path_template("/calendars/{calendar_id}/events/{event_id}")


# An event has a time, or is all day and has dates.
EVENT = ("id", "summary", "start.dateTime|start.date as start", "end.dateTime|end.date as end", "status")
EVENTS = shows(
    *EVENT,
    "location",
    "attendees[*].email as attendees",
    "row.response as response",
    "hangoutLink as meet",
    "created",
    "htmlLink as url",
    rows="items",
)
LISTED = replace(PAGES, extra_columns=own_answer)
EVENT_DETAILS = shows(
    *EVENT,
    "start.timeZone as timezone",
    "eventType as type",
    "location",
    "organizer.email as organizer",
    "attendees[*].email as attendees",
    "attendees[*].responseStatus as responses",
    "recurrence",
    "recurringEventId as series",
    "reminders.overrides[*].minutes as reminders",
    "transparency",
    "visibility",
    "colorId as color_id",
    "hangoutLink as meet",
    "htmlLink as url",
    "description",
    text="description",
)
WRITTEN = shows("id", "status", "hangoutLink as meet", "htmlLink as url")
NEW_EVENTS: tuple[dict[str, Any], ...] = (
    {},
    {"start": "2026-01-31", "end": "2026-02-01"},
    {"attendees": ["ada@example.com"], "conference": True, "send_updates": "all"},
)
LISTED_EVENTS = ({"time_min": "2026-01-31T00:00:00+09:00"},)
CHANGED_EVENTS: tuple[dict[str, Any], ...] = ({"summary": "Lunch with Ada"}, {"conference": True}, {"restore": True})

Start = Annotated[When, "A date for all day; else a moment, or a time in timezone, e.g. 2026-01-31T09:00:00+09:00"]
End = Annotated[When, "As start; for all day, the day after the last, e.g. 2026-01-31T10:00:00+09:00"]
NewStart = Annotated[Start, "As in create_event; without an end the length stays, e.g. 2026-01-31T09:00:00+09:00"]
FirstMoment = Annotated[Moment, "Events that end after this, e.g. 2026-01-31T00:00:00+09:00"]
Order = Annotated[Literal["startTime", "updated"], "By start if left out; series cannot be sorted by it"]
EventTimezone = Annotated[Timezone, "Needed if start and end have no offset, or the event repeats, e.g. Asia/Tokyo"]
NewTimezone = Annotated[Timezone, "Of a new start or end; the event's own if left out, e.g. Asia/Tokyo"]
AnswerTimezone = Annotated[Timezone, "For the times in the answer; the calendar's own if left out, e.g. Asia/Tokyo"]
NewAttendees = Annotated[Attendees, "All guests; those already invited keep their answer, e.g. ada@example.com"]
Recurrence = Annotated[
    list[Annotated[str, Field(pattern=r"^(RRULE|EXRULE|RDATE|EXDATE)[:;].+$")]],
    'RFC 5545 lines without DTSTART, e.g. ["RRULE:FREQ=WEEKLY;BYDAY=MO"]',
]
NewRecurrence = Annotated[Recurrence, 'As in create_event; [] to stop repeating, e.g. ["RRULE:FREQ=DAILY"]']
Text = Annotated[str, "May hold HTML, e.g. Agenda: ..."]
Title = Annotated[str, "In one line, e.g. Lunch with Ada"]
Place = Annotated[str, "An address or a room, e.g. Room 4"]
Notified = Annotated[SendUpdates, "Which guests get an e-mail"]


@google_calendar.lists(EVENTS, "calendar.events.list", paging=LISTED, scopes=READING_EVENTS, uses=LISTED_EVENTS)
def list_events(
    calendar_id: CalendarId = "primary",
    time_min: FirstMoment = "now",
    time_max: Annotated[Moment | None, "Events that start before this, e.g. 2026-02-01T00:00:00+09:00"] = None,
    q: Annotated[str | None, "Words in title, description, place or guests, e.g. budget"] = None,
    single_events: Annotated[bool, "Each occurrence of a repeating event, not the series"] = True,
    order_by: Order | None = None,
    timezone: AnswerTimezone | None = None,
    event_types: Annotated[list[EventType] | None, "All if left out, e.g. outOfOffice"] = None,
) -> Call:
    """List or search the events of a calendar, the earliest first: what is to come, or all after time_min."""
    if order_by == "startTime" and not single_events:
        raise InvalidRequest(field="order_by", problem="only single_events can be sorted by start")
    order = order_by or ("startTime" if single_events else None)
    query = given(timeMin=time_min, timeMax=time_max, q=q, singleEvents=single_events, orderBy=order, timeZone=timezone)
    return Call("GET", _events_path(calendar_id), query | given(eventTypes=event_types))


@google_calendar.reads(EVENT_DETAILS, "calendar.events.get", scopes=READING_EVENTS)
def get_event(event_id: EventId, calendar_id: CalendarId = "primary", timezone: AnswerTimezone | None = None) -> Call:
    """Read one event: time, place, guests and description."""
    return Call("GET", _event_path(calendar_id, event_id), given(timeZone=timezone))


@google_calendar.lists(EVENTS, "calendar.events.instances", paging=LISTED, scopes=READING_EVENTS)
def list_instances(
    event_id: Annotated[EventId, "The repeating event's id, which get_event shows as series, e.g. 7k3f9q0m2a"],
    calendar_id: CalendarId = "primary",
    time_min: Annotated[Moment | None, "Those that end after this, e.g. 2026-01-31T00:00:00+09:00"] = None,
    time_max: Annotated[Moment | None, "Those that start before this, e.g. 2026-12-31T00:00:00+09:00"] = None,
    timezone: AnswerTimezone | None = None,
) -> Call:
    """List the occurrences of a repeating event; each has its own id."""
    query = given(timeMin=time_min, timeMax=time_max, timeZone=timezone)
    return Call("GET", _event_path(calendar_id, event_id, "/instances"), query)


def _time(event: Any, side: str) -> Any:
    return event[side].get("dateTime") or event[side].get("date")


def _reminders(event: Any) -> list[int] | None:
    """Return the minutes of an event's own pop-ups; None for the calendar's reminders, which no argument restores."""
    own = event.get("reminders") or {}
    popups = [each["minutes"] for each in own.get("overrides") or [] if each["method"] == "popup"]
    return None if own.get("useDefault", True) or len(popups) < len(own.get("overrides") or []) else popups


def _adds_meet(change: ToolChange) -> bool:
    return bool(change.arguments.get("conference") and change.before and not change.before.get("hangoutLink"))


FIELDS: dict[str, Any] = {
    "summary": lambda event: event.get("summary") or "",
    "start": lambda event: _time(event, "start"),
    "end": lambda event: _time(event, "end"),
    "description": lambda event: event.get("description") or "",
    "location": lambda event: event.get("location") or "",
    "attendees": lambda event: [guest["email"] for guest in event.get("attendees") or []],
    "recurrence": lambda event: event.get("recurrence") or [],
}


def _told(change: ToolChange) -> list[str]:
    """Return the guests whom Google tells of a change, those before and after it, as the query of the write says."""
    asked = change.arguments.get("send_updates")
    if asked == "none" or not (asked or change.given("attendees", "start", "end")):
        return []
    guests = [guest["email"] for guest in (change.before or {}).get("attendees") or ()]
    return [*dict.fromkeys((*guests, *(change.arguments.get("attendees") or ())))]


TOLD = {"guests": _told}
REMOVED = undone_by(
    "delete_event(calendar_id, send_updates, event_id=answer.id)",
    read="get_event(timezone=null)",
    creates=True,
    fields=FIELDS,
)
RESTORED = restores(
    "get_event(timezone=null)",
    timezone=lambda event: event["start"].get("timeZone") or "UTC",
    reminders=_reminders,
    visibility=lambda event: event.get("visibility") or "default",
    transparency=lambda event: event.get("transparency") or "opaque",
    color_id="colorId",
    **FIELDS,
)


@google_calendar.writes(WRITTEN, "calendar.events.insert", uses=NEW_EVENTS, undo=REMOVED, tells=TOLD)
def create_event(
    summary: Title,
    start: Start,
    end: End,
    calendar_id: CalendarId = "primary",
    timezone: EventTimezone | None = None,
    description: Text | None = None,
    location: Place | None = None,
    attendees: Attendees | None = None,
    recurrence: Recurrence | None = None,
    **options: Unpack[EventOptions],
) -> Call:
    """Create an event in a calendar, and invite people to it."""
    if timezone is None and "T" in start and (recurrence or not (has_offset(start) and has_offset(end))):
        raise InvalidRequest(field="timezone", problem="a time without an offset, or that repeats, needs a time zone")
    fields = {"summary": summary, **event_times(start, end, timezone), "description": description, "location": location}
    event = given(**fields, recurrence=recurrence, **shared_fields(attendees, options))
    conference = conference_request(f"{calendar_id} {event}") if options.get("conference") else {}
    return Call("POST", _events_path(calendar_id), write_query(event, options), json=event | conference)


@google_calendar.writes(shows(*EVENT, "htmlLink as url"), "calendar.events.quickAdd", undo=REMOVED)
def quick_add(
    text: Annotated[str, Field(min_length=1), "What, when and where, e.g. Lunch with Ada on Friday at noon"],
    calendar_id: CalendarId = "primary",
    send_updates: Notified = "all",
) -> Call:
    """Create an event in a calendar from a sentence; the answer shows how Google understood it."""
    return Call("POST", _events_path(calendar_id, "/quickAdd"), {"text": text, "sendUpdates": send_updates})


@google_calendar.writes(
    WRITTEN,
    "calendar.events.patch",
    idempotent=True,
    uses=CHANGED_EVENTS,
    undo=unless(_adds_meet, "a Meet link cannot be taken away", RESTORED),
    tells=TOLD,
)
def update_event(
    event_id: EventId,
    calendar_id: CalendarId = "primary",
    summary: Title | None = None,
    start: NewStart | None = None,
    end: Annotated[End | None, "As in create_event, e.g. 2026-01-31T10:00:00+09:00"] = None,
    timezone: NewTimezone | None = None,
    description: Annotated[Text | None, "Replaces the text; may hold HTML, e.g. Agenda: ..."] = None,
    location: Place | None = None,
    attendees: NewAttendees | None = None,
    recurrence: NewRecurrence | None = None,
    restore: Annotated[bool, "Restore it after it was deleted"] = False,
    **options: Unpack[EventOptions],
) -> Work:
    """Change an event, or with a series' id all its occurrences. Fields that you leave out stay as they are."""
    if timezone and not (start or end):
        raise InvalidRequest(field="timezone", problem="it is the zone of a new start or end: give one of them as well")
    fields = {"summary": summary, **event_times(start, end, timezone), "description": description, "location": location}
    conference = options.get("conference") or None
    fields |= {"recurrence": recurrence, "status": "confirmed" if restore else None}
    event = changes(**fields, **shared_fields(attendees, options), conference=conference)
    event.pop("conference", None)
    call = Call("PATCH", _event_path(calendar_id, event_id), write_query(event, options), json=event)
    return merge_into_current(call, options) if conference or event.keys() & {"start", "end", "attendees"} else call


@google_calendar.writes(
    shows("id", "summary", "response", "htmlLink as url"),
    "calendar.events.patch",
    idempotent=True,
    undo=restores(
        "get_event",
        echoes=False,
        response=lambda event: own_guest(event).get("responseStatus"),
        comment=lambda event: own_guest(event).get("comment") or "",
    ),
    tells={"organizer": lambda change: _told(change) and change.value("before.organizer.email")},
)
def answer_invitation(
    event_id: EventId,
    response: Response,
    comment: Annotated[str | None, "For the organizer, e.g. I come ten minutes later."] = None,
    calendar_id: CalendarId = "primary",
    send_updates: Annotated[SendUpdates, "Who gets an e-mail about it"] = "all",
) -> Calls:
    """Accept or decline an invitation, or answer it with maybe; with a series' id all its occurrences."""
    place = _event_path(calendar_id, event_id)
    guest = answer_of_guest((yield Call("GET", place, {"maxAttendees": 1})).json, response, comment)
    # With attendeesOmitted Google changes the answer of this guest alone.
    body = {"attendeesOmitted": True, "attendees": [guest]}
    answered = (yield Call("PATCH", place, {"sendUpdates": send_updates}, json=body)).json
    return answered | {"response": response}


@google_calendar.writes(
    WRITTEN,
    "calendar.events.move",
    undo=undone_by(
        "move_event(event_id, send_updates, calendar_id=arguments.destination, destination=before.organizer.email)",
        read="get_event",
        reads={"calendar_id": lambda change: change.arguments["destination" if change.answer else "calendar_id"]},
        fields={"destination": "organizer.email"},
    ),
    tells=TOLD,
)
def move_event(
    event_id: EventId,
    destination: Annotated[CalendarId, "The target calendar, e.g. team@group.calendar.google.com"],
    calendar_id: CalendarId = "primary",
    send_updates: Notified = "all",
) -> Call:
    """Move an event to another calendar, which becomes its organizer. For another time use update_event."""
    query = {"destination": destination, "sendUpdates": send_updates}
    return Call("POST", _event_path(calendar_id, event_id, "/move"), query)


@google_calendar.destroys(
    DONE,
    "calendar.events.delete",
    idempotent=True,
    undo=undone_by("update_event(event_id, calendar_id, send_updates, restore=true)", read="get_event"),
    tells=TOLD,
)
def delete_event(event_id: EventId, calendar_id: CalendarId = "primary", send_updates: Notified = "all") -> Call:
    """Delete an event, or with a series' id all its occurrences."""
    return Call("DELETE", _event_path(calendar_id, event_id), {"sendUpdates": send_updates})
