"""Google Calendar: calendars, events and their guests, free time.

Reference: https://developers.google.com/workspace/calendar/api/v3/reference
"""

from typing import Annotated

from pydantic import Field

from mcpist.tools.declare.call import Call, ServiceResponse, given
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import Paging, Position
from mcpist_services.google_calendar.refusals import REFUSALS
from mcpist_services.google_calendar.synonyms import SYNONYMS

CALENDARS = "https://www.googleapis.com/auth/calendar"
READING_EVENTS = (f"{CALENDARS}.events.readonly",)


def _next_page(call: Call, answer: ServiceResponse, _: int) -> Position:
    """Return the token of the next page, and the first moment: Google wants it unchanged, and `now` changes."""
    token = answer.json.get("nextPageToken")
    return given(pageToken=token, timeMin=call.query.get("timeMin")) if token else {}


google_calendar = Module(
    "google_calendar",
    __doc__,
    api_version="v3",
    host="https://www.googleapis.com/calendar/v3",
    paging=Paging(
        size="maxResults",
        max_size=250,
        position_parameters=("pageToken", "timeMin"),
        next_page=_next_page,
    ),
    refusals=REFUSALS,
    scopes=Scopes(
        reads=(f"{CALENDARS}.readonly",),
        writes=(f"{CALENDARS}.events",),
        destroys=(f"{CALENDARS}.events",),
        implied_by={
            f"{CALENDARS}.readonly": (CALENDARS,),
            f"{CALENDARS}.events": (CALENDARS,),
            READING_EVENTS[0]: (CALENDARS, f"{CALENDARS}.readonly", f"{CALENDARS}.events"),
        },
    ),
    synonyms=SYNONYMS,
    category="productivity",
    tags=("calendar", "meetings", "scheduling"),
)

CalendarId = Annotated[str, Field(min_length=1), "An id that list_calendars shows; primary is your own"]
