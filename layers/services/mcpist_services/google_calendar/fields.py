"""Fields of an event in Google Calendar's format."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field

from mcpist.tools.call import Call, Calls, given

Reminders = Annotated[
    list[Annotated[int, Field(ge=0, le=40_320)]],
    Field(max_length=5),
    "Pop-ups, in minutes before the start; [] for none, e.g. [10, 60]",
]
SendUpdates = Annotated[Literal["all", "externalOnly", "none"], "Which guests get an e-mail; none if left out"]


class EventOptions(TypedDict, total=False):
    """The parameters that a new and a changed event share."""

    reminders: Reminders | None
    conference: Annotated[bool, Field(default=False), "With a Google Meet link"]
    visibility: Literal["default", "public", "private", "confidential"] | None
    transparency: Annotated[Literal["opaque", "transparent"], "opaque: you are busy; transparent: you are free"] | None
    color_id: Annotated[str, "The id that list_colors shows, e.g. 7"] | None
    send_updates: SendUpdates | None


def write_query(options: EventOptions) -> dict[str, Any]:
    """Return the query of a write; without the version Google ignores that a conference is requested."""
    version = 1 if options.get("conference") else None
    return given(conferenceDataVersion=version, sendUpdates=options.get("send_updates"))


def event_times(start: str | None, end: str | None, timezone: str | None) -> dict[str, Any]:
    """Return start and end as Google writes them; None for what is left out."""
    return {"start": start and _when(start, timezone), "end": end and _when(end, timezone)}


def _when(text: str, timezone: str | None) -> dict[str, str | None]:
    return given(dateTime=text, timeZone=timezone) if "T" in text else {"date": text}


def shared_fields(attendees: list[str] | None, options: EventOptions) -> dict[str, Any]:
    """Return the fields that a new and a changed event share, as Google writes them; None for what is left out."""
    return {
        "reminders": _popups(options.get("reminders")),
        "attendees": None if attendees is None else [{"email": email} for email in attendees],
        "visibility": options.get("visibility"),
        "transparency": options.get("transparency"),
        "colorId": options.get("color_id"),
    }


def has_offset(time: str) -> bool:
    """Whether a time has an offset from UTC."""
    return datetime.fromisoformat(time).tzinfo is not None


def _popups(minutes: list[int] | None) -> dict[str, Any] | None:
    if minutes is None:
        return None
    return {"useDefault": False, "overrides": [{"method": "popup", "minutes": each} for each in minutes]}


def conference_request(options: EventOptions, seed: str) -> dict[str, Any]:
    """Request a Meet link; its id follows from `seed`, since a tool is a pure function."""
    if not options.get("conference"):
        return {"conferenceData": None}
    request = {"requestId": str(uuid5(NAMESPACE_URL, seed)), "conferenceSolutionKey": {"type": "hangoutsMeet"}}
    return {"conferenceData": {"createRequest": request}}


def merge_into_current(call: Call) -> Calls:
    """Send a PATCH whose new times and guests fit the event as it is.

    Google merges a new time into the old one, and refuses the result if it has both a date and a time; and it resets
    the answer of a guest who is sent without one.
    """
    current = (yield Call("GET", call.path)).json
    fields = dict(call.json)
    for side in {"start", "end"} & fields.keys():
        other = "date" if "dateTime" in fields[side] else "dateTime"
        fields[side] = fields[side] | dict.fromkeys({other} & current.get(side, {}).keys())
    if "attendees" in fields:
        known = {guest.get("email", "").lower(): guest for guest in current.get("attendees", [])}
        fields["attendees"] = [known.get(guest["email"].lower(), guest) for guest in fields["attendees"]]
    return (yield replace(call, json=fields)).json
