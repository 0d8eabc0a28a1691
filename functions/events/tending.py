"""The care for a source when it is due: to subscribe, to renew, to poll, and to end.

A failure is kept for the source's person to see, and the work is tried again, later each time.
"""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from events.callbacks import delay
from events.hooks import take
from mcpist.caller import Caller, Proof
from mcpist.errors import McpistError, MembershipRequired, ToolExecutionError
from mcpist.events import sources
from mcpist.events.event_type import EventType, Polled, Subscribed, Webhook
from mcpist.events.sources import EventSource
from mcpist.memory import wall_clock
from mcpist.people import directory
from mcpist.running import broker
from mcpist.running.source_requests import send_source_request
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.events import require, types_of, use_of

MAX_FAILURES = 50
"""In a row: about two days, after which a source is left as it is."""
RENEWAL_RESERVE_SECONDS = 6 * 3600
MAX_PROBLEM_CHARACTERS = 300

type Send = Callable[[Call], ServiceResponse]


def tend(id_: str) -> None:
    """Do what is due for a source; one that is gone needs nothing."""
    source = sources.find(id_)
    if source is None:
        return
    invocation.add_fields(organization=source.organization, service=source.module)
    try:
        _tend(source, types_of(source))
    except McpistError as error:
        invocation.count_error(error.code)
        _failed(source, error)


def permissions_of(source: EventSource) -> Permissions:
    """Return the present permissions of the person of a source."""
    caller: Caller = directory.identify(
        source.subject,
        organization=source.organization,
        roles=source.roles,
        proof=Proof("permit", source.permit),
    )
    return Permissions(caller, CATALOGUE)


def _tend(source: EventSource, types: list[EventType]) -> None:
    if source.state == "ending":
        _end(source, types)
        return
    if not types:  # its module is not registered any more, or not with these webhooks
        sources.end(source, wall_clock())
        return
    event_type = types[0]
    permissions = permissions_of(source)
    require(permissions, event_type)

    def send(call: Call) -> ServiceResponse:
        return send_source_request(permissions, use_of(event_type, source.location), call)

    match event_type.source:
        case Webhook() as hook:
            _subscribe(source, event_type, hook, permissions, send)
        case Polled() as polled:
            _poll(source, event_type, polled, send)


def _subscribe(source: EventSource, event_type: EventType, hook: Webhook, permissions: Permissions, send: Send) -> None:
    """Make the subscription at the vendor, or renew it."""
    if hook.subscribe is None or hook.subscribed is None:
        sources.done(source, None, state="active", problem="", failures=0)
        return
    if source.subscription and hook.renew:
        made = hook.subscribed(send(hook.renew(source.location, source.subscription)).json)
    else:
        # The vendor is told the secret by this one request; from then on the broker alone can use it.
        sealed, secret = broker.keep_secret(permissions.caller, source.id)
        if not sources.change(source, secret=sealed):
            return
        url = f"{settings().public_url}/hooks/{source.id}"
        made = hook.subscribed(send(hook.subscribe(event_type.name, source.location, url, secret)).json)
    kept = {"state": "active", "subscription": made.id, "problem": "", "failures": 0}
    if not sources.done(source, _renewal(made), **kept):
        _end(replace(source, subscription=made.id), [event_type])  # it was ended meanwhile


def _renewal(made: Subscribed) -> float | None:
    return None if made.renew_at is None else max(made.renew_at - RENEWAL_RESERVE_SECONDS, wall_clock() + 60)


def _poll(source: EventSource, event_type: EventType, polled: Polled, send: Send) -> None:
    """Take what happened since the last poll; the first one only finds out where to begin."""
    now = int(wall_clock())
    occurrences, cursor = polled.read(send(polled.call(source.location, source.cursor, now)).json, source.cursor, now)
    for occurrence in occurrences if source.cursor else ():
        take(source, event_type, occurrence)
    # After its events: what a killed function has not taken is polled again.
    known = {"state": "active", "cursor": cursor, "problem": "", "failures": 0, "checked_at": now}
    sources.done(source, now + polled.seconds, **known)


def _end(source: EventSource, types: list[EventType]) -> None:
    """Remove the subscription at the vendor as far as the person's access still goes, and forget the source."""
    hook = types[0].source if types else None
    if isinstance(hook, Webhook) and hook.unsubscribe and source.subscription:
        try:
            use, call = use_of(types[0], source.location), hook.unsubscribe(source.location, source.subscription)
            send_source_request(permissions_of(source), use, call)
        except McpistError as error:
            if error.retryable:
                raise
            invocation.add_fields(left_at_vendor=error.code)  # its requests are refused from now on
    sources.delete(source)


def _failed(source: EventSource, error: McpistError) -> None:
    """Keep what went wrong, and try again later; the source of somebody whose access has ended ends."""
    if isinstance(error, MembershipRequired):
        sources.end(source, wall_clock())
        return
    failures = source.failures + 1
    due_at = None if failures >= MAX_FAILURES else wall_clock() + delay(failures)
    is_gone = isinstance(error, ToolExecutionError) and error.details.get("http_status") == HTTPStatus.GONE
    lost = {"cursor": ""} if is_gone else {}  # the vendor keeps nothing from so long ago
    problem = f"{error.code}: {error}"[:MAX_PROBLEM_CHARACTERS]
    sources.done(source, due_at, problem=problem, failures=failures, **lost)
