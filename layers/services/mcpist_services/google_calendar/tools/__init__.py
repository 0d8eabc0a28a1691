"""The tools of Google Calendar in the order in which they are listed, then its resources and prompts."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist_services.google_calendar.module import google_calendar

from mcpist_services.google_calendar.tools import calendars, events, free_time, absences  # isort: skip


@google_calendar.resource("google-calendar://{calendar_id}/{day}", events.list_events)
def day(calendar_id: str, day: str) -> Mapping[str, Any]:
    """The events of a day: 2026-01-31 in UTC, or 2026-01-31+09:00 with an offset."""
    offset = day[10:] or "Z"
    try:
        after = date.fromisoformat(day[:10]) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise InvalidRequest(field="day", problem="it is no date such as 2026-01-31 or 2026-01-31+09:00") from None
    return {
        "calendar_id": calendar_id,
        "time_min": f"{day[:10]}T00:00:00{offset}",
        "time_max": f"{after}T00:00:00{offset}",
    }


google_calendar.addresses(
    "google-calendar://{calendar_id}/events/{event_id}",
    events.get_event,
    "event",
    "An event with its guests and its description.",
)


@google_calendar.prompt(calendars.get_current_time, calendars.list_calendars, events.list_events)
def plan_week(
    goals: Annotated[str | None, "What you want to find time for, e.g. two hours of writing a day"] = None,
) -> str:
    """Look at the coming week and plan it."""
    request = f" I want to find time for: {goals}." if goals else ""
    return (
        f"Plan my coming week with Google Calendar.{request} First ask for the time and its zone "
        "(google_calendar.get_current_time) and for my calendars (google_calendar.list_calendars) in one batch, then "
        "in another for the next seven days of those that matter (google_calendar.list_events with time_min and "
        "time_max). Show the week day by day, name overlaps, days without a break and meetings without a purpose, and "
        "propose blocks for what I want to do. Create, move or delete nothing before I agree."
    )


@google_calendar.prompt(free_time.propose_times)
def find_meeting_time(
    people: Annotated[str, "Their e-mail addresses, e.g. ada@example.com, bob@example.com"],
    minutes: Annotated[int, Field(ge=5, le=1_440), "How long"] = 30,
    days: Annotated[int, Field(ge=1, le=31), "How many days from now to look at"] = 7,
) -> None:
    """Find a time when everybody can meet."""


google_calendar.completes("calendar_id", calendars.list_calendars, "id")
