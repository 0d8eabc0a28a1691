"""Google Calendar: calendars, events and their guests, free time.

Reference: https://developers.google.com/workspace/calendar/api/v3/reference
"""

from base64 import urlsafe_b64decode
from typing import Annotated

from pydantic import Field

from mcpist.tools.declare.call import Call, ServiceResponse, given
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import Paging, Position
from mcpist.tools.declare.pasted import AddressParts, address_reader, from_url

CALENDARS = "https://www.googleapis.com/auth/calendar"
_LIMITS = {"dailyLimitExceeded", "quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded"}
_SCOPES = {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions"}
READING_EVENTS = (f"{CALENDARS}.events.readonly",)


def _next_page(call: Call, answer: ServiceResponse, _: int) -> Position:
    """Return the token of the next page, and the first moment: Google wants it unchanged, and `now` changes."""
    token = answer.json.get("nextPageToken")
    return given(pageToken=token, timeMin=call.query.get("timeMin")) if token else {}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal in a response: a 403 means a limit or a missing scope by its reason.

    https://developers.google.com/workspace/calendar/api/guides/errors
    """
    reasons = _reasons(response)
    if response.status == 403 and reasons & _LIMITS:
        return RateLimited()
    return MissingScope() if response.status in {401, 403, 404} and reasons & _SCOPES else None


def _reasons(response: ServiceResponse) -> set[str]:
    """Return Google's names for what went wrong: `error.errors[].reason` and `error.details[].reason`."""
    error = response.json.get("error") if isinstance(response.json, dict) else None
    if not isinstance(error, dict):
        return set()
    lists = [error[name] for name in ("errors", "details") if isinstance(error.get(name), list)]
    return {str(item.get("reason")) for items in lists for item in items if isinstance(item, dict)}


PAGES = Paging(size="maxResults", max_size=250, position_parameters=("pageToken", "timeMin"), next_page=_next_page)

google_calendar = Module(
    "google_calendar",
    __doc__,
    api_version="v3",
    host="https://www.googleapis.com/calendar/v3",
    labels={"*": ("internal",)},
    paging=PAGES,
    refusals=Refusals(_read_refusal, code_fields=("reason",)),
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
    category="productivity",
    tags=("calendar", "meetings", "scheduling"),
)

_PAGES = address_reader(
    r"https://(?:www|calendar)\.google\.com/calendar/(?:[^#]*[?&]eid=|[^?#]*/(?:eventedit|event)/)(?P<eid>[\w-]+)",
    r"https://calendar\.google\.com/calendar/(?:[^#]*[?&]cid=|[^?#]*/settings/calendar/)(?P<cid>[\w-]+)",
    r"https://calendar\.google\.com/calendar/[^#]*[?&]src=(?P<calendar_id>[^&#]+)",
)
# An event's address abbreviates what most calendars end in.
_ENDINGS = {"m": "gmail.com", "g": "group.calendar.google.com", "v": "group.v.calendar.google.com"}


def _read_address(address: str) -> AddressParts:
    """Read the address of an event, which is Base64 of its id and its calendar's, or of a calendar."""
    parts = dict(_PAGES(address))
    if cid := parts.pop("cid", ""):
        parts["calendar_id"] = _decoded(cid)
    if eid := parts.pop("eid", ""):
        parts["event_id"], _, calendar = _decoded(eid).partition(" ")
        name, _, ending = calendar.rpartition("@")
        parts |= {"calendar_id": f"{name}@{_ENDINGS.get(ending, ending)}"} if name else {}
    return parts


def _decoded(text: str) -> str:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode(errors="replace")


CalendarId = Annotated[
    str,
    Field(min_length=1),
    from_url(_read_address, "calendar_id"),
    "An id that list_calendars shows; primary is your own",
]
EventId = Annotated[
    str,
    Field(min_length=1),
    from_url(_read_address, "event_id", fills=("calendar_id",)),
    "The id that list_events shows, e.g. 7k3f9q0m2a",
]
