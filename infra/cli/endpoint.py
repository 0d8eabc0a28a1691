"""A running endpoint as the command line reaches it: a real MCP client."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from infra.cli.document import Done, Failed

LAST_UP = Path(".mcpist/up.json")
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Endpoint:
    """Where the endpoint is and with which access token it is asked."""

    url: str
    token: str

    @classmethod
    def chosen(cls, url: str | None, token: str | None) -> "Endpoint":
        """The endpoint of the command line, or of the last `mcpist up`."""
        if url and token:
            return cls(url, token)
        try:
            last = json.loads(LAST_UP.read_text("utf-8"))
        except (OSError, ValueError):
            message = "No endpoint is known."
            hint = "Start one with `mcpist up`, or give --url and --token."
            raise Failed({"code": "VALIDATION_ERROR", "message": message, "hint": hint}) from None
        return cls(url or last["mcp_url"], token or last["access_token"])

    def call(self, tool: str, arguments: dict[str, Any]) -> Done:
        """Call one of the meta-tools; its error is a Failed."""
        return asyncio.run(self._call(tool, arguments))

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Done:
        headers = {"authorization": f"Bearer {self.token}"}
        try:
            async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as http:
                transport = streamable_http_client(self.url, http_client=http)
                async with Client(transport) as client:
                    result = await client.call_tool(tool, arguments)
                    version = client.protocol_version
        except* MCPError as group:
            raise self._failed(group) from None
        except* (httpx2.HTTPError, OSError) as group:
            raise self._failed(group) from None
        return _done(result, {"url": self.url, "protocol_version": version})

    def _failed(self, group: BaseExceptionGroup[Exception]) -> Failed:
        message = f"{self.url} could not be asked: {_innermost(group)}"
        hint = "Is it running, and is the token still valid? See `mcpist up`."
        return Failed({"code": "UPSTREAM_UNAVAILABLE", "message": message, "hint": hint})


def _done(result: CallToolResult, metadata: dict[str, Any]) -> Done:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if result.is_error:
        raise Failed(json.loads(texts[0]))
    return Done([_value(text) for text in texts], metadata)


def _value(text: str) -> Any:
    """JSON as JSON, so that programs need not parse twice; any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
