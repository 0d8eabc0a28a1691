"""Webhooks of the library's API: how its description declares them, and what it sends."""

import hashlib
import hmac
import json
from typing import Any

from mcpist.moments import utc_text
from tests.events.conftest import SECRET
from tests.services.described.library import takes

LENT = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "at": {"type": "string"},
        "book": {"$ref": "#/components/schemas/Book"},
        "days": {"type": ["integer", "null"]},
        "secret": {"type": "string"},
    },
}
WEBHOOKS: dict[str, Any] = {
    "book.lent": {"post": {"summary": "A book was lent", "requestBody": takes(LENT), "responses": {}}},
    "book.returned": {"post": {"requestBody": takes(LENT), "responses": {}}},
    "ping": {"post": {"responses": {}}},
}
HOOKS: dict[str, Any] = {
    "tool": "list_books",
    "signature": "x-library-signature",
    "prefix": "sha256=",
    "event": "kind",
    "occurred_at": "at",
}


def mac(message: bytes, secret: str = SECRET) -> bytes:
    return hmac.new(secret.encode(), message, hashlib.sha256).digest()


def lent(at: float, kind: str = "book.lent") -> bytes:
    book = {"id": "b1", "title": "Dune", "author": {"name": "Herbert"}}
    payload = {"kind": kind, "at": utc_text(at), "book": book, "days": 14, "secret": "canary", "more": 1}
    return json.dumps(payload).encode()
