"""Errors as the protocol's: an error of the method, or a tool's result that says so."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from mcp_endpoint.exchange import Exchange
from mcpist.errors import AccountError, CallerError, McpistError
from mcpist.render.answer import compact_json
from mcpist.telemetry.door import typed_errors
from mcpist.telemetry.invocation import count_error


@contextmanager
def protocol_errors(exchange: Exchange, **data: str) -> Iterator[None]:
    """Raise errors as the protocol's; `data` is added to theirs, e.g. the `uri` that the protocol wants there."""
    try:
        with typed_errors():
            yield
    except McpistError as error:
        raise protocol_error(exchange, error, **data) from None


def protocol_error(exchange: Exchange, error: McpistError, **data: str) -> MCPError:
    """Count an error and return it as the protocol's, with code, message, hint and details as its data."""
    count_error(error.code)
    code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
    locale = exchange.caller.locale
    if isinstance(error, AccountError) and exchange.client.asks_by_error:
        from mcp_endpoint.elicitation import connecting

        return connecting.to_protocol_error(error, locale)
    return MCPError(code, error.text(locale).message, error.as_dict(locale) | data)


def error_result(exchange: Exchange, error: McpistError) -> CallToolResult:
    """Count an error and return it as a tool's result."""
    count_error(error.code)
    text = compact_json(error.as_dict(exchange.caller.locale))
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
