"""Errors as the protocol's: an error of the method, or a tool's result that says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from starlette.requests import Request

from mcp_endpoint.exchange import Exchange, exchange_of
from mcp_endpoint.protocol.message import SESSION_HEADER, opens_urls
from mcp_endpoint.tasks import Context
from mcpist.errors import AccountError, CallerError, McpistError
from mcpist.render.answer import compact_json
from mcpist.telemetry.door import typed_errors
from mcpist.telemetry.invocation import count_error

# Clients of this protocol version may learn from an error of its own where to connect an account.
URL_ELICITATION_VERSION = "2025-11-25"


@contextmanager
def protocol_errors(context: Context, **data: str) -> Iterator[None]:
    """Raise errors as the protocol's; `data` is added to theirs, e.g. the `uri` that the protocol wants there."""
    try:
        with typed_errors():
            yield
    except McpistError as error:
        raise protocol_error(context, error, **data) from None


def protocol_error(context: Context, error: McpistError, **data: str) -> MCPError:
    """Count an error and return it as the protocol's, with code, message, hint and details as its data."""
    count_error(error.code)
    code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
    locale = exchange_of(context).caller.locale
    if isinstance(error, AccountError) and asks_by_error(context):
        from mcp_endpoint.elicitation import connecting

        return connecting.to_protocol_error(error, locale)
    return MCPError(code, error.text(locale).message, error.as_dict(locale) | data)


def asks_by_error(context: Context) -> bool:
    """Return whether the client's protocol version asks people to open an address by an error, and the client can."""
    session_id = cast("Request", context.request).headers.get(SESSION_HEADER, "")
    return context.protocol_version == URL_ELICITATION_VERSION and opens_urls(session_id)


def error_result(exchange: Exchange, error: McpistError) -> CallToolResult:
    """Count an error and return it as a tool's result."""
    count_error(error.code)
    text = compact_json(error.as_dict(exchange.caller.locale))
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
