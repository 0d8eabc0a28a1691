"""The requests that a server is sent, over any transport.

`_meta` has the W3C `traceparent` of the request that causes them, as the protocol reserves it for every transport.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from pydantic import TypeAdapter

from mcpist.aws.attributes import unpack
from mcpist.errors import McpistError, SchemaFetchError
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist.running.refusals import Failure
from mcpist.telemetry import invocation
from mcpist_services.upstream import listing
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connection import Request
from mcpist_services.upstream.link import Link
from mcpist_services.upstream.listing import Listing, listing_from_json

_CALL_RESULT: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)

type Ask = Callable[..., bytes]
"""As `mcpist.programs.client.ask`: a request, and `deadline`."""


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


class StdioServer:
    """One server of an organization, with the values of its variables; a `deadline` is on the monotonic clock."""

    def __init__(
        self, name: str, server: UpstreamServer, values: Mapping[str, str], organization: str, ask: Ask
    ) -> None:
        self._organization = organization
        self._ask = ask
        self._declaration = ServerDeclaration(
            name=name,
            command=server.command,
            arguments=server.args,
            environment=dict(values),
            timeout_seconds=server.timeout_seconds,
            result_bytes=server.result_bytes,
            concurrency=server.concurrency,
        )

    def list_tools(self, *, deadline: float) -> Listing:
        """Return everything that it offers."""
        return listing_from_json(self._send("list", deadline=deadline, reads=True))

    def call(
        self, tool: str, arguments: Mapping[str, Any], *, deadline: float, reads: bool
    ) -> mcp_types.CallToolResult:
        """Run a tool."""
        answer = self._send("call", tool, arguments, deadline=deadline, reads=reads)
        return mcp_types.CallToolResult.model_validate(answer)

    def read_resource(self, uri: str, *, deadline: float) -> mcp_types.ReadResourceResult:
        """Read a resource."""
        return mcp_types.ReadResourceResult.model_validate(self._send("read", uri, deadline=deadline, reads=True))

    def get_prompt(self, name: str, arguments: Mapping[str, str], *, deadline: float) -> mcp_types.GetPromptResult:
        """Return a prompt, filled in."""
        answer = self._send("prompt", name, arguments, deadline=deadline, reads=True)
        return mcp_types.GetPromptResult.model_validate(answer)

    def _send(
        self,
        method: Literal["list", "call", "read", "prompt"],
        name: str = "",
        parameters: Mapping[str, Any] | None = None,
        *,
        deadline: float,
        reads: bool,
    ) -> Any:
        request = ServerRequest(
            organization=self._organization,
            server=self._declaration,
            method=method,
            name=name,
            parameters=dict(parameters or {}),
            reads=reads,
            seconds=max(0.001, deadline - time.monotonic()),
        )
        return unpack(self._ask(request, deadline=deadline))
