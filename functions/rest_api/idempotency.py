"""Idempotency keys: a write that is sent again with the same key answers with the first result, for a day.

An item of the ledger's table under `pk` ORGANIZATION#idempotency holds the answer, or says that the first request is
running. If its sandbox was lost, nobody knows whether the write happened: the key then stays taken.

Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcpist.aws.clients import ConditionFailed
from mcpist.aws.codec import pack, unpack
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, McpistError, RequestInProgress, from_message, to_message
from mcpist.files import access

HEADER = "Idempotency-Key"
KEEP_SECONDS = 86_400
MAX_INLINE_BYTES = 300_000
PACKED_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """One caller's key for one request."""

    caller: Caller
    key: str
    subject: Any
    """The JSON of the request."""

    def replay(self) -> dict[str, Any] | None:
        """Take the key and return None, or return the answer of the request that has used it; errors are raised."""
        now = int(time.time())
        item = {"pk": self._pk, "sk": self._sk, "digest": self._digest, "state": "running"}
        try:
            ledger_table().put(
                item | {"expires_at": now + KEEP_SECONDS},
                condition="attribute_not_exists(#pk) OR #expires_at <= :now OR #state = :free",
                values={":now": now, ":free": "free"},
            )
        except ConditionFailed:
            return self._read()
        return None

    def run(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the answer of the work and keep it; an error before anything was written frees the key."""
        try:
            answer = work()
        except McpistError as error:
            if error.details.get("may_have_happened"):
                self._finish("failed", to_message(error))
            else:
                self._finish("free", None)
            raise
        self._finish("done", answer)
        return answer

    def _read(self) -> dict[str, Any]:
        item = ledger_table().get(self._pk, self._sk)
        if item and item["digest"] != self._digest:
            raise InvalidRequest(field=HEADER, problem="another request has used this key")
        if item is None or item["state"] in {"running", "free"}:
            raise RequestInProgress(header=HEADER)
        packed = access.load(self.caller, item["file"])[1] if "file" in item else bytes(item["answer"])
        answer: dict[str, Any] = unpack(packed)
        if item["state"] == "failed":
            raise from_message(answer)
        return answer

    def _finish(self, state: str, answer: Any) -> None:
        value: bytes | str = pack(answer)
        name = "answer"
        if len(value) > MAX_INLINE_BYTES:
            name, value = "file", access.put(self.caller, pack(answer), PACKED_TYPE).sha256
        ledger_table().update(
            self._pk, self._sk, f"SET #state = :state, #{name} = :value", values={":state": state, ":value": value}
        )

    @property
    def _pk(self) -> str:
        return f"{self.caller.organization}#idempotency"

    @property
    def _sk(self) -> str:
        return f"{self.caller.user}#{hashlib.sha256(self.key.encode()).hexdigest()}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(json.dumps(self.subject, sort_keys=True).encode()).hexdigest()
