"""The MCP server: the official SDK's lowlevel server, driven as ASGI on one event loop per sandbox."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aws_lambda_powertools import Logger
from mcp.server.caching import CacheableMethod, CacheHint
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

from mcp_endpoint import prompts, resources, tasks
from mcp_endpoint.arguments import REQUEST_MODELS
from mcp_endpoint.content.blocks import Part, content
from mcp_endpoint.exchange import Exchange, client_of, exchange_of
from mcp_endpoint.meta_tools import categories, declaration
from mcp_endpoint.meta_tools.declaration import ToolAnswer
from mcp_endpoint.tasks import Context, Task, TaskParams, UpdateParams
from mcpist.errors import AccountError, CallerError, InternalError, McpistError, StaleConfirmation
from mcpist.render.answer import compact_json
from mcpist.settings import settings
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import ERRORS
from mcpist.tools.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE

# What batches and questions need is imported with the first call: a list of the tools does not wait for it.
if TYPE_CHECKING:
    from mcp_endpoint.batches.batch import BatchView
    from mcp_endpoint.elicitation.confirmation import FormElicitation
    from mcp_endpoint.elicitation.connecting import UrlElicitation

logger = Logger(child=True)

SERVER_NAME, SERVER_VERSION = "mcpist", "0.1.0"
LIST_METHODS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LIST_CACHE_MILLISECONDS = 60_000
# Where a result names the account that acted: for people and programs, no word of it for the model to read.
ACCOUNT_META_KEY = "mcpist/account"
# The protocol whose clients are told by an error of its own where to connect an account.
URL_ELICITATION_VERSION = "2025-11-25"

type HttpResponse = tuple[int, dict[str, str], bytes]


class Protocol:
    """One sandbox's MCP server; it serves one request at a time. With `proxy` it has the two proxy tools alone."""

    def __init__(self, public_url: str, *, proxy: bool = False) -> None:
        server = _proxy_server() if proxy else _server()
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=_transport_security(public_url)
        )
        self._loop = asyncio.new_event_loop()
        self._ready, self._stop = asyncio.Event(), asyncio.Event()
        self._running = self._loop.create_task(self._run())
        self._loop.run_until_complete(self._ready.wait())

    def serve(self, path: str, headers: dict[str, str], body: bytes, exchange: Exchange) -> HttpResponse:
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

    async def _serve(self, path: str, headers: dict[str, str], body: bytes, exchange: Exchange) -> HttpResponse:
        status, response_headers, chunks = 500, {}, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, response_headers
            if message["type"] == "http.response.start":
                status = message["status"]
                response_headers = {key.decode(): value.decode() for key, value in message["headers"]}
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
        return status, response_headers, b"".join(chunks)


def _server() -> Server[Any]:
    server = Server(
        SERVER_NAME,
        version=SERVER_VERSION,
        cache_hints=dict.fromkeys(LIST_METHODS, CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")),
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_resource_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
    )
    tasks.install(server, get=_get_task, update=_update_task, cancel=_cancel_task)
    return server


def _proxy_server() -> Server[Any]:
    return Server(
        SERVER_NAME,
        version=SERVER_VERSION,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_CACHE_MILLISECONDS, scope="private")},
        get_tool_input_schema=_no_header_arguments,
        on_list_tools=_list_proxy_tools,
        on_call_tool=_call_proxy_tool,
    )


def _no_header_arguments(_: str) -> None:
    """No argument of ours is declared to come in a header: the SDK need not look for one in each call's schema."""


async def _list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
    caller = exchange_of(context).caller
    more = categories.declare(caller) if settings().category_tools else []
    return ListToolsResult(tools=[*declaration.declare(caller), *more])


async def _list_proxy_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=categories.declare(exchange_of(context).caller))


async def _call_proxy_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    if params.name not in categories.REQUEST_MODELS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}. Tools: {', '.join(categories.REQUEST_MODELS)}")
    exchange = replace(exchange_of(context), client=client_of(context, params))
    try:
        return categories.call_tool(exchange, params.name, params.arguments or {})
    except Exception:
        logger.exception("tool failed", request=exchange.request_id)
        return categories.error_result(exchange, InternalError(request_id=exchange.request_id))


async def _call_tool(context: Context, params: CallToolRequestParams) -> Any:
    if settings().category_tools and params.name in categories.REQUEST_MODELS:
        return await _call_proxy_tool(context, params)
    if params.name not in REQUEST_MODELS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}. Tools: {', '.join(REQUEST_MODELS)}")
    exchange = replace(exchange_of(context), client=client_of(context, params))
    try:
        return _to_result(exchange, declaration.call_tool(exchange, params.name, params.arguments or {}))
    except StaleConfirmation as error:  # the protocol wants a state that is not ours refused, not answered
        raise _protocol_error(context, error) from None
    except McpistError as error:
        if isinstance(error, AccountError) and context.protocol_version == URL_ELICITATION_VERSION:
            raise _protocol_error(context, error) from None
        return _error_result(exchange, error)
    except Exception:  # the SDK would answer it, too, but without a code, a hint and the request's id
        logger.exception("tool failed", request=exchange.request_id)
        return _error_result(exchange, InternalError(request_id=exchange.request_id))


