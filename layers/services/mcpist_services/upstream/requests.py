"""The requests that a server is sent, over any transport.

`_meta` has the W3C `traceparent` of the request that causes them, as the protocol reserves it for every transport.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from pydantic import TypeAdapter

from mcpist.errors import McpistError, SchemaFetchError
from mcpist.running.refusals import Failure
from mcpist.telemetry import invocation
from mcpist_services.upstream import listing
from mcpist_services.upstream.connection import Request
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import Listing

_CALL_RESULT: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)


async def list_tools(link: Link, service: str, *, deadline: float, private: bool) -> Listing:
    """Return everything that a server offers; what it offers is `private` if it is asked with a user's account."""
    connected = await link.connect(deadline)
    if isinstance(connected, Failure):
        raise connected.error
    try:
        found = await link.send(listing.read, deadline=deadline, reads=True)
    except McpistError as error:
        problem = error.details.get("problem") or str(error)
        raise SchemaFetchError(**{**error.details, "service": service, "problem": problem}) from None
    return replace(found, scope="private") if private else found


def calling(tool: str, arguments: Mapping[str, Any]) -> Request[mcp_types.CallToolResult]:
    """Return a request that runs a tool.

    The SDK's own method would first list the tools, to check the result; that is needed only for a server that wants
    arguments in headers.
    """
    meta = _trace()

    async def request(client: Client) -> mcp_types.CallToolResult:
        params = mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments), _meta=meta)
        call = mcp_types.CallToolRequest(params=params)
        try:
            answer = await client.session.send_request(call, _CALL_RESULT)
        except MCPError as error:
            if error.error.code != HEADER_MISMATCH:
                raise
            await listing.read(client)
            answer = await client.session.send_request(call, _CALL_RESULT)
        if isinstance(answer, mcp_types.InputRequiredResult):
            raise MCPError(code=INVALID_REQUEST, message="it asks a person for input, which cannot be passed on")
        return answer

    return request


def reading(uri: str) -> Request[mcp_types.ReadResourceResult]:
    """Return a request that reads a resource."""
    meta = _trace()

    async def request(client: Client) -> mcp_types.ReadResourceResult:
        return await client.session.read_resource(uri, meta=meta)

    return request


def prompting(name: str, arguments: Mapping[str, str]) -> Request[mcp_types.GetPromptResult]:
    """Return a request that fills in a prompt."""
    meta = _trace()

    async def request(client: Client) -> mcp_types.GetPromptResult:
        return await client.session.get_prompt(name, dict(arguments), meta=meta)

    return request


def _trace() -> Any:
    """Return the `_meta` of a request that continues the trace; None outside of an invocation."""
    traceparent = invocation.traceparent()
    return {"traceparent": traceparent} if traceparent else None
