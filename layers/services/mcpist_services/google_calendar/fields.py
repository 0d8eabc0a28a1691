"""Fields of an event in Google Calendar's format."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field

from mcpist.errors import InvalidRequest, ToolExecutionError
from mcpist.tools.declare.argument_types import Moment
from mcpist.tools.declare.call import Call, Calls, given

MAX_MERGES = 3

Reminders = Annotated[
    list[Annotated[int, Field(ge=0, le=40_320)]],
    Field(max_length=5),
    "Pop-ups, in minutes before the start; [] for none, e.g. [10, 60]",
]
SendUpdates = Literal["all", "externalOnly", "none"]
EventType = Literal["default", "outOfOffice", "focusTime", "workingLocation", "fromGmail", "birthday"]
Response = Literal["accepted", "declined", "tentative", "needsAction"]
Begin = Annotated[Moment, "e.g. 2026-01-31T09:00:00+09:00"]
Timezone = Annotated[str, Field(pattern=r"^[\w+-]+(/[\w+-]+)*$")]
Attendees = Annotated[
    list[Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")]], "Guests' e-mail addresses, e.g. ada@example.com"
]


class EventOptions(TypedDict, total=False):
    """The parameters that a new and a changed event share."""

    reminders: Reminders | None
    conference: Annotated[bool, Field(default=False), "With a Google Meet link"]
    visibility: Literal["default", "public", "private", "confidential"] | None
    transparency: Annotated[Literal["opaque", "transparent"], "opaque: you are busy; transparent: you are free"] | None
    color_id: (
        Annotated[
            str,
            "1 lavender, 2 sage, 3 grape, 4 flamingo, 5 banana, 6 tangerine, 7 peacock, 8 graphite, 9 blueberry, "
            "10 basil, 11 tomato, e.g. 7",
        ]
        | None
    )
    send_updates: (
        Annotated[SendUpdates, "Which guests get an e-mail; all if you give times or guests, else none"] | None
    )


def write_query(event: Mapping[str, Any], options: EventOptions) -> dict[str, Any]:
    """Return the query of a write; without the version Google ignores that a conference is requested."""
    updates = options.get("send_updates") or ("all" if event.keys() & {"attendees", "start", "end"} else None)
    return given(conferenceDataVersion=1 if options.get("conference") else None, sendUpdates=updates)


def event_times(start: str | None, end: str | None, timezone: str | None) -> dict[str, Any]:
    """Return start and end as Google writes them; None for what is left out."""
    return {"start": start and _when(start, timezone), "end": end and _when(end, timezone)}


def _when(text: str, timezone: str | None) -> dict[str, str | None]:
    return given(dateTime=text, timeZone=timezone) if "T" in text else {"date": text}


def shared_fields(attendees: list[str] | None, options: EventOptions) -> dict[str, Any]:
    """Return the fields that a new and a changed event share, as Google writes them; None for what is left out."""
    minutes = options.get("reminders")
    popups = [{"method": "popup", "minutes": each} for each in minutes or ()]
    return {
        "reminders": None if minutes is None else {"useDefault": False, "overrides": popups},
        "attendees": None if attendees is None else [{"email": email} for email in attendees],
        "visibility": options.get("visibility"),
        "transparency": options.get("transparency"),
        "colorId": options.get("color_id"),
    }


def answer_of_guest(event: Mapping[str, Any], response: Response, comment: str | None) -> dict[str, Any]:
    """Return the guest whose calendar the event was read from, with a new answer."""
    guest = own_guest(event)
    if not guest:
        raise InvalidRequest(field="event_id", problem="this calendar's owner is no guest of the event")
    return guest | given(responseStatus=response, comment=comment)


def own_guest(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guest whose calendar the event was read from; empty if it is none."""
    return next((guest for guest in event.get("attendees", []) if guest.get("self")), {})


def own_answer(event: Mapping[str, Any], _: Any = None) -> dict[str, Any]:
    """Return the answer of the guest whose calendar the event was read from as its `row`."""
    return {"row": {"response": own_guest(event).get("responseStatus")}}


def has_offset(time: str) -> bool:
    """Whether a time has an offset from UTC."""
    return datetime.fromisoformat(time).tzinfo is not None


def conference_request(seed: str) -> dict[str, Any]:
    """Request a Meet link; its id follows from `seed`, since a tool is a pure function."""
    request = {"requestId": str(uuid5(NAMESPACE_URL, seed)), "conferenceSolutionKey": {"type": "hangoutsMeet"}}
    return {"conferenceData": {"createRequest": request}}


def merge_into_current(call: Call, options: EventOptions) -> Calls:
    """Send a PATCH that fits the event as it is, and once more where somebody has changed the event in between."""
    for attempt in range(MAX_MERGES):
        current = (yield Call("GET", call.path)).json
        body = _merged(call, current, options)
        try:
            return (yield replace(call, json=body, headers=given(**{"if-match": current.get("etag")}))).json
        except ToolExecutionError as error:
            if error.details.get("http_status") != 412 or attempt == MAX_MERGES - 1:
                raise
    raise AssertionError


def _moved_end(start: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    """Return the end of an event that begins at another time and stays as long as it is."""
    [(kind, text)] = [(name, start[name]) for name in ("dateTime", "date") if name in start]
    begin, end = (current.get(side, {}).get(kind) for side in ("start", "end"))
    if not begin or not end:
        problem = "a day becomes a time, or a time a day: give the end as well"
        raise InvalidRequest(field="end", problem=problem)
    length = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
    moved = (datetime.fromisoformat(text) + length).isoformat()
    return {**start, kind: moved if kind == "dateTime" else moved[:10]}


def _merged(call: Call, current: dict[str, Any], options: EventOptions) -> dict[str, Any]:
    """Return the fields of a PATCH.

    Google merges a new time into the old one, and refuses the result if it has both a date and a time; it resets the
    answer of a guest who is sent without one; and it ignores a request for a link that has the id of an earlier one.
    """
    fields = dict(call.json)
    if "start" in fields and "end" not in fields:
        fields["end"] = _moved_end(fields["start"], current)
    if options.get("conference") and not current.get("hangoutLink"):
        fields |= conference_request(f"{call.path} {current.get('etag')}")
    for side in {"start", "end"} & fields.keys():
        other = "date" if "dateTime" in fields[side] else "dateTime"
        fields[side] = fields[side] | dict.fromkeys({other} & current.get(side, {}).keys())
    if "attendees" in fields:
        known = {guest.get("email", "").lower(): guest for guest in current.get("attendees", [])}
        fields["attendees"] = [known.get(guest["email"].lower(), guest) for guest in fields["attendees"]]
    return fields