def _to_result(
    exchange: Exchange, answer: "Sequence[Part] | ToolAnswer | BatchView | FormElicitation | UrlElicitation"
) -> Any:
    """A meta-tool's answer in the protocol's words: of what the client declared only."""
    from mcp_endpoint.batches import batch
    from mcp_endpoint.elicitation.confirmation import FormElicitation
    from mcp_endpoint.elicitation.connecting import UrlElicitation

    match answer:
        case FormElicitation() | UrlElicitation():
            return answer.as_result()
        case ToolAnswer(parts, account):
            meta: Any = {ACCOUNT_META_KEY: account} if account else None
            return CallToolResult(content=content(parts, links=exchange.client.supports_links), _meta=meta)
        case batch.BatchView(head) if exchange.client.supports_tasks and not head.done:
            return batch.as_task(head).as_create_task_result()
        case batch.BatchView():
            return answer.as_result(links=exchange.client.supports_links)
        case parts:
            return CallToolResult(content=content(parts, links=exchange.client.supports_links))


async def _get_task(context: Context, params: TaskParams) -> Task:
    from mcp_endpoint.batches import batch

    with _protocol_errors(context):
        return batch.task(exchange_of(context).caller, _sieve(context), params.task_id)


async def _update_task(context: Context, params: UpdateParams) -> None:
    """A batch asks before it begins, and never again: there is nothing that could be answered."""
    from mcp_endpoint.batches import batch

    with _protocol_errors(context):
        batch.find_own(exchange_of(context).caller, params.task_id)


async def _cancel_task(context: Context, params: TaskParams) -> None:
    from mcp_endpoint.batches import batch

    with _protocol_errors(context):
        batch.cancel(exchange_of(context).caller, params.task_id)


async def _list_resources(context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=resources.list_fixed(_sieve(context)))


async def _list_resource_templates(context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=resources.list_templates(_sieve(context)))


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    with _protocol_errors(context, uri=params.uri):
        return resources.read(exchange_of(context), _sieve(context), params.uri)


async def _list_prompts(context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=prompts.list_prompts(_sieve(context)))


async def _get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    with _protocol_errors(context):
        return prompts.get(exchange_of(context), _sieve(context), params.name, params.arguments or {})


async def _complete(context: Context, params: CompleteRequestParams) -> CompleteResult:
    known = (params.context and params.context.arguments) or {}
    argument = params.argument
    with _protocol_errors(context):
        found = prompts.complete(
            exchange_of(context), _sieve(context), params.ref, argument.name, argument.value, known
        )
    return CompleteResult(completion=found)


@contextmanager
def _protocol_errors(context: Context, **about: str) -> Iterator[None]:
    """Answer our errors as the protocol's, with code, message, hint and details as their data.

    `about` is what was asked for; of a resource the protocol wants its `uri` there.
    """
    exchange = exchange_of(context)
    try:
        yield
    except McpistError as error:
        raise _protocol_error(context, error, **about) from None
    except Exception:
        logger.exception("request failed", request=exchange.request_id)
        raise _protocol_error(context, InternalError(request_id=exchange.request_id), **about) from None


def _protocol_error(context: Context, error: McpistError, **about: str) -> MCPError:
    count(ERRORS, by=error.code)
    code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
    locale = exchange_of(context).caller.locale
    if isinstance(error, AccountError) and context.protocol_version == URL_ELICITATION_VERSION:
        from mcp_endpoint.elicitation import connecting

        return connecting.to_protocol_error(error, locale)
    return MCPError(code, error.text(locale).message, error.as_dict(locale) | about)


def _sieve(context: Context) -> Permissions:
    return Permissions(exchange_of(context).caller, CATALOGUE)


def _error_result(exchange: Exchange, error: McpistError) -> CallToolResult:
    count(ERRORS, by=error.code)
    text = compact_json(error.as_dict(exchange.caller.locale))
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _transport_security(public_url: str) -> TransportSecuritySettings:
    """Only the endpoint's own host, and its own and allowed origins; a loopback endpoint goes by all its names."""
    url = urlsplit(public_url)
    hosts = [url.netloc]
    if url.hostname in {"127.0.0.1", "localhost"}:
        hosts = [f"{name}:{url.port}" for name in ("127.0.0.1", "localhost")]
    own = [f"{url.scheme}://{host}" for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*own, *settings().allowed_origins])
