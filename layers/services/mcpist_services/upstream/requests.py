"""The requests that a server is sent, over HTTP or through the program runner.

`_meta` has the W3C `traceparent` of the request that causes them, as the protocol reserves it for every transport.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from pydantic import BaseModel, TypeAdapter

from mcpist.errors import McpistError, SchemaFetchError
from mcpist.running.refusals import Failure
from mcpist.telemetry import invocation
from mcpist_services.upstream import listing
from mcpist_services.upstream.checked_items import MAX_ANSWER_DEPTH, is_too_deep
from mcpist_services.upstream.connection import Request
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import Listing

_CALL_RESULT: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)

type Ask = Callable[..., bytes]
"""As `mcpist.programs.client.ask`: a request, and `deadline`."""


@dataclass(frozen=True, slots=True)
class ItemRequest[Result: BaseModel]:
    """One use of what a server offers."""

    method: Literal["call", "read", "prompt"]
    name: str
    """The tool, the resource's address, or the prompt."""
    result: type[Result]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reads: bool = True
    """Whether it may be sent again if its connection breaks."""


def call_tool(tool: str, arguments: Mapping[str, Any], *, reads: bool = False) -> ItemRequest[mcp_types.CallToolResult]:
    """Return a request that runs a tool."""
    return ItemRequest("call", tool, mcp_types.CallToolResult, arguments, reads)


def read_resource(uri: str) -> ItemRequest[mcp_types.ReadResourceResult]:
    """Return a request that reads a resource."""
    return ItemRequest("read", uri, mcp_types.ReadResourceResult)


def get_prompt(name: str, arguments: Mapping[str, str]) -> ItemRequest[mcp_types.GetPromptResult]:
    """Return a request that fills in a prompt."""
    return ItemRequest("prompt", name, mcp_types.GetPromptResult, arguments)


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


def for_client(method: str, name: str, arguments: Mapping[str, Any]) -> Request[Any]:
    """Return a request as a connected client sends it."""
    traceparent = invocation.traceparent()
    meta: Any = {"traceparent": traceparent} if traceparent else None  # there is none outside of an invocation

    async def request(client: Client) -> Any:
        if method == "call":
            return await _call(client, name, arguments, meta)
        if method == "read":
            return await client.session.read_resource(name, meta=meta)
        return await client.session.get_prompt(name, dict(arguments), meta=meta)

    return request


async def _call(client: Client, tool: str, arguments: Mapping[str, Any], meta: Any) -> mcp_types.CallToolResult:
    """Run a tool.

    The SDK's own method would first list the tools, to check the result; that is needed only for a server that wants
    arguments in headers.
    """
    call = mcp_types.CallToolRequest(
        params=mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments), _meta=meta)
    )
    try:
        answer = await client.session.send_request(call, _CALL_RESULT)
    except MCPError as error:
        if error.error.code != HEADER_MISMATCH:
            raise
        await listing.read(client)
        answer = await client.session.send_request(call, _CALL_RESULT)
    if isinstance(answer, mcp_types.CallToolResult) and is_too_deep(answer.structured_content):
        raise MCPError(code=INVALID_REQUEST, message=f"its answer is nested deeper than {MAX_ANSWER_DEPTH} levels")
    if isinstance(answer, mcp_types.InputRequiredResult):
        raise MCPError(code=INVALID_REQUEST, message="it asks a person for input, which cannot be passed on")
    return answer
