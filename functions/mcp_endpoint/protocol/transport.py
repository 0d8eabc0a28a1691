"""One sandbox's MCP server: the official SDK's lowlevel server, driven as ASGI on one event loop."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from mcp_endpoint.exchange import Exchange
from mcp_endpoint.protocol import plain_request
from mcpist.loopback import same_urls
from mcpist.settings import settings

type AsgiResponse = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


class Protocol:
    """A server that answers one request at a time."""

    def __init__(self, server: Server[Any], public_url: str) -> None:
        self._server = server
        self._security = _transport_security(public_url)
        self._manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, security_settings=self._security
        )
        self._loop = asyncio.new_event_loop()
        self._ready, self._stop = asyncio.Event(), asyncio.Event()
        self._running = self._loop.create_task(self._run())
        self._loop.run_until_complete(self._ready.wait())

    def serve(
        self, path: str, headers: dict[str, str], body: bytes, message: Mapping[str, Any], exchange: Exchange
    ) -> AsgiResponse:
        """Answer one POST request; `message` is what its body says, empty where that is no single message."""
        if request := plain_request.read(self._server, message, headers, self._security):
            return plain_request.answer(self._server, request, exchange)
        scope = _scope(path, headers) | {"mcpist.exchange": exchange}
        return self._loop.run_until_complete(self._serve(scope, body))

    def close(self) -> None:
        """Stop the server and its event loop."""
        self._stop.set()
        self._loop.run_until_complete(self._running)
        self._loop.close()

    async def _run(self) -> None:
        """Keep the session manager open in one task until `close`."""
        async with self._manager.run():
            self._ready.set()
            await self._stop.wait()

    async def _serve(self, scope: dict[str, Any], body: bytes) -> AsgiResponse:
        """Have the SDK's transport answer."""
        status, response_headers, chunks, unread = 500, {}, [], [body]

        async def receive() -> dict[str, Any]:
            while not unread:  # the next message would be that the client has disconnected, which no function learns
                await asyncio.Event().wait()
            return {"type": "http.request", "body": unread.pop(), "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, response_headers
            if message["type"] == "http.response.start":
                status = message["status"]
                response_headers = {key.decode(): value.decode() for key, value in message["headers"]}
            else:
                chunks.append(message.get("body", b""))

        await self._manager.handle_request(scope, receive, send)
        return status, response_headers, b"".join(chunks)


def _scope(path: str, headers: dict[str, str]) -> dict[str, Any]:
    """Return the ASGI scope of a POST request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "client": None,
        "server": None,
    }


def _transport_security(public_url: str) -> TransportSecuritySettings:
    """Accept the endpoint's own host, and its own and the allowed origins; on loopback all names of the host."""
    own = same_urls(public_url)
    hosts = [urlsplit(url).netloc for url in own]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*own, *settings().allowed_origins])
