"""Subscriptions of MCP clients: made, renewed and ended, and polls of stored events.

Source: https://modelcontextprotocol.io/seps/3415-events-extension
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import json_bytes
from mcpist.bounded_http import webhook
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, SubscriptionNotFound
from mcpist.events import interests, publish, store
from mcpist.events.event import Event
from mcpist.events.event_type import EventType
from mcpist.events.interests import Interest
from mcpist.memory import wall_clock
from mcpist.running import broker, callbacks
from mcpist.running.callbacks import Callback
from mcpist.running.gate import account_of
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist_services.events import judge_listening, listen, stop, weigh_listening

DAY_SECONDS = 86_400
DEFAULT_SECONDS, MIN_SECONDS, MAX_SECONDS = DAY_SECONDS, 300, 5 * DAY_SECONDS
"""How long a subscription lasts unless it is renewed: a cursor of its last renewal must still be kept at its end."""
MAX_POLLED_BYTES = 1_000_000
_CURSOR = re.compile(r"\d{13}(-[0-9a-z]{1,64})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """A client's request for the events of a type."""

    type: EventType
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cursor: str = ""
    """After which to begin; empty for now."""
    max_age: float | None = None
    """In seconds: older events are left out, whatever the cursor says."""
    url: str = ""
    """The callback; empty for a client that polls."""

    def start(self, now: float) -> tuple[str, bool]:
        """Return the cursor after which to begin, and whether that leaves events out that the client has not seen."""
        if not self.cursor:
            return store.present_cursor(now), False
        if not _CURSOR.fullmatch(self.cursor):
            raise InvalidRequest(field="cursor", problem="it is no cursor of ours")
        seconds = store.KEPT_SECONDS if self.max_age is None else min(store.KEPT_SECONDS, self.max_age)
        floor = store.present_cursor(now - seconds)
        return max(self.cursor, floor), self.cursor < floor


@dataclass(frozen=True, slots=True)
class Subscription:
    """The answer to the request for a subscription."""

    id: str
    expires_at: int
    """When it ends, unless the client renews it (epoch seconds)."""
    cursor: str
    """At or before which everything was delivered or given up."""
    truncated: bool
    """Whether events after the client's cursor were left out."""


@dataclass(frozen=True, slots=True)
class PolledEvents:
    """The answer to a poll."""

    events: tuple[Event, ...]
    cursor: str
    truncated: bool
    has_more: bool


def subscribe(permissions: Permissions, asked: EventRequest, secret: str, seconds: float) -> Subscription:
    """Make or renew a subscription; CallbackFailed where its callback does not want it."""
    caller = permissions.caller
    webhook.check_url(asked.url, "delivery.url")
    now, key = wall_clock(), webhook.secret_key(secret, "delivery.secret")
    id_ = callbacks.subscription_id(caller, asked.url, asked.type.full_name, asked.arguments)
    own = _live(caller, now)
    former = own.get(id_)
    start, truncated = asked.start(now)
    callback = _signed_by(caller, id_, secret, key, former, int(now))
    callback = replace(
        callback,
        url=asked.url,
        login=caller.login,
        cursor=callback.cursor or start,
        expires_at=int(now + min(max(seconds, MIN_SECONDS), MAX_SECONDS)),
    )
    interest = _interest(caller, id_, asked, callback)
    _require_account(permissions, asked)
    if all(Callback.of(one).url != asked.url for one in own.values()):
        callbacks.verify(interest)
    listen(permissions, interest)
    _record(caller, "subscribe", interest)
    if former is None and asked.cursor:
        truncated |= _replay(interest, asked.type, start, now)
    return Subscription(id_, callback.expires_at, callback.watermark(now), truncated and former is None)


def unsubscribe(caller: Caller, name: str, arguments: Mapping[str, Any], url: str) -> None:
    """End a subscription; SubscriptionNotFound if there is none."""
    interest = interests.find(caller.organization, name, callbacks.subscription_id(caller, url, name, arguments))
    if interest is None or not stop(interest, caller.modules):
        raise SubscriptionNotFound
    _record(caller, "unsubscribe", interest)


