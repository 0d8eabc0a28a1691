"""Google Calendar: a deleted event is cancelled, and an event moves between calendars."""

from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

OWN = {"email": "uma@example.com", "self": True, "responseStatus": "needsAction"}
EVENT: dict[str, Any] = {
    "kind": "calendar#event",
    "id": "7k3f9q0m2a",
    "status": "confirmed",
    "summary": "Lunch",
    "description": "At noon",
    "start": {"dateTime": "2026-01-30T12:00:00+09:00", "timeZone": "Asia/Tokyo"},
    "end": {"dateTime": "2026-01-30T13:00:00+09:00", "timeZone": "Asia/Tokyo"},
    "attendees": [{"email": "ada@example.com", "responseStatus": "needsAction"}, OWN],
    "reminders": {"useDefault": False, "overrides": [{"method": "popup", "minutes": 10}]},
    "colorId": "3",
    "organizer": {"email": "primary"},
}


def _delete(world: World, _: DescribedCall, place: str) -> Any:
    world.change(place, {"status": "cancelled"})


def _move(world: World, call: DescribedCall, place: str) -> Any:
    event, there = world.item(place.removesuffix("/move")), call.query["destination"][0]
    del world.items[place.removesuffix("/move")]
    moved = f"/calendars/{there}/events/{call.params['eventId']}"
    world.items[moved] = {**event, "organizer": {"email": there}}
    return world.items[moved]


def _quick(world: World, call: DescribedCall, place: str) -> Any:
    return world.create(place.removesuffix("/quickAdd"), {"summary": call.query["text"][0]})


def _patch(world: World, call: DescribedCall, place: str) -> Any:
    """Merge an object into the present one, where null clears; with `attendeesOmitted` one guest into the others."""
    event, fields = world.item(place), dict(call.json)
    for side in {"start", "end"} & fields.keys():
        merged = {**event[side], **fields[side]}
        fields[side] = {name: value for name, value in merged.items() if value is not None}
    if fields.pop("attendeesOmitted", False):
        (own,) = fields["attendees"]
        fields["attendees"] = [own if guest["email"] == own["email"] else guest for guest in event["attendees"]]
    if "attendees" in fields:  # a guest who was taken off, and is invited again, has not answered
        known = {guest["email"]: guest for guest in EVENT["attendees"]}
        fields["attendees"] = [known.get(guest["email"], {}) | guest for guest in fields["attendees"]]
    return world.change(place, fields)


class GoogleCalendar(Rules):
    """Its rules."""

    volatile = frozenset({"id", "comment"})
    defaults = {"visibility": "default", "transparency": "opaque"}
    fresh = {"events": {"status": "confirmed"}}
    examples = {"calendar.events.get": EVENT}
    answers = {
        "calendar.events.delete": _delete,
        "calendar.events.move": _move,
        "calendar.events.quickAdd": _quick,
        "calendar.events.patch": _patch,
    }
