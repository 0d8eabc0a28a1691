"""Servers that speak over stdio, as a door reaches them: the program runner starts them and keeps their sessions."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import mcp_types

from mcpist.aws.codec import unpack
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.listing import Listing, listing_from_json

type Ask = Callable[..., bytes]
"""As `mcpist.programs.client.ask`: a request, and `deadline`."""


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
