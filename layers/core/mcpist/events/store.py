"""Stored events: each once, for a week.

Under `pk` ORGANIZATION#events#USER#TYPE:
    CURSOR                 an event; cursors grow with the time of storing
and under ORGANIZATION#deliveries:
    ID                     where the event with this id is
An event is `due` until it is in the queue: the schedule sends what a killed function has left.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from mcpist.aws.attributes import INLINE, decode, encode, json_bytes
from mcpist.aws.table import IS_NEW, events_table, holds
from mcpist.errors import PayloadTooLarge
from mcpist.events.event import Event

KEPT_SECONDS = 7 * 86_400
UNSENT_SECONDS = 60
"""After storing: when an event that is not in the queue yet is sent again."""
UNSETTLED_SECONDS = 10
"""For so long after its moment an event may still be stored before a later one."""
MAX_EVENT_BYTES = 250_000
MAX_READ = 100
DUE = "due"
"""The partition of the index `by_due`, of what the schedule has to do."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event in its place."""

    event: Annotated[Event, INLINE]
    cursor: str
    """Its place among the events of its person and type."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events of one person and type, the oldest first."""

    events: tuple[StoredEvent, ...]
    cursor: str
    """After which to read the next page: it may return the newest of these again, which receivers know by their ids."""
    has_more: bool


def put(event: Event, now: float) -> StoredEvent | None:
    """Store an event that is due to be sent; None if it was stored before."""
    size = len(json_bytes(event.data))
    if size > MAX_EVENT_BYTES:
        raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_EVENT_BYTES)
    stored = StoredEvent(event, f"{int(now * 1000):013d}-{event.id}")
    pk, expires_at = _partition(event.organization, event.user, event.type), int(now) + KEPT_SECONDS
    item = {"pk": pk, "sk": stored.cursor, **encode(stored), **due(now + UNSENT_SECONDS), "expires_at": expires_at}
    marker = {"pk": f"{event.organization}#deliveries", "sk": event.id, "at": f"{pk}/{stored.cursor}"}
    is_new = events_table().transact(
        [item], [], guard={**marker, "expires_at": expires_at}, condition=IS_NEW, values={}
    )
    return stored if is_new else None


def sent(stored: StoredEvent) -> None:
    """Note that an event is in the queue."""
    event = stored.event
    not_due(_partition(event.organization, event.user, event.type), stored.cursor)


def not_due(pk: str, sk: str) -> None:
    """Note that the schedule has nothing to do for an item any more."""
    events_table().update(pk, sk, "REMOVE #due_key, #due_at", values={})


def get(organization: str, id_: str) -> StoredEvent | None:
    """Return the event with an id; None for one that is not kept."""
    marker = events_table().get(f"{organization}#deliveries", id_)
    if marker is None:
        return None
    pk, _, cursor = marker["at"].rpartition("/")
    item = events_table().get(pk, cursor)
    return decode(StoredEvent, item) if item else None


def read(
    organization: str,
    user: str,
    type_: str,
    *,
    now: float,
    after: str = "",
    limit: int = MAX_READ,
    newest: bool = False,
) -> EventPage:
    """Return the events of a person and type after a cursor, the oldest first, or the `newest` first."""
    between = (f"{after}!" if after else "0", "~")
    items, end = events_table().query_page(
        "pk", _partition(organization, user, type_), between, limit=limit, descending=newest, consistent=True
    )
    events = tuple(map(partial(decode, StoredEvent), items))
    last = max((one.cursor for one in events), default=after)
    return EventPage(events, max(after, min(last, present_cursor(now))), has_more=bool(end))


def present_cursor(now: float) -> str:
    """Return the cursor after which all events from now on come."""
    return f"{int((now - UNSETTLED_SECONDS) * 1000):013d}"


def due(at: float) -> dict[str, Any]:
    """Return the attributes of what the schedule has to do at a moment."""
    return {"due_key": DUE, "due_at": f"{int(at):010d}"}


def postpone(item: dict[str, Any], until: float) -> bool:
    """Move something due to a later moment; False if another run has done so first."""
    place, values = (item["pk"], item["sk"]), {":old": item["due_at"]}
    return holds(events_table().set, *place, due(until), condition="#due_at = :old", values=values)


def find_due(now: float, limit: int) -> list[dict[str, Any]]:
    """Return items that are due, those that have waited longest first."""
    between = ("0" * 10, f"{int(now):010d}")
    return events_table().query_page("due_key", DUE, between, index="by_due", sort="due_at", limit=limit)[0]


def _partition(organization: str, user: str, type_: str) -> str:
    return f"{organization}#events#{user}#{type_}"
