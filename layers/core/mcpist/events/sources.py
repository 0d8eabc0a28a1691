"""Sources: what brings events in for one person, as items of the events' table.

Under `pk` ORGANIZATION#sources:
    TOKEN                  a source; its id is ORGANIZATION.TOKEN, the last part of the address that a vendor calls
A source is due while there is something to do for it: to subscribe, to renew, to poll, to end.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist.aws.attributes import decode, encode
from mcpist.aws.table import events_table, holds
from mcpist.caller import Subject
from mcpist.errors import TooManyInterests
from mcpist.events import interests
from mcpist.events.event_type import EventType
from mcpist.events.interests import Interest
from mcpist.events.store import due

MAX_SOURCES = 50
"""Of one person."""

# No `type`: the form of tools would name it.
SourceState = Literal["starting", "active", "ending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSource:
    """A webhook or a poll of one person. Moments are in epoch seconds."""

    organization: str
    token: str
    user: str
    """The person with whose account it acts, and whose interests alone hear of its events."""
    subject: Subject
    roles: tuple[str, ...]
    """The roles that count, in their order."""
    module: str
    channel: str
    """With the module: which types it brings in."""
    location: dict[str, Any]
    """Where it listens."""
    permit: str = field(repr=False)
    """The standing permission, sealed by the broker."""
    secret: str = field(default="", repr=False)
    """The secret of its webhook, sealed by the broker."""
    subscription: str = ""
    """The vendor's id of the webhook."""
    cursor: str = ""
    state: SourceState = "starting"
    problem: str = ""
    """The last failure; empty after a success."""
    failures: int = 0
    """In a row."""
    pinned: bool = False
    """Whether it stays although nobody has an interest."""
    begun_at: int
    checked_at: int = 0
    """When it was last asked or called."""

    @property
    def id(self) -> str:
        """Its id, from which the organization can be read."""
        return f"{self.organization}.{self.token}"

    def brings(self, event_type: EventType, location: Mapping[str, Any]) -> bool:
        """Whether it brings in a type's events of a place."""
        mine = self.module, self.channel, self.location
        return mine == (event_type.module, event_type.channel, dict(location))


def token_of(user: str, event_type: EventType, location: Mapping[str, Any]) -> str:
    """Return the token of the one source that a person can have for a place."""
    identity = [user, event_type.module, event_type.channel, dict(sorted(location.items()))]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def put(source: EventSource) -> None:
    """Store a source that is due now, in the place of one that it had before; TooManyInterests for one more."""
    known = {one.token for one in of_user(source.organization, source.user)}
    if source.token not in known and len(known) >= MAX_SOURCES:
        raise TooManyInterests(limit=MAX_SOURCES)
    item = {"pk": _partition(source.organization), "sk": source.token, **encode(source), **due(source.begun_at)}
    events_table().put(item)


def find(id_: str) -> EventSource | None:
    """Return a source by its id; None if there is none."""
    organization, _, token = id_.rpartition(".")
    item = events_table().get(_partition(organization), token) if organization and token else None
    return decode(EventSource, item) if item else None


def of_user(organization: str, user: str) -> list[EventSource]:
    """Return the sources of a person."""
    found = (decode(EventSource, item) for item in events_table().query(_partition(organization)))
    return [source for source in found if source.user == user]


def change(source: EventSource, *, remove: tuple[str, ...] = (), **fields: Any) -> bool:
    """Change fields of a source; False if it is ending or gone."""
    place, ending = (_partition(source.organization), source.token), {":ending": "ending"}
    condition = "attribute_exists(pk) AND #state <> :ending"
    return holds(events_table().set, *place, fields, remove=remove, condition=condition, values=ending)


def done(source: EventSource, due_at: float | None, **fields: Any) -> bool:
    """Change fields of a source, and when there is something to do for it again; None for never."""
    if due_at is None:
        return change(source, remove=("due_key", "due_at"), **fields)
    return change(source, **fields | due(due_at))


def end(source: EventSource, now: float) -> None:
    """Let a source end: it brings nothing in any more, and its webhook is removed at the vendor."""
    done(source, now, state="ending")


def end_unneeded(source: EventSource, types: Iterable[EventType], now: float) -> bool:
    """Let a source of these types end that is neither pinned nor of use to its person; return whether it does."""
    by_name = {one.full_name: one for one in types}
    if source.pinned or any(_uses(one, source, by_name) for one in interests.of_user(source.organization, source.user)):
        return False
    end(source, now)
    return True


def delete(source: EventSource) -> None:
    """Forget a source that has ended."""
    ending = {":ending": "ending"}
    events_table().delete(_partition(source.organization), source.token, condition="#state = :ending", values=ending)


def _uses(interest: Interest, source: EventSource, event_types: Mapping[str, EventType]) -> bool:
    event_type = event_types.get(interest.type)
    return event_type is not None and source.brings(event_type, event_type.location(interest.arguments))


def _partition(organization: str) -> str:
    return f"{organization}#sources"
