"""The route that calls a tool."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from mcpist.files import access
from mcpist.files.answers import content_of
from mcpist.render.answer import compact
from mcpist.running import gate
from mcpist.running.answering import answering
from mcpist.running.confirmation import Consent
from mcpist.running.gate import ToolResult, ToolUse
from mcpist.running.options import RunOptions
from mcpist.tools.declare.tool import Tool
from rest_api import status
from rest_api.exchange import current
from rest_api.idempotency import HEADER, IdempotencyKey
from rest_api.model import is_too_deep
from rest_api.router import new_router
from rest_api.tools import names
from rest_api.tools.models import CallOptions, CallRequest, CallResponse

REPLAYED_HEADER = "idempotency-replayed"

router = new_router()


@router.post("/v1/tools/call", tags=["tools"], summary="Call a tool", operation_id="call_tool")
def call_tool(
    body: CallRequest,
    idempotency_key: Annotated[
        str | None,
        Header(alias=HEADER, min_length=1, max_length=255, description="A write that is repeated with it runs once"),
    ] = None,
) -> Response[CallResponse]:
    """Run one tool and return its result.

    A tool that destroys something answers 428 with the id of a question, until a person has agreed to it.
    """
    exchange = current()
    module, tool = names.find(exchange.permissions, body.name)
    use = ToolUse(module, tool, body.parameters, exchange.request_id, options=_run_options(body.options))
    permitted = gate.permit(exchange.permissions, use)
    if idempotency_key is None or permitted.tool.reads:
        return _response(_call(use, body))
    key = IdempotencyKey(exchange.caller, idempotency_key, body.model_dump(mode="json", exclude={"confirmation"}))
    answer = key.replay()
    if answer is not None:
        return _response(answer, **{REPLAYED_HEADER: "true"})
    return _response(key.run(lambda: _call(use, body)))


def _call(use: ToolUse, body: CallRequest) -> dict[str, Any]:
    """Run a tool once its person has agreed, if it destroys something, and return the answer."""
    exchange = current()
    consent = Consent(can_ask=True, question=body.confirmation, agreed=True if body.confirmation else None)
    admitted = gate.admit(exchange.permissions, use, consent)
    result = admitted.run(exchange.remaining)
    with answering(admitted.tool):
        content = _content(admitted.tool, result, body)
    answer = CallResponse(
        **content,
        more=result.more,
        account=result.account,
        execution_time=exchange.elapsed_milliseconds,
        timestamp=status.timestamp(),
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


def _run_options(options: CallOptions) -> RunOptions:
    return RunOptions(timeout=options.timeout / 1000, retry=options.retry, retry_delay=options.retry_delay / 1000)
