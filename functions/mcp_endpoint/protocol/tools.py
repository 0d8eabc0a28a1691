"""The methods `tools/list` and `tools/call`."""

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from mcp_endpoint.arguments import REQUEST_MODELS
from mcp_endpoint.content.blocks import content
from mcp_endpoint.exchange import Exchange
from mcp_endpoint.meta_tools import categories, declaration
from mcp_endpoint.meta_tools.declaration import ToolAnswer
from mcp_endpoint.protocol.errors import error_result, protocol_error, protocol_errors
from mcpist.errors import AccountError, ConfirmationPending, McpistError, StaleConfirmation
from mcpist.settings import settings
from mcpist.telemetry.door import typed_errors

# The key of a result's metadata for the account that acted: clients and people read it, the model does not.
ACCOUNT_META_KEY = "mcpist/account"


def list_tools(exchange: Exchange, _: PaginatedRequestParams | None) -> ListToolsResult:
    """Declare the meta-tools, and the tools of categories where the deployment shows them too."""
    with protocol_errors(exchange):
        more = categories.declare(exchange.caller) if settings().category_tools else []
        return ListToolsResult(tools=[*declaration.declare(exchange.caller), *more])


def list_category_tools(exchange: Exchange, _: PaginatedRequestParams | None) -> ListToolsResult:
    """Declare the tools of categories."""
    with protocol_errors(exchange):
        return ListToolsResult(tools=categories.declare(exchange.caller))


def call_category_tool(exchange: Exchange, params: CallToolRequestParams) -> Any:
    """Call a tool of categories."""
    if params.name not in categories.REQUEST_MODELS:
        raise _unknown_tool(params.name, categories.REQUEST_MODELS)
    try:
        return categories.call_tool(exchange, params.name, params.arguments or {})
    except ConfirmationPending as error:
        return _form(exchange, error)
    except StaleConfirmation as error:
        raise protocol_error(exchange, error) from None


def call_tool(exchange: Exchange, params: CallToolRequestParams) -> Any:
    """Call a meta-tool, or a tool of categories where the deployment shows them too."""
    if settings().category_tools and params.name in categories.REQUEST_MODELS:
        return call_category_tool(exchange, params)
    if params.name not in REQUEST_MODELS:
        raise _unknown_tool(params.name, REQUEST_MODELS)
    try:
        with typed_errors():
            return _to_result(exchange, declaration.call_tool(exchange, params.name, params.arguments or {}))
    except ConfirmationPending as error:
        return _form(exchange, error)
    except StaleConfirmation as error:  # the protocol wants an unknown state refused, not answered
        raise protocol_error(exchange, error) from None
    except McpistError as error:
        if isinstance(error, AccountError) and exchange.client.asks_by_error:
            raise protocol_error(exchange, error) from None
        return error_result(exchange, error)


def _to_result(exchange: Exchange, answer: declaration.Answer) -> Any:
    """Return a meta-tool's answer as a result of the protocol, with only what the client declared to support."""
    client = exchange.client
    blocks = {"links": client.supports_links, "separate": client.separate_blocks}
    if isinstance(answer, ToolAnswer):
        meta: Any = {ACCOUNT_META_KEY: answer.account} if answer.account else None
        return CallToolResult(content=content(answer.parts, **blocks), _meta=meta)
    from mcp_endpoint.batches import batch  # `tools/list` and a call of one tool need not wait for these
    from mcp_endpoint.elicitation.connecting import UrlElicitation

    match answer:
        case UrlElicitation():
            return answer.as_result()
        case batch.BatchView(head) if client.supports_tasks and not head.done:
            return batch.as_task(head).as_create_task_result()
        case batch.BatchView():
            return answer.as_result(**blocks)
        case parts:
            return CallToolResult(content=content(parts, **blocks))


def _form(exchange: Exchange, error: ConfirmationPending) -> Any:
    """Return the question that must be answered first, as a form."""
    from mcp_endpoint.elicitation.confirmation import FormElicitation

    return FormElicitation.of(error, exchange.caller.locale).as_result()


def _unknown_tool(name: str, known: dict[str, Any]) -> MCPError:
    return MCPError(INVALID_PARAMS, f"Unknown tool: {name}. Tools: {', '.join(known)}")
