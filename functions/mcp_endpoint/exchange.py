"""The context of one MCP request: its caller, its id, its deadline and what its message says of its client.

A client of 2025-11-25 declares its capabilities once, in `initialize`. One that opens addresses is given a session id
that says so, and sends it with each request: nothing is kept here. The id is not sealed, since it permits nothing: a
client can forge only what it may declare.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from mcp_types import CallToolRequestParams, ClientCapabilities, ElicitResult, Implementation
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from mcp_endpoint import tasks
from mcp_endpoint.tasks import Context
from mcpist.caller import Caller, ClientInfo
from mcpist.http.front import Exchange
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolResult, ToolUse, admit
from mcpist.telemetry import invocation
from mcpist.telemetry.invocation import METHOD_NAME, TOOL_NAME
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool
from mcpist_services.catalogue import CATALOGUE

MAX_ANSWER_CHARACTERS = 100_000  # of an answer, over all its blocks: about 25,000 tokens
RESOURCE_LINKS_VERSION = "2025-06-18"
BLOCKS_HEADER, SEPARATE = "x-mcpist-blocks", "separate"
SESSION_HEADER, OPENS_URLS = "mcp-session-id", "opens-urls-"
# Clients of this protocol version may learn from an error of its own where to connect an account.
URL_ELICITATION_VERSION = "2025-11-25"
# Methods whose work may wait for another server, for a batch or for a store; other lists are answered at once.
WAITING_METHODS = (
    *("tools/call", "resources/list", "resources/read", "prompts/get", "completion/complete"),
    *("skills/list", "skills/get", "resources/directory/read"),
    *("events/subscribe", "events/unsubscribe", "events/poll"),
)
TOOLS = ("get_module_schema", "call", "batch", "get-category-tools", "call-category-tool")
METHODS = (
    *WAITING_METHODS,
    *("initialize", "ping", "server/discover", "tools/list", "resources/templates/list"),
    *("prompts/list", "events/list", "tasks/get", "tasks/update", "tasks/cancel", "notifications/initialized"),
)


type AsgiResponse = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""
type Handle = Callable[[McpExchange, Any], Any]
"""Makes a method's result of a request's exchange and params."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """The capabilities of a request's client, and its answer to an earlier question of ours."""

    supports_tasks: bool = False
    """Whether it accepts an MCP task in place of a result."""
    prefers_task: bool = False
    """Whether it wants the task at once."""
    supports_forms: bool = False
    """Whether it can show its user a form."""
    supports_urls: bool = False
    """Whether it can have its user open an address."""
    asks_by_error: bool = False
    """Whether an error of its protocol version tells it which address to open."""
    supports_links: bool = False
    """Whether it knows resource links."""
    separate_blocks: bool = False
    """Whether it wants each part of an answer as a block of its own."""
    request_state: str = ""
    """The id of the question that this request answers; empty if none was asked."""
    input_responses: Mapping[str, ElicitResult] = field(default_factory=dict)
    """The answers by the names of the inputs."""


@dataclass(frozen=True)
class McpExchange(Exchange):
    """The values that the functions which answer a request share."""

    caller: Caller
    client: McpClient = McpClient()

    @cached_property
    def permissions(self) -> Permissions:
        """The catalogue as the caller may use it."""
        return Permissions(self.caller, CATALOGUE)


@dataclass(frozen=True, slots=True)
class RanCall:
    """A call that has run."""

    tool: Tool
    use: ToolUse
    result: ToolResult

    @classmethod
    def of(cls, exchange: McpExchange, use: ToolUse, consent: Agreement) -> "RanCall":
        """Run a call, if all permits it."""
        admitted = admit(exchange.permissions, use, consent)
        return cls(admitted.tool, use, admitted.run(exchange.remaining))


