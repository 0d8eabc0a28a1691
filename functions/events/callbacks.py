"""Deliveries to the callbacks of MCP clients: each event by itself, again and again for a day until it is accepted.

Source: https://modelcontextprotocol.io/seps/3415-events-extension
"""

from contextlib import suppress

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import CallbackFailed
from mcpist.events import store
from mcpist.events.interests import Interest
from mcpist.events.store import StoredEvent
from mcpist.memory import wall_clock
from mcpist.people import identity
from mcpist.running import callbacks
from mcpist.running.callbacks import Callback
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist_services.events import stop

FORBIDDEN = -32012
GONE, TOO_LARGE = 410, 413
MAX_PAUSE_SECONDS = 3_600
MAX_DELIVERIES = 30
"""With delays that double from a minute up to an hour they end after a day."""


def deliver(interest: Interest, stored: StoredEvent, caller: Caller, number: int) -> float | None:
    """Send an event to its callback; return the seconds after which to try again, None once it is dealt with."""
    callback, event = Callback.of(interest), stored.event
    if callback.expires_at <= wall_clock():
        stop(interest)
        return None
    if callback.login and not identity.is_live(caller.subject, callback.login):
        return end(interest, stored, number)
    if not callback.url:
        return None
    try:
        spending.check(event.organization, "calls", "bytes")
        if settings().audit_required:  # what has left cannot be withheld
            _record(caller, stored, callback, "started")
        callbacks.send(interest, event.id, callbacks.occurrence(event))
    except CallbackFailed as failed:
        return _retry(interest, stored, number, failed.http_status)
    spending.add(event.organization, "calls")
    with audit.best_effort():
        _record(caller, stored, callback, "succeeded")
    return None


def _record(caller: Caller, stored: StoredEvent, callback: Callback, outcome: str) -> None:
    module, _, name = stored.event.type.rpartition(".")
    audit.record_use(caller, module, name, outcome=outcome, target=callback.host, request=stored.event.id)


def end(interest: Interest, stored: StoredEvent, number: int) -> float | None:
    """Tell a callback that its person, or its client, may not hear of the events any more, and end the subscription."""
    error = {"code": FORBIDDEN, "message": "The access to these events has ended"}
    try:
        if Callback.of(interest).url:
            callbacks.send(interest, f"msg_terminated_{stored.event.id}", {"type": "terminated", "error": error})
    except CallbackFailed as failed:
        if failed.http_status != GONE and number < MAX_DELIVERIES:
            return delay(number)
    stop(interest)
    return None


def delay(number: int) -> float:
    """Return the seconds after an attempt until the next one."""
    return min(60.0 * 2.0 ** (number - 1), MAX_PAUSE_SECONDS)


def _retry(interest: Interest, stored: StoredEvent, number: int, status: int) -> float | None:
    """Decide after a delivery failed: a callback that is gone, or has refused for a day, ends its subscription."""
    if status == TOO_LARGE:
        gap = {"type": "gap", "cursor": store.present_cursor(wall_clock())}
        with suppress(CallbackFailed):  # the next renewal has its cursor
            callbacks.send(interest, f"msg_gap_{stored.event.id}", gap)
        return None
    if status != GONE and number < MAX_DELIVERIES:
        return delay(number)
    stop(interest)
    return None
