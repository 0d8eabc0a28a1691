"""Webhooks: a vendor's request to the address of a source is verified, its events are published, and it is answered.

Nothing is done with a request before its signature is verified. A repeated delivery is an event that was stored before;
so that none is taken again once that is forgotten, an old one is refused.
"""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager

from mcpist.errors import AuthenticationError, InvalidRequest, McpistError, RouteNotFound
from mcpist.events import interests, sources
from mcpist.events.event import Event, event_id
from mcpist.events.event_type import EventType, HookRequest, Occurrence, Webhook
from mcpist.events.publish import publish
from mcpist.events.sources import EventSource
from mcpist.events.store import KEPT_SECONDS
from mcpist.http.request import HttpRequest, HttpResponse, json_response
from mcpist.memory import wall_clock
from mcpist.moments import MAX_MOMENT
from mcpist.running import broker
from mcpist.telemetry import invocation
from mcpist_services.events import types_of

MAX_HOOK_BYTES = 4_000_000
MAX_SIGNATURE_AGE_SECONDS = 300
MAX_AGE_SECONDS = KEPT_SECONDS - 86_400
"""Of an event, so that its delivery is remembered."""


def receive(request: HttpRequest) -> HttpResponse:
    """Return the response to a vendor's request; AuthenticationError for one that the vendor did not sign."""
    source = sources.find(request.path_parameters.get("source", ""))
    if source is None or source.state == "ending" or not source.secret:
        raise RouteNotFound(method=request.method, path="/hooks/{source}")
    invocation.add_fields(organization=source.organization, service=source.module)
    types = types_of(source)
    hook = types[0].source if types else None
    if not isinstance(hook, Webhook):
        raise RouteNotFound(method=request.method, path="/hooks/{source}")
    hooked = HookRequest(headers=request.headers, body=request.body(MAX_HOOK_BYTES), source=source.id)
    verify(source, hook, hooked)
    with _shape_errors():
        if answer := hook.answer(hooked):
            return json_response(200, answer)
    for event_type in types:
        if source.pinned or interests.is_wanted(source.organization, event_type.full_name):
            with _shape_errors():
                found = [
                    one for one in hook.occurrences(hooked, event_type.name) if (one.occurred_at or 0) < MAX_MOMENT
                ]
            for occurrence in found:
                take(source, event_type, occurrence)
    return {"statusCode": 204, "headers": {}, "body": ""}


@contextmanager
def _shape_errors() -> Iterator[None]:
    """Raise InvalidRequest for a body of another shape than the vendor's: who entered the secret can sign any."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise InvalidRequest(field="body", problem="it has another shape than the vendor's") from None


def verify(source: EventSource, hook: Webhook, request: HookRequest) -> None:
    """Raise AuthenticationError unless a request is signed with the source's secret, and was so just now."""
    signature = hook.signature(request)
    if signature is None:
        raise AuthenticationError(problem="the request is not signed")
    if signature.signed_at is not None and abs(wall_clock() - signature.signed_at) > MAX_SIGNATURE_AGE_SECONDS:
        raise AuthenticationError(problem="the signature is too old")
    expected = broker.mac(source.organization, source.id, source.secret, signature.message).hex()
    if not hmac.compare_digest(expected.encode(), signature.given.lower().encode()):
        raise AuthenticationError(problem="the signature is wrong")


def take(source: EventSource, event_type: EventType, occurrence: Occurrence) -> bool:
    """Publish what happened as an event of a source; False for one that was stored before, or happened long ago."""
    now = wall_clock()
    occurred_at = int(now) if occurrence.occurred_at is None else occurrence.occurred_at
    if occurred_at < now - MAX_AGE_SECONDS:
        return False
    return publish(
        Event(
            id=event_id(f"{source.id} {event_type.name}", occurrence.delivery),
            organization=source.organization,
            user=source.user,
            type=event_type.full_name,
            occurred_at=occurred_at,
            data=event_type.project(occurrence.data),
            actor=occurrence.actor,
            source=source.id,
        )
    )


def refuse(error: McpistError) -> HttpResponse:
    """Return the response to a request that is refused: its code alone, since a stranger may have sent it."""
    return json_response(error.status, {"code": error.code})