@dataclass(frozen=True, slots=True)
class Envelope:
    """The parts of a request beside the params of its method."""

    protocol_version: str
    headers: Mapping[str, str]
    meta: Mapping[str, Any]
    client_info: Implementation | None
    capabilities: ClientCapabilities | None


def exchange_of(context: Context, params: Any = None) -> McpExchange:
    """Return the exchange of a request that came through the SDK's transport, which passes it in the ASGI scope."""
    request, said = cast("Request", context.request), context.session.client_params
    client_info, capabilities = said.client_info if said else None, context.session.client_capabilities
    envelope = Envelope(context.protocol_version, request.headers, context.meta or {}, client_info, capabilities)
    return received(request.scope["mcpist.exchange"], envelope, params)


@dataclass(frozen=True)
class SyncHandler[Params, Result]:
    """A handler that needs only a request's exchange and params: the SDK's kernel may call it, or a plain request."""

    handle: Callable[[McpExchange, Params], Result]

    async def __call__(self, context: Context, params: Params) -> Result:
        """Handle a request of the kernel's."""
        return self.handle(exchange_of(context, params), params)


def received(exchange: McpExchange, envelope: Envelope, params: Any = None) -> McpExchange:
    """Return an exchange with what its request says of its client.

    A client of 2026-07-28 names itself in each request; others are known by their user agent. The message's own trace
    takes the place of that of the HTTP request.
    """
    invocation.follow_trace(str(envelope.meta.get("traceparent", "")))
    caller, named = exchange.caller, envelope.client_info
    if named is not None:
        caller = replace(caller, client=ClientInfo.described(named.name, named.version, caller.client.id))
    return replace(exchange, caller=caller, client=client_of(envelope, params))


def client_of(envelope: Envelope, params: Any = None) -> McpClient:
    """Return the capabilities of a request's client.

    Questions and tasks need the protocol of 2026-07-28, in which each request declares its client's capabilities. That
    version has no field to prefer a task, so the one of 2025-11-25 is read.
    """
    version, can = envelope.protocol_version, envelope.capabilities
    elicitation = can.elicitation if can and version in MODERN_PROTOCOL_VERSIONS else None
    call = params if isinstance(params, CallToolRequestParams) else None
    replies = (call and call.input_responses) or {}
    return McpClient(
        supports_tasks=tasks.supported_by(version, can),
        prefers_task=call is not None and call.task is not None,
        supports_forms=elicitation is not None
        and (elicitation.form is not None or elicitation.url is None),  # an empty capability means forms
        supports_urls=elicitation is not None and elicitation.url is not None,
        asks_by_error=version == URL_ELICITATION_VERSION
        and envelope.headers.get(SESSION_HEADER, "").startswith(OPENS_URLS),
        supports_links=version >= RESOURCE_LINKS_VERSION,
        separate_blocks=envelope.headers.get(BLOCKS_HEADER, "").lower() == SEPARATE,
        request_state=(call and call.request_state) or "",
        input_responses={key: reply for key, reply in replies.items() if isinstance(reply, ElicitResult)},
    )


def describe_message(message: dict[str, Any]) -> dict[str, str]:
    """Return a message's method and tool for the log, as far as their names are ours: no text of the client's."""
    method, params = message.get("method"), message.get("params")
    if method not in METHODS:
        return {}
    tool = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    return {METHOD_NAME: method} | ({TOOL_NAME: tool} if tool in TOOLS else {})


def may_wait(message: dict[str, Any]) -> bool:
    """Return whether a message names a method that may wait."""
    return message.get("method") in WAITING_METHODS


def session_headers(message: dict[str, Any]) -> dict[str, str]:
    """Return the session id for a client that begins and can open addresses; none for others."""
    found: Any = message if message.get("method") == "initialize" else {}
    for name in ("params", "capabilities", "elicitation", "url"):
        found = found.get(name) if isinstance(found, dict) else None
    return {} if found is None else {SESSION_HEADER: f"{OPENS_URLS}{secrets.token_urlsafe(16)}"}
