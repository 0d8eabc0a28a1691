"""The context of one MCP request: its caller, its id, its deadline and what its client supports."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from mcp_types import CallToolRequestParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from mcp_endpoint import tasks
from mcp_endpoint.tasks import Context
from mcpist.caller import Caller, ClientInfo
from mcpist.telemetry import invocation

RESPONSE_RESERVE_SECONDS = 3.0
MAX_ANSWER_CHARACTERS = 100_000  # of an answer, over all its blocks: about 25,000 tokens
RESOURCE_LINKS_VERSION = "2025-06-18"
BLOCKS_HEADER, SEPARATE = "x-mcpist-blocks", "separate"


@dataclass(frozen=True, slots=True)
class Client:
    """The capabilities of a request's client, and its answer to an earlier question of ours."""

    supports_tasks: bool = False
    """Whether it accepts an MCP task in place of a result."""
    prefers_task: bool = False
    """Whether it wants the task at once."""
    supports_forms: bool = False
    """Whether it can show its user a form."""
    supports_urls: bool = False
    """Whether it can have its user open an address."""
    supports_links: bool = False
    """Whether it knows resource links."""
    separate_blocks: bool = False
    """Whether it wants each part of an answer as a block of its own."""
    request_state: str = ""
    """The id of the question that this request answers; empty if none was asked."""
    input_responses: Mapping[str, ElicitResult] = field(default_factory=dict)
    """The answers by the names of the inputs."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The values that the functions which answer a request share."""

    caller: Caller
    request_id: str
    deadline: float
    """On the monotonic clock, in seconds."""
    client: Client = Client()

    @property
    def remaining(self) -> float:
        """The seconds that are left for the work, so that the response is sent before the deadline."""
        return self.deadline - time.monotonic() - RESPONSE_RESERVE_SECONDS


def exchange_of(context: Context, call: CallToolRequestParams | None = None) -> Exchange:
    """Return the exchange of a request, and what the client of a tool `call` supports.

    The transport passes it in the ASGI scope. A client of 2026-07-28 names itself in each request; others are known by
    their user agent. The message's own trace takes the place of that of the HTTP request.
    """
    exchange: Exchange = cast("Request", context.request).scope["mcpist.exchange"]
    invocation.follow_trace(str((context.meta or {}).get("traceparent", "")))
    caller, client = exchange.caller, client_of(context, call) if call else exchange.client
    if context.session.client_params is not None:
        named = context.session.client_params.client_info
        caller = replace(caller, client=ClientInfo.described(named.name, named.version, caller.client.id))
    return Exchange(caller, exchange.request_id, exchange.deadline, client)


def wants_separate_blocks(context: Context) -> bool:
    """Return whether a request asks for each part of an answer as a block of its own."""
    return cast("Request", context.request).headers.get(BLOCKS_HEADER, "").lower() == SEPARATE


def client_of(context: Context, params: CallToolRequestParams) -> Client:
    """Return what the client of a tool call supports.

    Questions and tasks need the protocol of 2026-07-28, in which each request declares its client's capabilities. That
    version has no field to prefer a task, so the one of 2025-11-25 is read.
    """
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    can = context.session.client_capabilities
    elicitation = can.elicitation if can and modern else None
    replies = params.input_responses or {}
    return Client(
        supports_tasks=tasks.supported(context),
        prefers_task=params.task is not None,
        supports_forms=elicitation is not None
        and (elicitation.form is not None or elicitation.url is None),  # an empty capability means forms
        supports_urls=elicitation is not None and elicitation.url is not None,
        supports_links=context.protocol_version >= RESOURCE_LINKS_VERSION,
        separate_blocks=wants_separate_blocks(context),
        request_state=params.request_state or "",
        input_responses={key: reply for key, reply in replies.items() if isinstance(reply, ElicitResult)},
    )