def poll(permissions: Permissions, asked: EventRequest, limit: int) -> PolledEvents:
    """Return the events after the client's cursor; the first poll only says where to begin."""
    caller, now = permissions.caller, wall_clock()
    start, truncated = asked.start(now)
    judge_listening(permissions, asked.type, dict(asked.arguments))
    _keep_polled(permissions, asked, now)
    if not asked.cursor:
        return PolledEvents((), start, truncated=False, has_more=False)
    type_, limit = asked.type.full_name, min(limit, store.MAX_READ)
    page = store.read(caller.organization, caller.user, type_, now=now, after=start, limit=limit)
    sizes = accumulate(len(json_bytes(stored.event.data)) for stored in page.events)
    taken = page.events[: max(1, sum(size <= MAX_POLLED_BYTES for size in sizes))]
    cursor = min(page.cursor, taken[-1].cursor) if taken else page.cursor
    events = tuple(one.event for one in taken if asked.type.matches(asked.arguments, one.event))
    # Without a later cursor the client would read the same again at once: of the last seconds more may still come.
    has_more = (len(taken) < len(page.events) or page.has_more) and cursor > start
    if events:
        with audit.of_use():
            request = invocation.request_id()
            audit.record_use(caller, asked.type.module, asked.type.name, outcome="succeeded", request=request)
    return PolledEvents(events, cursor, truncated, has_more)


def _require_account(permissions: Permissions, asked: EventRequest) -> None:
    """Raise AccountError if a type comes from a service at which the caller has no account."""
    if asked.type.source is not None:
        account_of(weigh_listening(permissions, asked.type, dict(asked.arguments)))


def _live(caller: Caller, now: float) -> dict[str, Interest]:
    """Return a person's subscriptions by their ids, and remove those that have ended."""
    own = [one for one in interests.of_user(caller.organization, caller.user) if one.kind == "callback"]
    for ended in (one for one in own if Callback.of(one).expires_at <= now):
        stop(ended, caller.modules)
    return {one.id: one for one in own if Callback.of(one).expires_at > now}


def _signed_by(caller: Caller, id_: str, secret: str, key: bytes, former: Interest | None, now: int) -> Callback:
    """Return a callback with its sealed secret: the former one where that is the same."""
    before, mark = Callback.of(former) if former else Callback(expires_at=0), callbacks.fingerprint(key, id_)
    if before.fingerprint == mark:
        return before
    sealed, _ = broker.keep_secret(caller, id_, secret)
    return replace(before, secret=sealed, fingerprint=mark, former_secret=before.secret, changed_at=now)


def _replay(interest: Interest, found: EventType, start: str, now: float) -> bool:
    """Deliver what was stored after a cursor, the newest of it; return whether there was more."""
    page = store.read(interest.organization, interest.user, interest.type, now=now, after=start, newest=True)
    for stored in reversed(page.events):
        if found.matches(interest.arguments, stored.event):
            publish.send({"organization": interest.organization, "event": stored.event.id, "interest": interest.id})
    return page.has_more


def _keep_polled(permissions: Permissions, asked: EventRequest, now: float) -> None:
    """Keep the sources of a client that polls going for a day."""
    caller = permissions.caller
    id_ = callbacks.subscription_id(caller, "", asked.type.full_name, asked.arguments)
    former = interests.find(caller.organization, asked.type.full_name, id_)
    if former is None or Callback.of(former).expires_at < now + DAY_SECONDS / 2:
        _require_account(permissions, asked)
        _live(caller, now)
        lease = Callback(login=caller.login, expires_at=int(now + DAY_SECONDS))
        listen(permissions, _interest(caller, id_, asked, lease))


def _interest(caller: Caller, id_: str, asked: EventRequest, callback: Callback) -> Interest:
    return Interest(
        id=id_,
        organization=caller.organization,
        user=caller.user,
        type=asked.type.full_name,
        arguments=dict(asked.arguments),
        kind="callback",
        target=asdict(callback),
    )


def _record(caller: Caller, action: str, interest: Interest) -> None:
    """Append an audit row about a subscription; of its address the host alone."""
    after = {"id": interest.id, "host": Callback.of(interest).host}
    audit.record_change(caller, action=f"events.{action}", target=interest.type, after=after)
