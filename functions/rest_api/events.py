"""The routes of events: their types, those that have happened, and what brings them in."""

from datetime import UTC, datetime
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.events import sources, store
from mcpist.events.event_type import EventType, Webhook
from mcpist.events.sources import EventSource
from mcpist.events.store import MAX_READ, StoredEvent
from mcpist.memory import wall_clock
from mcpist.settings import settings
from mcpist_services import events as subscriptions
from rest_api.exchange import current
from rest_api.router import Body, Operations, RequestBody, body_of

router = Operations("events")


class EventTypeRow(Body):
    """A kind of event that the caller may subscribe to."""

    name: str
    description: str
    delivery: Annotated[str, Field(description="webhook, polled, or own for what happens here")]
    by_hand: Annotated[bool, Field(description="Whether a person enters the source's address at the vendor's page")]
    arguments: Annotated[dict[str, Any], Field(description="The JSON Schema of what narrows the events")]
    payload: Annotated[dict[str, Any], Field(description="The JSON Schema of an event's data")]


class EventTypeList(Body):
    """Event types."""

    types: list[EventTypeRow]


class EventRow(Body):
    """An event."""

    id: str
    type: str
    occurred_at: str
    data: dict[str, Any]
    actor: Annotated[str | None, Field(description="The id at the vendor of the account that caused it")]
    source: str
    depth: Annotated[int, Field(description="How many automations led to it")]
    cursor: str


class EventList(Body):
    """Events of one type."""

    events: list[EventRow]
    cursor: Annotated[str, Field(description="As `after`: for the next events; it may bring the newest of these again")]
    has_more: bool


GONE = "its module has no such events any more: end this source"


class SourceRow(Body):
    """A webhook or a poll."""

    id: str
    types: list[str]
    location: dict[str, Any]
    url: Annotated[str, Field(description="The address that the vendor calls; empty where it is polled")]
    state: str
    problem: str
    failures: int
    pinned: Annotated[bool, Field(description="Whether it stays although no subscription uses it")]


class SourceList(Body):
    """The caller's sources."""

    sources: list[SourceRow]


class NewSource(RequestBody):
    """A source to begin."""

    type: Annotated[str, Field(max_length=128)]
    arguments: dict[str, Any] = {}
    secret: Annotated[str, Field(max_length=256, description="The vendor's signing secret, of a type `byHand`")] = ""


class StartedSource(Body):
    """The source that brings events of a type in; null for our own events, which need none."""

    source: SourceRow | None


@router.operation("GET", "/v1/events/types", "List event types")
def list_event_types() -> EventTypeList:
    """List the kinds of events that the caller may subscribe to."""
    return EventTypeList(types=list(map(_type_row, subscriptions.visible_types(current().permissions))))


@router.operation("GET", "/v1/events", "List events")
def list_events(
    type: Annotated[str, Query(max_length=128, description="The full name of their type")],  # noqa: A002
    after: Annotated[str, Query(max_length=64, pattern=r"^([0-9][\w-]*)?$", description="A cursor")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_READ)] = 50,
) -> EventList:
    """List a type's events of a week that the caller's sources brought in: the newest, or those after a cursor."""
    event_type, caller = subscriptions.find_type(current().permissions, type), current().caller
    now, name = wall_clock(), event_type.full_name
    page = store.read(caller.organization, caller.user, name, now=now, after=after, limit=limit, newest=not after)

    def row(stored: StoredEvent) -> EventRow:
        moment = datetime.fromtimestamp(stored.event.occurred_at, UTC).isoformat()
        return body_of(EventRow, stored.event, occurred_at=moment, cursor=stored.cursor)

    return EventList(events=list(map(row, page.events)), cursor=page.cursor, has_more=page.has_more)


@router.operation("GET", "/v1/events/sources", "List sources of events")
def list_event_sources() -> SourceList:
    """List what brings the caller's events in, and what went wrong with it."""
    caller = current().caller
    return SourceList(sources=list(map(_source_row, sources.of_user(caller.organization, caller.user))))


@router.operation("POST", "/v1/events/sources", "Begin a source of events")
def begin_event_source(body: NewSource) -> StartedSource:
    """Have events of a type come in, also while no subscription uses them."""
    source = subscriptions.begin_source(current().permissions, body.type, body.arguments, body.secret)
    return StartedSource(source=source and _source_row(source))


@router.operation("DELETE", "/v1/events/sources/<id>", "End a source of events")
def end_event_source(id: str) -> SourceRow:  # noqa: A002 - the path's variable
    """End a source: its webhook is removed at the vendor with the caller's account."""
    return _source_row(subscriptions.end_source(current().caller, id))


def _type_row(one: EventType) -> EventTypeRow:
    delivery = "own" if one.source is None else "webhook" if isinstance(one.source, Webhook) else "polled"
    return body_of(EventTypeRow, one, name=one.full_name, delivery=delivery, by_hand=one.is_entered_by_hand)


def _source_row(source: EventSource) -> SourceRow:
    types = subscriptions.types_of(source)
    has_hook = any(isinstance(one.source, Webhook) for one in types)
    url = f"{settings().public_url}/hooks/{source.id}" if has_hook else ""
    problem = source.problem or ("" if types else GONE)
    return body_of(SourceRow, source, types=[one.full_name for one in types], url=url, problem=problem)
