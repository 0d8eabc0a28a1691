"""The methods of the protocol: tools, resources, prompts, completions and tasks, and their errors."""

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial, wraps
from typing import Any, cast

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from mcp_endpoint import prompts, resources
from mcp_endpoint.arguments import REQUEST_MODELS
from mcp_endpoint.blocks import content
from mcp_endpoint.exchange import McpExchange, RanCall
from mcp_endpoint.meta_tools import categories, declaration
from mcp_endpoint.meta_tools.declaration import ToolAnswer
from mcp_endpoint.tasks import Task, TaskParams, UpdateParams
from mcpist.errors import (
    AccountError,
    ApprovalPending,
    BatchNotFound,
    CallerError,
    ConfirmationPending,
    McpistError,
    StaleConfirmation,
)
from mcpist.settings import settings
from mcpist.telemetry.door import typed_errors
from mcpist.telemetry.invocation import count_error

# The key of a result's metadata for the account that acted: clients and people read it, the model does not.
ACCOUNT_META_KEY = "mcpist/account"


def answering[Params, Result](
    handle: Callable[[McpExchange, Params], Result],
) -> Callable[[McpExchange, Params], Result]:
    """Return a method whose errors are the protocol's, with the `uri` of its params, which the protocol wants there."""

    @wraps(handle)
    def answer(exchange: McpExchange, params: Params) -> Result:
        try:
            with typed_errors():
                return handle(exchange, params)
        except McpistError as error:
            named = {"uri": params.uri} if hasattr(params, "uri") else {}
            raise protocol_error(exchange, error, **named) from None

    return answer


@answering
def list_tools(exchange: McpExchange, _: PaginatedRequestParams | None) -> ListToolsResult:
    """Declare the meta-tools, and the tools of categories where the deployment shows them too."""
    more = categories.declare(exchange.permissions) if settings().category_tools else []
    return ListToolsResult(tools=[*declaration.declare(exchange.permissions), *more])


@answering
def list_category_tools(exchange: McpExchange, _: PaginatedRequestParams | None) -> ListToolsResult:
    """Declare the tools of categories."""
    return ListToolsResult(tools=categories.declare(exchange.permissions))


def call_tool(exchange: McpExchange, params: CallToolRequestParams) -> Any:
    """Call a meta-tool, or a tool of categories where the deployment shows them too."""
    more = categories.REQUEST_MODELS if settings().category_tools else {}
    return _call(exchange, params, (*REQUEST_MODELS, *more))


def call_category_tool(exchange: McpExchange, params: CallToolRequestParams) -> Any:
    """Call a tool of categories."""
    return _call(exchange, params, categories.REQUEST_MODELS)


def _call(exchange: McpExchange, params: CallToolRequestParams, known: Collection[str]) -> Any:
    """Call one of the known tools; an error is its result, unless the protocol wants a question or an error of its."""
    name, is_category = params.name, params.name in categories.REQUEST_MODELS
    if name not in known:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}. Tools: {', '.join(known)}")
    try:
        with typed_errors():
            if is_category:
                return categories.run_category_tool(exchange, name, params.arguments or {})
            return _to_result(exchange, declaration.run_meta_tool(exchange, name, params.arguments or {}))
    except ConfirmationPending as error:
        from mcp_endpoint.elicitation import form_of

        return form_of(error, exchange.caller.locale)
    except StaleConfirmation as error:  # the protocol wants an unknown state refused, not answered
        raise protocol_error(exchange, error) from None
    except McpistError as error:
        if is_category:
            return error_result(exchange, error, categories.ERROR_NAMES.get(error.code, error.code))
        if (
            isinstance(error, ApprovalPending)
            and exchange.client.supports_tasks
            and error.details["state"] == "waiting"
        ):
            from mcp_endpoint import approvals

            return approvals.waiting(exchange.caller, error.details["approval_id"]).as_create_task_result()
        if isinstance(error, AccountError) and exchange.client.asks_by_error:
            raise protocol_error(exchange, error) from None
        return error_result(exchange, error)


def _to_result(exchange: McpExchange, answer: declaration.MetaAnswer) -> Any:
    """Return a meta-tool's answer as a result of the protocol, with only what the client declared to support."""
    client = exchange.client
    blocks = {"links": client.supports_links, "separate": client.separate_blocks}
    if isinstance(answer, ToolAnswer):
        meta: Any = {ACCOUNT_META_KEY: answer.account} if answer.account else None
        return CallToolResult(content=content(answer.parts, **blocks), _meta=meta)
    from mcp_endpoint import batch

    match answer:
        case InputRequiredResult():
            return answer
        case batch.BatchAnswer(head) if client.supports_tasks and not head.done:
            return batch.as_task(head).as_create_task_result()
        case batch.BatchAnswer():
            return answer.as_result(**blocks)
        case parts:
            return CallToolResult(content=content(parts, **blocks))


def _result_of(exchange: McpExchange, ran: RanCall | McpistError) -> CallToolResult:
    """Return the result of a call which an approval permitted, or of its error."""
    if isinstance(ran, McpistError):
        return error_result(exchange, ran)
    answer = declaration.answer_of(exchange.caller, ran)
    return cast("CallToolResult", _to_result(exchange, answer))


list_resources = answering(resources.page)
list_resource_templates = answering(resources.list_templates)
read_resource = answering(resources.read)
list_prompts = answering(prompts.list_prompts)
get_prompt = answering(prompts.get)
complete = answering(prompts.complete)


@answering
def get_task(exchange: McpExchange, params: TaskParams) -> Task:
    """Return a batch as a task, or a request that waits for an approval."""
    from mcp_endpoint import approvals, batch

    with suppress(BatchNotFound, ApprovalPending):
        return batch.task(exchange, params.task_id)
    found = approvals.task(exchange, params.task_id, partial(_result_of, exchange))
    return found if isinstance(found, Task) else batch.as_task(found)


@answering
def update_task(exchange: McpExchange, params: UpdateParams) -> None:
    """Accept and ignore answers: a batch asks its questions before it starts, so none is pending."""
    from mcpist.batch.execution import submission
    from mcpist.running import approvals

    if approvals.find_own(exchange.caller, params.task_id) is None:
        submission.find_own(exchange.caller, params.task_id)


@answering
def cancel_task(exchange: McpExchange, params: TaskParams) -> None:
    """Cancel a batch, or a request that waits for an approval."""
    from mcp_endpoint import approvals

    approvals.cancel(exchange.caller, params.task_id)


def protocol_error(exchange: McpExchange, error: McpistError, **data: str) -> MCPError:
    """Count an error and return it as the protocol's, with code, message, hint and details as its data."""
    count_error(error.code)
    code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
    locale = exchange.caller.locale
    if isinstance(error, AccountError) and exchange.client.asks_by_error:
        from mcp_endpoint import elicitation

        return elicitation.to_protocol_error(error, locale)
    return MCPError(code, error.text(locale).message, error.as_dict(locale) | data)


def error_result(exchange: McpExchange, error: McpistError, code: str = "") -> CallToolResult:
    """Count an error and return it as a tool's result, under another code if one is given."""
    count_error(error.code)
    fields = error.as_dict(exchange.caller.locale)
    return categories.json_result(fields | ({"code": code} if code else {}), is_error=True)
