"""Idempotency keys: a writing request that is sent again with its key is answered as the first time, for a day.

An item of the ledger's table under `pk` ORGANIZATION#idempotency holds the response, or says until when the first
request may run. After that time nobody knows what came of it, so the key stays taken. A key belongs to its user, to
one request, and to the permissions with which that was made. A response that no cache may store is not stored here.

Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
"""

import hashlib
import hmac
import json
import logging
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcpist.aws.attributes import Item, pack, unpack
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.errors import (
    AnswerNotKept,
    IdempotencyKeyReused,
    InvalidRequest,
    McpistError,
    RequestInProgress,
    StoreUnavailable,
    from_message,
    to_message,
)
from mcpist.files import access
from mcpist.http.front import RESPONSE_RESERVE_SECONDS
from mcpist.http.request import HttpResponse
from rest_api.exchange import RestExchange

KEY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "idempotency-replayed"
WRITING_METHODS = ("POST", "PUT", "PATCH", "DELETE")
KEY_SECONDS = 86_400
MAX_KEY_CHARACTERS = 255
MAX_RETRY_SECONDS = 5
MAX_INLINE_ANSWER_BYTES = 300_000
PACKED_TYPE = "application/octet-stream"

logger = logging.getLogger(__name__)


def respond_once(exchange: RestExchange, event: Mapping[str, Any], respond: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the response to a request, whose body is JSON; where its key has one already, that."""
    request = exchange.request
    key = request.headers.get(KEY_HEADER.lower())
    if key is None or request.method not in WRITING_METHODS:
        return respond()
    if not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise InvalidRequest(field=KEY_HEADER, problem=f"it has 1 to {MAX_KEY_CHARACTERS} characters")
    body = json.loads(event["body"]) if event["body"] else None
    caller = exchange.caller
    permissions = repr((caller.system_role, caller.roles, caller.disabled))
    asked = json.dumps([request.method, request.path, dict(request.query), body, permissions], sort_keys=True)
    # Keyed, since a body may hold a secret that could be guessed from its plain hash.
    digest = hmac.digest(key.encode(), asked.encode(), "sha256").hex()
    return _KeyedRequest(exchange, hashlib.sha256(key.encode()).hexdigest(), digest).respond(respond)


@dataclass(frozen=True, slots=True)
class _KeyedRequest:
    """A request with a key."""

    exchange: RestExchange
    key_hash: str
    digest: str
    """Of all that the request asks for, and of its caller's permissions."""

    def respond(self, respond: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the first response to the request; an error before anything was written frees the key."""
        if (item := self._take()) is not None:
            return self._replay(item)
        try:
            response = respond()
        except McpistError as error:
            in_doubt = error.details.get("may_have_happened")
            self._store("failed" if in_doubt else "free", to_message(error) if in_doubt else None)
            raise
        is_secret = response["headers"].get("cache-control") == "no-store"
        self._store("unkept" if is_secret else "done", None if is_secret else response)
        return response

    def _take(self) -> Item | None:
        """Take the key and return None, or return its item where another request has taken it."""
        now, owner = time.time(), secrets.token_hex(8)
        item = {"pk": self._pk, "sk": self._sk, "digest": self.digest, "state": "running", "owner": owner}
        until = math.ceil(now + self.exchange.remaining + RESPONSE_RESERVE_SECONDS)
        try:
            ledger_table().put(
                {**item, "until": until, "expires_at": int(now) + KEY_SECONDS},
                # The owner's own item: DynamoDB's answer was lost, and the request was sent again.
                condition="attribute_not_exists(#pk) OR #expires_at <= :now OR #state = :free OR #owner = :owner",
                values={":now": int(now), ":free": "free", ":owner": owner},
            )
        except ConditionFailed:
            return ledger_table().get(self._pk, self._sk) or {**item, "until": now + 1}
        return None

    def _replay(self, item: Item) -> HttpResponse:
        if item["digest"] != self.digest:
            raise IdempotencyKeyReused(header=KEY_HEADER)
        left = item["until"] - time.time()
        if item["state"] == "free" or (item["state"] == "running" and left > 0):
            retry_after = max(1, min(MAX_RETRY_SECONDS, math.ceil(left)))
            raise RequestInProgress(header=KEY_HEADER, retry_after=retry_after)
        if item["state"] in {"running", "unkept"}:
            raise AnswerNotKept(header=KEY_HEADER)
        caller = self.exchange.caller
        stored = unpack(access.load(caller, item["file"])[1] if "file" in item else bytes(item["answer"]))
        if item["state"] == "failed":
            raise from_message(stored)
        response: HttpResponse = stored
        return response | {"headers": response["headers"] | {REPLAYED_HEADER: "true"}}

    def _store(self, state: str, answer: Any) -> None:
        """Store what came of the request, which stays as it is where that fails."""
        packed = pack(answer)
        try:
            is_small = len(packed) <= MAX_INLINE_ANSWER_BYTES
            file = None if is_small else access.put(self.exchange.caller, packed, PACKED_TYPE)
            kept = {"answer": packed} if file is None else {"file": file.sha256}
            ledger_table().set(self._pk, self._sk, {"state": state, **kept})
        except StoreUnavailable:
            logger.warning("the answer to an idempotency key was not stored")

    @property
    def _pk(self) -> str:
        return f"{self.exchange.caller.organization}#idempotency"

    @property
    def _sk(self) -> str:
        return f"{self.exchange.caller.user}#{self.key_hash}"
