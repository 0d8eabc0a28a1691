"""The route that calls a tool, once for each idempotency key.

A write that is sent again with the same key answers with the first result, for a day. An item of the ledger's table
under `pk` ORGANIZATION#idempotency holds the answer, or says that the first request is running. If its sandbox was
lost, nobody knows whether the write happened: the key then stays taken.

Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from mcpist.aws.attributes import pack, unpack
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, McpistError, RequestInProgress, from_message, to_message
from mcpist.files import access
from mcpist.files.answers import content_of
from mcpist.render.answer import compact
from mcpist.running import gate
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolResult, ToolUse, answering
from mcpist.running.options import RunOptions
from mcpist.tools.declare.tool import Tool
from rest_api.exchange import current, timestamp
from rest_api.router import Operations, is_too_deep
from rest_api.tools import names
from rest_api.tools.models import CallRequest, CallResponse

KEY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "idempotency-replayed"
KEY_SECONDS = 86_400
MAX_INLINE_ANSWER_BYTES = 300_000
PACKED_TYPE = "application/octet-stream"
router = Operations("tools")


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
                item | {"expires_at": now + KEY_SECONDS},
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
            raise InvalidRequest(field=KEY_HEADER, problem="another request has used this key")
        if item is None or item["state"] in {"running", "free"}:
            raise RequestInProgress(header=KEY_HEADER)
        packed = access.load(self.caller, item["file"])[1] if "file" in item else bytes(item["answer"])
        answer: dict[str, Any] = unpack(packed)
        if item["state"] == "failed":
            raise from_message(answer)
        return answer

    def _finish(self, state: str, answer: Any) -> None:
        packed = pack(answer)
        is_small = len(packed) <= MAX_INLINE_ANSWER_BYTES
        kept = {"answer": packed} if is_small else {"file": access.put(self.caller, packed, PACKED_TYPE).sha256}
        ledger_table().set(self._pk, self._sk, {"state": state, **kept})

    @property
    def _pk(self) -> str:
        return f"{self.caller.organization}#idempotency"

    @property
    def _sk(self) -> str:
        return f"{self.caller.user}#{hashlib.sha256(self.key.encode()).hexdigest()}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(json.dumps(self.subject, sort_keys=True).encode()).hexdigest()


@router.operation("POST", "/v1/tools/call", "Call a tool")
def call_tool(
    body: CallRequest,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias=KEY_HEADER, min_length=1, max_length=255, description="A write that is repeated with it runs once"
        ),
    ] = None,
) -> Response[CallResponse]:
    """Run one tool and return its result.

    A tool that destroys something answers 428 with the id of a question, until a person has agreed to it.
    """
    exchange = current()
    module, tool = names.find(exchange.permissions, body.name)
    said = body.options
    options = RunOptions(timeout=said.timeout / 1000, retry=said.retry, retry_delay=said.retry_delay / 1000)
    use = ToolUse(module, tool, body.parameters, exchange.request_id, options=options)
    permitted = gate.permit(exchange.permissions, use)
    if idempotency_key is None or permitted.tool.reads:
        return _response(_call(use, body))
    key = IdempotencyKey(exchange.caller, idempotency_key, body.model_dump(mode="json", exclude={"confirmation"}))
    answer = key.replay()
    if answer is not None:
        return _response(answer, **{REPLAYED_HEADER: "true"})
    return _response(key.run(lambda: _call(use, body)))


@router.post("/tools/call", include_in_schema=False)
def redirect_to_call() -> Response[None]:
    """Send a program to the call of tools, with the same method and body."""
    return Response(307, headers={"location": f"{current().request.public_url}/v1/tools/call"})


def _call(use: ToolUse, body: CallRequest) -> dict[str, Any]:
    """Run a tool once its person has agreed, if it destroys something, and return the answer."""
    exchange = current()
    consent = Agreement(can_ask=True, question=body.confirmation, agreed=True if body.confirmation else None)
    admitted = gate.admit(exchange.permissions, use, consent)
    result = admitted.run(exchange.remaining)
    with answering(admitted.tool):
        content = _content(admitted.tool, result, body)
    answer = CallResponse(
        **content,
        more=result.more,
        account=result.account,
        execution_time=exchange.elapsed_milliseconds,
        timestamp=timestamp(),
        request_id=exchange.request_id,
    )
    return answer.model_dump(mode="json")


def _content(tool: Tool, result: ToolResult, body: CallRequest) -> dict[str, Any]:
    """Return the result as it was asked for: the service's JSON, the text that a model reads, or a file.

    JSON that no body can hold is in a file, too.
    """
    if body.options.as_file and (stored := tool.shows.stored_file(result.json)):
        return {"result": None, "file": stored}
    if body.options.as_file or (not body.compact and is_too_deep(result.json)):
        made = content_of(result.json, tool.shows, raw_output=not body.compact)
        file = access.put(current().caller, made.content, made.content_type)
        return {"result": None, "file": file.reference.model_dump()}
    return {"result": compact(result.json, tool.shows) if body.compact else result.json}


def _response(answer: dict[str, Any], **headers: str) -> Response[CallResponse]:
    return Response(200, "application/json", CallResponse.model_validate(answer), headers=headers)
