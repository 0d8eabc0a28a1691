"""Webhooks: signed requests to a URL that somebody else has named, as Standard Webhooks are.

Source: https://www.standardwebhooks.com
"""

import base64
import binascii
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpist.errors import InvalidRequest
from mcpist.loopback import is_loopback_url
from mcpist.settings import settings

if TYPE_CHECKING:
    from mcpist.bounded_http.client import ExchangeResponse

SECRET_PREFIX = "whsec_"  # noqa: S105 - it marks a secret, and is none
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
MAX_WEBHOOK_CHARACTERS = 2_000
MAX_ANSWER_BYTES = 10_000


def check_url(url: str, field: str = "url") -> None:
    """Refuse an address to which nothing can be sent safely; where it leads is checked at each sending."""
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme == "http" and settings().local_services and is_loopback_url(url)
        is_valid = bool(parts.hostname) and not parts.username and not parts.fragment
    except ValueError:
        is_plain = is_valid = False
    if not is_valid or not (is_plain or parts.scheme == "https") or len(url) > MAX_WEBHOOK_CHARACTERS:
        raise InvalidRequest(field=field, problem="it is no https address")


def secret_key(secret: str, field: str = "secret") -> bytes:
    """Return the key of a secret as its receiver has it: `whsec_` and base64; InvalidRequest for any other text."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise InvalidRequest(field=field, problem="it is not whsec_ with base64 of 24 to 64 bytes")
    return key


def signed_text(message_id: str, now: int, body: bytes) -> bytes:
    """Return the text that the signature of a message is made of; `now` is in seconds since the epoch."""
    return f"{message_id}.{now}.".encode() + body


def signed_headers(message_id: str, now: int, macs: Iterable[bytes]) -> dict[str, str]:
    """Return the headers of a message with the HMAC-SHA256 of its signed text, by one key or by several."""
    signatures = " ".join(f"v1,{base64.b64encode(mac).decode()}" for mac in macs)
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(now),
        "webhook-signature": signatures,
    }


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> "ExchangeResponse":
    """Send a message, without following a redirect; ExchangeFailed where nothing answers, or at a private address."""
    from mcpist.bounded_http.client import HttpClient  # few requests wait for it

    client = HttpClient(max_bytes=MAX_ANSWER_BYTES, connect_seconds=seconds, keep_alive=False)
    return client.exchange("POST", url, deadline=time.monotonic() + seconds, content=body, headers=headers)
