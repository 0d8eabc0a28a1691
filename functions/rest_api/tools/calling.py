"""The route that calls a tool."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response

from mcpist.batch.execution import submission
from mcpist.batch.execution.undo import asked_undo
from mcpist.batch.ledger import ledger
from mcpist.batch.saved.expansion import call_line
from mcpist.errors import from_message
from mcpist.files import access
from mcpist.files.answers import content_of
from mcpist.render.answer import compact
from mcpist.running import gate
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolResult, ToolUse, answering
from mcpist.running.options import RunOptions
from mcpist.running.preview import preview
from mcpist.tools.declare.tool import Tool
from rest_api.exchange import current, timestamp
from rest_api.router import Operations, is_too_deep
from rest_api.tools import names
from rest_api.tools.models import CallRequest, CallResponse

DEPRECATED_SINCE = 1_795_651_200  # 2026-11-26, see docs/rest.md
router = Operations("tools")


@router.operation("POST", "/v1/tools/call", "Call a tool")
def call_tool(body: CallRequest) -> CallResponse:
    """Run one tool and return its result.

    A tool that destroys something answers 428 with the id of a question, until a person has agreed to it.
    """
    exchange = current()
    module, tool = names.find(exchange.permissions, body.name)
    said = body.options
    times = {"timeout": said.timeout / 1000, "retry_delay": said.retry_delay / 1000}
    options = RunOptions(retry=said.retry, account=said.account, undoable=said.undoable, **times)
    consent = Agreement(can_ask=True, question=body.confirmation, agreed=True if body.confirmation else None)
    if undo := asked_undo(exchange.permissions, module, tool, body.parameters, exchange.request_id):
        return _run_batch(undo, body, consent)
    if line := call_line(exchange.permissions, module, tool, body.parameters, options):
        return _run_batch({"commands": [line]}, body, consent)
    use = ToolUse(module, tool, body.parameters, exchange.request_id, options=options)
    if body.dry_run:
        shown = preview(exchange.permissions, use, exchange.remaining)
        return _response(shown["account"], result=shown)
    admitted = gate.admit(exchange.permissions, use, consent)
    result = admitted.run(exchange.remaining)
    with answering(admitted.tool):
        content = _content(admitted.tool, result, body)
    return _response(result.account, more=result.more, **content)


def _run_batch(described: Mapping[str, Any], body: CallRequest, consent: Agreement) -> CallResponse:
    """Run a saved batch or an undo, and return the answer of its step; without one it still runs."""
    exchange, request = current(), {**described, "undoable": body.options.undoable}
    submitted = submission.prepare_described(exchange.permissions, request, exchange.request_id)
    if body.dry_run:
        return _response("", result=submitted.describe(exchange.permissions, exchange.remaining))
    left = exchange.remaining
    head = submitted.submit(exchange.permissions, consent, request, seconds=left, wait=left)
    head = submission.wait(head, exchange.remaining)
    entries = ledger.get_entries(head.pk)
    answer = next(entry for entry in entries if entry.step.output)
    content: dict[str, Any] = {}
    if answer.status == "succeeded":
        tool = exchange.permissions.catalogue.module(answer.step.module).tools[answer.step.tool]
        content = _content(tool, ToolResult(ledger.load_json(head, answer.result)), body)
    elif error := answer.error or next((entry.error for entry in entries if entry.error), None):
        raise from_message(error).with_details(batch=head.batch)
    return _response("", batch=head.batch, **content)


@router.post("/tools/call", include_in_schema=False)
def redirect_to_call() -> Response[None]:
    """Send a program to the call of tools, with the same method and body."""
    target = f"{current().request.public_url}/v1/tools/call"
    link = f'<{target}>; rel="successor-version"'
    return Response(307, headers={"location": target, "deprecation": f"@{DEPRECATED_SINCE}", "link": link})


def _response(account: str, **fields: Any) -> CallResponse:
    """Return the response with the times and the id of this request."""
    exchange = current()
    return CallResponse(
        **fields,
        account=account,
        execution_time=exchange.elapsed_milliseconds,
        timestamp=timestamp(),
        request_id=exchange.request_id,
    )


def _content(tool: Tool, result: ToolResult, body: CallRequest) -> dict[str, Any]:
    """Return the result as it was asked for: the service's JSON, the text that a model reads, or a file.

    JSON that no body can hold is in a file, too.
    """
    if body.options.as_file and (stored := tool.shows.stored_file(result.json)):
        return {"result": None, "file": stored}
    form = body.options.format
    if body.options.as_file or (form is None and is_too_deep(result.json)):
        made = content_of(result.json, tool.shows, tool.name, raw_output=form is None)
        file = access.put(current().caller, made.content, made.content_type, made.name)
        return {"result": None, "file": file.reference.model_dump()}
    return {"result": compact(result.json, tool.shows, form) if form else result.json}
