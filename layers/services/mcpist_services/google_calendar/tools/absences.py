"""Where you work, and when you do not."""

from datetime import date, timedelta
from typing import Annotated, Any, Literal

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import Day, Moment
from mcpist.tools.declare.call import Call, given
from mcpist.tools.declare.undo import undone_by, unless
from mcpist_services.google_calendar.fields import event_times
from mcpist_services.google_calendar.module import google_calendar

EVENTS = "/calendars/primary/events"  # Google has these events in the primary calendar alone
WRITTEN = shows("id", "eventType as type", "status", "htmlLink as url")
DECLINES = {
    "none": "declineNone",
    "new": "declineOnlyNewConflictingInvitations",
    "all": "declineAllConflictingInvitations",
}
PLACES = {"home": "homeOffice", "office": "officeLocation", "elsewhere": "customLocation"}
PLACED: dict[str, Any] = {"place": "office", "label": "Osaka"}

REMOVED = undone_by("delete_event(event_id=answer.id)", read="get_event", creates=True, fields="summary start end")

Declined = Annotated[
    Literal["none", "new", "all"], "Which meetings are declined: new invitations, or those accepted too"
]


@google_calendar.writes(
    WRITTEN,
    "calendar.events.insert",
    undo=unless(
        lambda change: change.arguments["declines"] == "all", "meetings that it declined stay declined", REMOVED
    ),
)
def create_out_of_office(
    start: Annotated[Moment, "A day with its zone is its midnight, e.g. 2026-01-30 Asia/Tokyo"],
    end: Annotated[Moment, "As start; for whole days, the day after the last, e.g. 2026-02-02 Asia/Tokyo"],
    summary: Annotated[str, "What others see, e.g. On holiday"] = "Out of office",
    declines: Declined = "new",
    message: Annotated[str | None, "With each declined meeting, e.g. Back on Monday."] = None,
) -> Call:
    """Mark yourself out of office, and decline meetings in that time. Needs a work or school account."""
    rules = given(autoDeclineMode=DECLINES[declines], declineMessage=message)
    event = {"eventType": "outOfOffice", "summary": summary, "transparency": "opaque", "outOfOfficeProperties": rules}
    return Call("POST", EVENTS, json=event | event_times(start, end, None))


@google_calendar.writes(WRITTEN, "calendar.events.insert", uses=({}, PLACED), undo=REMOVED)
def create_working_location(
    day: Annotated[Day, "e.g. 2026-01-30"],
    place: Literal["home", "office", "elsewhere"] = "home",
    label: Annotated[str | None, "The place's name, e.g. Osaka"] = None,
) -> Call:
    """Show where you work on a day: at home, in an office or elsewhere. Needs a work or school account."""
    kind, after = PLACES[place], date.fromisoformat(day) + timedelta(days=1)
    where = {"type": kind, kind: given(label=label) if place != "home" else {}}
    event = {"eventType": "workingLocation", "visibility": "public", "transparency": "transparent"}
    return Call(
        "POST", EVENTS, json=event | event_times(day, after.isoformat(), None) | {"workingLocationProperties": where}
    )
