"""Callbacks: addresses of MCP clients to which events are sent, signed with the client's own secret.

An interest of the kind `callback` has one as its target. One without an address is a lease of a client that polls: it
keeps the sources of its person going.
Source: https://modelcontextprotocol.io/seps/3415-events-extension
"""

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self
from urllib.parse import urlsplit

from mcpist.aws.attributes import json_bytes
from mcpist.bounded_http import webhook
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout, ResponseTooLarge
from mcpist.caller import Caller
from mcpist.errors import CallbackFailed
from mcpist.events import store
from mcpist.events.event import Event
from mcpist.events.interests import Interest
from mcpist.memory import wall_clock
from mcpist.moments import utc_text
from mcpist.running import broker

ID_HEADER = "x-mcp-subscription-id"
CALLBACK_SECONDS = 10.0
RETRIED_SECONDS = 90_000
"""After it each event was accepted or given up."""
ROTATION_SECONDS = 3_600
"""For so long after a change of the secret deliveries are signed with the former one, too."""
MIN_ERROR_STATUS, MIN_SERVER_ERROR_STATUS = 300, 500

# The protocol's words for why a callback failed, with ours.
CONNECTION_REFUSED = ("connection_refused", "it cannot be reached, or its address is not public")
TIMEOUT = ("timeout", "it did not answer in time")
REFUSED = ("http_4xx", "it refused the message")
BROKEN = ("http_5xx", "it failed")
CHALLENGE_FAILED = ("challenge_failed", "it did not echo the challenge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A client's address for events, as the target of an interest."""

    url: str = ""
    """Empty for a client that polls."""
    secret: str = ""
    """The secret, sealed by the broker."""
    fingerprint: str = ""
    """The secret's HMAC of the subscription's id, which tells whether another one is the same."""
    former_secret: str = ""
    """The sealed secret before the last change."""
    changed_at: int = 0
    """When the secret changed (epoch seconds)."""
    cursor: str = ""
    """The cursor after which the subscription began."""
    login: str = ""
    """The login of the client, with whose end the subscription ends; empty where another issuer logs people in."""
    expires_at: int
    """When it ends, unless the client renews it (epoch seconds)."""

    @property
    def host(self) -> str:
        """The address as the audit names it: its path may be a secret."""
        return urlsplit(self.url).hostname or ""

    @classmethod
    def of(cls, interest: Interest) -> Self:
        """Return the callback of an interest."""
        return cls(**interest.target)

    def watermark(self, now: float) -> str:
        """Return a cursor at or before which each event was accepted or given up."""
        return max(self.cursor, store.present_cursor(now - RETRIED_SECONDS))

    def keys(self, now: float) -> list[str]:
        """Return the sealed secrets with which a message is signed."""
        is_changing = self.former_secret and now < self.changed_at + ROTATION_SECONDS
        return [self.secret, self.former_secret] if is_changing else [self.secret]


def subscription_id(caller: Caller, url: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Return the id of a subscription: always the same for this person, address, event type and arguments."""
    key = json.dumps([caller.organization, caller.user, url, name, arguments], sort_keys=True)
    return f"sub_{sha256(key.encode()).hexdigest()[:32]}"


def fingerprint(key: bytes, subscription: str) -> str:
    """Return an HMAC by which two secrets of a subscription are compared without being stored."""
    return hmac.digest(key, subscription.encode(), "sha256").hex()


def verify(interest: Interest) -> None:
    """Have a callback prove that it wants to receive: it echoes a challenge. CallbackFailed where it does not."""
    challenge = secrets.token_urlsafe(32)
    message = {"type": "verification", "challenge": challenge}
    answer = send(interest, f"msg_verification_{secrets.token_hex(8)}", message)
    try:
        echoed = json.loads(answer).get("challenge", "")
    except (ValueError, AttributeError, RecursionError):
        echoed = ""
    if not secrets.compare_digest(str(echoed).encode(), challenge.encode()):
        raise _failure(CHALLENGE_FAILED)


def occurrence(event: Event) -> dict[str, Any]:
    """Return an event as the protocol has it; a delivery has no cursor, since events may overtake each other."""
    return {"eventId": event.id, "name": event.type, "timestamp": utc_text(event.occurred_at), "data": event.data}


def send(interest: Interest, message_id: str, message: Mapping[str, Any]) -> bytes:
    """Send a signed message and return the answer; CallbackFailed for any but a success."""
    callback, now, body = Callback.of(interest), wall_clock(), json_bytes(message)
    text = webhook.signed_text(message_id, int(now), body)
    macs = [broker.mac(interest.organization, interest.id, sealed, text) for sealed in callback.keys(now)]
    headers = webhook.signed_headers(message_id, int(now), macs) | {ID_HEADER: interest.id}
    try:
        answer = webhook.post(callback.url, body, headers, seconds=CALLBACK_SECONDS)
        status, content = answer.status, answer.body
    except ExchangeTimeout:
        raise _failure(TIMEOUT) from None
    except ResponseTooLarge as answered:
        status, content = answered.status, b""
    except ExchangeFailed:
        raise _failure(CONNECTION_REFUSED) from None
    if status >= MIN_ERROR_STATUS:
        raise _failure(BROKEN if status >= MIN_SERVER_ERROR_STATUS else REFUSED, status)
    return content


def _failure(reason: tuple[str, str], status: int = 0) -> CallbackFailed:
    failed = CallbackFailed(field="delivery.url", reason=reason[0], problem=reason[1])
    failed.http_status = status
    return failed
