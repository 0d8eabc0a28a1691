"""The route that calls a tool."""

from mcpist.render.answer import compact
from mcpist.running.confirmation import Consent
from mcpist.running.gate import ToolUse, admit
from mcpist.running.options import RunOptions
from rest_api import status
from rest_api.exchange import current
from rest_api.router import new_router
from rest_api.tools import names
from rest_api.tools.models import CallOptions, CallRequest, CallResponse

router = new_router()


@router.post("/v1/tools/call", tags=["tools"], summary="Call a tool", operation_id="call_tool")
def call_tool(body: CallRequest) -> CallResponse:
    """Run one tool and return its result.

    A tool that destroys something answers 428 with the id of a question, until a person has agreed to it.
    """
    exchange = current()
    permissions = exchange.permissions
    module, tool = names.find(permissions, body.name)
    use = ToolUse(module, tool, body.parameters, exchange.request_id, options=_run_options(body.options))
    agreed = True if body.confirmation else None
    admitted = admit(permissions, use, Consent(can_ask=True, question=body.confirmation, agreed=agreed))
    result = admitted.run(exchange.remaining)
    return CallResponse(
        result=compact(result.json, admitted.tool.shows) if body.compact else result.json,
        more=result.more,
        account=result.account,
        execution_time=exchange.elapsed_milliseconds,
        timestamp=status.timestamp(),
        request_id=exchange.request_id,
    )


def _run_options(options: CallOptions) -> RunOptions:
    return RunOptions(timeout=options.timeout / 1000, retry=options.retry, retry_delay=options.retry_delay / 1000)
