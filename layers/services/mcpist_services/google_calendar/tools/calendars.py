"""Calendars and the time of the account."""

from datetime import UTC, datetime, tzinfo
from email.utils import parsedate_to_datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given, path
from mcpist_services.google_calendar.module import CalendarId, google_calendar

CALENDAR = ("id", "summary", "timeZone as timezone", "accessRole as access", "primary")
CALENDAR_DETAILS = shows(
    *CALENDAR, "description", "location", "summaryOverride as own_name", "defaultReminders[*].minutes as reminders"
)

AccessRole = Annotated[
    Literal["freeBusyReader", "reader", "writerWithoutPrivateAccess", "writer", "owner"],
    "The least access that you have to them",
]

ZONE_SETTING = Call("GET", "/users/me/settings/timezone")


@google_calendar.lists(shows(*CALENDAR, rows="items"), "calendar.calendarList.list")
def list_calendars(
    min_access_role: AccessRole | None = None, show_hidden: Annotated[bool, "Include hidden calendars"] = False
) -> Call:
    """List your calendars: your own, and those that others share with you."""
    return Call("GET", "/users/me/calendarList", given(minAccessRole=min_access_role, showHidden=show_hidden))


@google_calendar.reads(CALENDAR_DETAILS, "calendar.calendarList.get")
def get_calendar(calendar_id: CalendarId = "primary") -> Call:
    """Read one calendar of your list: its name, time zone, and what you may do there."""
    return Call("GET", path("/users/me/calendarList/{calendar_id}", calendar_id=calendar_id))


@google_calendar.reads(shows("time", "weekday", "timezone"), "calendar.settings.get")
def get_current_time() -> Calls:
    """Read the current date and time in your calendar's time zone."""
    answer = yield ZONE_SETTING
    name = answer.json["value"]
    sent = answer.headers.get("date")  # the service's time, or ours if it sends none
    now = (parsedate_to_datetime(sent) if sent else datetime.now(UTC)).astimezone(zone_of(name))
    return {"time": now.isoformat(timespec="seconds"), "weekday": f"{now:%A}", "timezone": name}


def zone_of(name: str) -> tzinfo:
    """Return a time zone; UTC where this machine does not know it, as the time's offset then shows."""
    try:
        return ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError):
        return UTC
