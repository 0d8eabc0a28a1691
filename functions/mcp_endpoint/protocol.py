"""The MCP server: the official SDK's lowlevel server, driven as ASGI on one event loop per sandbox."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from aws_lambda_powertools import Logger
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from starlette.requests import Request

from mcp_endpoint import meta_tools, prompts, resources
from mcp_endpoint.exchange import Exchange
from mcpist.errors import CallerError, InternalError, McpistError
from mcpist.render.answer import minified
from mcpist.sieve import Sieve
from mcpist_modules import CATALOGUE

logger = Logger(child=True)

NAME, VERSION = "mcpist", "0.1.0"
LISTS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LIST_MILLISECONDS = 60_000

type Context = ServerRequestContext[Any, Any]
type Answer = tuple[int, dict[str, str], bytes]


class Protocol:
    """One sandbox's MCP server; it serves one request at a time."""

    def __init__(self, public_url: str) -> None:
        server = Server(
            NAME,
            version=VERSION,
            cache_hints=dict.fromkeys(LISTS, CacheHint(ttl_ms=LIST_MILLISECONDS, scope="private")),
            get_tool_input_schema=meta_tools.SCHEMAS.get,
            on_list_tools=_list_tools,
            on_call_tool=_call_tool,
            on_list_resources=_list_resources,
            on_list_resource_templates=_list_resource_templates,
            on_read_resource=_read_resource,
            on_list_prompts=_list_prompts,
            on_get_prompt=_get_prompt,
            on_completion=_complete,
        )
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=_security(public_url)
        )
        self._loop = asyncio.new_event_loop()
        self._ready, self._stop = asyncio.Event(), asyncio.Event()
        self._running = self._loop.create_task(self._run())
        self._loop.run_until_complete(self._ready.wait())

    def serve(self, path: str, headers: dict[str, str], body: bytes, exchange: Exchange) -> Answer:
        """Answer one POST: status, headers, body."""
        return self._loop.run_until_complete(self._serve(path, headers, body, exchange))

    def close(self) -> None:
        """End the server and its loop."""
        self._stop.set()
        self._loop.run_until_complete(self._running)
        self._loop.close()

    async def _run(self) -> None:
        """Keep the session manager open, in one task, for as long as the sandbox lives."""
        async with self._manager.run():
            self._ready.set()
            await self._stop.wait()

    async def _serve(self, path: str, headers: dict[str, str], body: bytes, exchange: Exchange) -> Answer:
        status, answer_headers, chunks = 500, {}, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, answer_headers
            if message["type"] == "http.response.start":
                status = message["status"]
                answer_headers = {key.decode(): value.decode() for key, value in message["headers"]}
            else:
                chunks.append(message.get("body", b""))

        scope = {
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
            "mcpist.exchange": exchange,
        }
        await self._manager.handle_request(scope, receive, send)
        return status, answer_headers, b"".join(chunks)


async def _list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=meta_tools.declare(_exchange(context).caller))


async def _call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    exchange = _exchange(context)
    if params.name not in meta_tools.ARGUMENTS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}. Tools: {', '.join(meta_tools.ARGUMENTS)}")
    try:
        texts = meta_tools.answer(exchange, params.name, params.arguments or {})
    except McpistError as error:
        return _failure(exchange, error)
    except Exception:  # the SDK would answer it, too, but without a code, a hint and the request's id
        logger.exception("tool failed", request=exchange.request)
        return _failure(exchange, InternalError(request_id=exchange.request))
    return _result(texts)


async def _list_resources(context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=resources.fixed(_sieve(context)))


async def _list_resource_templates(context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=resources.templates(_sieve(context)))


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    with _protocol_errors(context):
        return resources.read(_exchange(context), _sieve(context), params.uri)


async def _list_prompts(context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=prompts.listed(_sieve(context)))


async def _get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    with _protocol_errors(context):
        return prompts.get(_sieve(context), params.name, params.arguments or {})


async def _complete(context: Context, params: CompleteRequestParams) -> CompleteResult:
    known = (params.context and params.context.arguments) or {}
    argument = params.argument
    with _protocol_errors(context):
        found = prompts.complete(_exchange(context), _sieve(context), params.ref, argument.name, argument.value, known)
    return CompleteResult(completion=found)


@contextmanager
def _protocol_errors(context: Context) -> Iterator[None]:
    """Answer our errors as the protocol's, with code, message, hint and details as their data."""
    exchange = _exchange(context)
    try:
        yield
    except McpistError as error:
        code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
        text = error.text(exchange.caller.locale)
        raise MCPError(code, text.message, error.as_dict(exchange.caller.locale)) from None
    except Exception:
        logger.exception("request failed", request=exchange.request)
        defect = InternalError(request_id=exchange.request)
        raise MCPError(INTERNAL_ERROR, defect.text().message, defect.as_dict()) from None


def _sieve(context: Context) -> Sieve:
    return Sieve(_exchange(context).caller, CATALOGUE)


def _failure(exchange: Exchange, error: McpistError) -> CallToolResult:
    return _result([minified(error.as_dict(exchange.caller.locale))], is_error=True)


def _result(texts: list[str], *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], is_error=is_error)


def _exchange(context: Context) -> Exchange:
    exchange: Exchange = cast("Request", context.request).scope["mcpist.exchange"]
    return exchange


def _security(public_url: str) -> TransportSecuritySettings:
    """Only the endpoint's own host and origin; a loopback endpoint goes by all its names."""
    url = urlsplit(public_url)
    hosts = [url.netloc]
    if url.hostname in {"127.0.0.1", "localhost"}:
        hosts = [f"{name}:{url.port}" for name in ("127.0.0.1", "localhost")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"{url.scheme}://{host}" for host in hosts])
