"""Google Calendar's answers, and a correction of its description."""

from typing import Any

from tests.services.answers.amendments import confine_field

ANSWERS: dict[str, Any] = {
    "calendar.events.get": {
        "kind": "calendar#event",
        "etag": '"3547620000000000"',
        "id": "7k3f9q0m2a",
        "status": "confirmed",
        "htmlLink": "https://www.google.com/calendar/event?eid=N2szZjlxMG0yYQ",
        "summary": "Budget",
        "description": "Agenda: <b>numbers</b>",
        "location": "Room 4",
        "creator": {"email": "ada@example.com", "self": True},
        "organizer": {"email": "ada@example.com", "self": True},
        "start": {"dateTime": "2026-01-30T09:00:00+09:00", "timeZone": "Asia/Tokyo"},
        "end": {"dateTime": "2026-01-30T10:00:00+09:00", "timeZone": "Asia/Tokyo"},
        "attendees": [
            {"email": "ada@example.com", "organizer": True, "self": True, "responseStatus": "accepted"},
            {"email": "bob@example.com", "responseStatus": "declined"},
        ],
        "reminders": {"useDefault": False, "overrides": [{"method": "popup", "minutes": 10}]},
    },
    "calendar.freebusy.query": {
        "kind": "calendar#freeBusy",
        "timeMin": "2026-01-31T00:00:00.000Z",
        "timeMax": "2026-01-31T09:00:00.000Z",
        "calendars": {
            "primary": {"busy": [{"start": "2026-01-31T01:00:00Z", "end": "2026-01-31T02:00:00Z"}]},
            "bob@example.com": {"errors": [{"domain": "global", "reason": "notFound"}], "busy": []},
            "eve@example.com": {"busy": []},
        },
    },
    "calendar.settings.get": {
        "kind": "calendar#setting",
        "etag": '"1"',
        "id": "timezone",
        "value": "Asia/Tokyo",
    },
}


def amend(document: dict[str, Any]) -> None:
    """State the values that the description gives in its text alone."""
    confine_field(document, "Event", "visibility", ("default", "public", "private", "confidential"))
    confine_field(document, "Event", "transparency", ("opaque", "transparent"))
    answers = ("needsAction", "declined", "tentative", "accepted")
    confine_field(document, "EventAttendee", "responseStatus", answers)
    declines = ("declineNone", "declineAllConflictingInvitations", "declineOnlyNewConflictingInvitations")
    confine_field(document, "EventOutOfOfficeProperties", "autoDeclineMode", declines)
    confine_field(
        document, "EventWorkingLocationProperties", "type", ("homeOffice", "officeLocation", "customLocation")
    )
