"""One sandbox's MCP servers: the official SDK's lowlevel server, driven as ASGI on one event loop.

One has the meta-tools, resources, prompts and tasks, the other the tools of categories.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import Icon

from mcp_endpoint import events, skills, tasks
from mcp_endpoint.exchange import AsgiResponse, McpExchange, SyncHandler
from mcp_endpoint.protocol import methods
from mcpist.loopback import same_urls
from mcpist.settings import settings
from mcpist.shortcuts import shortcut
from mcpist.version import VERSION

SERVER_NAME, TITLE = "mcpist", "MCPist"
INSTRUCTIONS = (
    "MCPist has your organization's tools for many services behind three. get_module_schema finds them: by query where "
    "you do not know the module, by modules to read their signatures. call runs one tool. batch runs many as one "
    "graph, whose steps take values from each other's results: use it in place of several calls. Answers are TOON: "
    "`user{login id}: ada,1` has fields, `items*` those all items share, `labels(name color)` a list `a|b;c|d`, "
    "`{url}/x` begins with field url; options.format changes it. "
    "A large result is a file, which the module files reads in parts. If an account is missing, show the user the link."
)
CATEGORY_INSTRUCTIONS = (
    "The tools of MCP servers, by category. get-category-tools gives a category's tools with their schemas; "
    "call-category-tool runs one of them."
)
ICON = Icon(
    src=(
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMi"
        "AzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iOCIgZmlsbD0iIzJmNGFjNyIvPjxwYXRoIGQ9Ik04IDIzVjEwbD"
        "ggOCA4LTh2MTMiIGZpbGw9Im5vbmUiIHN0cm9rZT0iI2ZmZiIgc3Ryb2tlLXdpZHRoPSIzIiBzdHJva2UtbGluZWNhcD0icm91bm"
        "QiIHN0cm9rZS1saW5lam9pbj0icm91bmQiLz48L3N2Zz4="
    ),
    mime_type="image/svg+xml",
    sizes=["any"],
)
LIST_METHODS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LIST_CACHE_MILLISECONDS = 60_000
plain_request = shortcut("mcp_endpoint.protocol.plain_request")


class LeanServer(Server[Any]):
    """The SDK's server, with less work for each message.

    Its only middleware is for OpenTelemetry's SDK, which no function has: our spans are X-Ray's.
    """

    def __init__(self, *cached: CacheableMethod, **options: Any) -> None:
        hints = dict.fromkeys(cached, CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private"))
        own: dict[str, Any] = {"version": VERSION, "title": TITLE, "icons": [ICON], "cache_hints": hints}
        super().__init__(SERVER_NAME, get_tool_input_schema=_no_header_arguments, **own, **options)
        self.middleware.clear()
        self._stamp = super().server_info_stamp

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The server's description in each answer; icons are not copied, since an answer is only written as JSON."""
        return dict(self._stamp)


def meta_tool_server() -> Server[Any]:
    """Return the server of `/mcp`."""
    server = LeanServer(
        *LIST_METHODS,
        instructions=INSTRUCTIONS,
        on_list_tools=SyncHandler(methods.list_tools),
        on_call_tool=SyncHandler(methods.call_tool),
        on_list_resources=SyncHandler(methods.list_resources),
        on_list_resource_templates=SyncHandler(methods.list_resource_templates),
        on_read_resource=SyncHandler(methods.read_resource),
        on_list_prompts=SyncHandler(methods.list_prompts),
        on_get_prompt=SyncHandler(methods.get_prompt),
        on_completion=SyncHandler(methods.complete),
    )
    tasks.install(
        server,
        get=SyncHandler(methods.get_task),
        update=SyncHandler(methods.update_task),
        cancel=SyncHandler(methods.cancel_task),
    )
    skills.install(server, methods.answering, LIST_CACHE_MILLISECONDS)
    events.install(server, methods.protocol_error, LIST_CACHE_MILLISECONDS)
    return server


def category_server() -> Server[Any]:
    """Return the server of `/mcp/categories`."""
    return LeanServer(
        "tools/list",
        instructions=CATEGORY_INSTRUCTIONS,
        on_list_tools=SyncHandler(methods.list_category_tools),
        on_call_tool=SyncHandler(methods.call_category_tool),
    )


def _no_header_arguments(_: str) -> None:
    """Tell the SDK that no argument comes in a header, so that it need not search each call's schema for one."""


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

    def post(
        self, path: str, headers: dict[str, str], body: bytes, message: Mapping[str, Any], exchange: McpExchange
    ) -> AsgiResponse:
        """Answer one POST request; `message` is what its body says, empty where that is no single message."""
        parse = plain_request and plain_request.parse_plain
        if parse and (request := parse(self._server, message, headers, self._security, body)):
            answer: AsgiResponse = plain_request.answer_plain(self._server, request, exchange)
            return answer
        scope = _scope(path, headers) | {"mcpist.exchange": exchange}
        return self._loop.run_until_complete(self._post_by_sdk(scope, body))

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

    async def _post_by_sdk(self, scope: dict[str, Any], body: bytes) -> AsgiResponse:
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
