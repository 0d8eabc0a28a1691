"""Google Calendar's events, polled: a channel of push notifications says only that something changed.

Reference: https://developers.google.com/workspace/calendar/api/v3/reference/events/list
"""

from typing import Any

from mcpist.events.event_type import Argument, Arguments, Occurrence, Polled, event_type
from mcpist.events.polled_rows import changed_rows
from mcpist.moments import utc_text
from mcpist.tools.declare.call import Call, path

MAX_EVENTS = 250


def _call(arguments: Arguments, cursor: str, now: int) -> Call:
    query = {
        "updatedMin": utc_text(int(cursor or now)),
        "orderBy": "updated",
        "showDeleted": True,
        "maxResults": MAX_EVENTS,
    }
    return Call("GET", path("/calendars/{calendar_id}/events", calendar_id=arguments["calendar_id"]), query)


def _read(answer: Any, cursor: str, now: int) -> tuple[list[Occurrence], str]:
    return changed_rows(answer.get("items", []), cursor, now, moment="updated")


TYPES = (
    event_type(
        "google_calendar",
        "events",
        "An event of a calendar was created, changed or cancelled.",
        tool="list_events",
        arguments={
            "calendar_id": Argument("", "An id that list_calendars shows; primary is your own", locates=True),
            "status": Argument("status", "Only confirmed, tentative or cancelled ones"),
        },
        payload=(
            "id status summary description location htmlLink created updated start:object end:object organizer.email "
            "creator.email attendees:list=attendees[*].email recurringEventId"
        ),
        source=Polled(_call, _read),
    ),
)
