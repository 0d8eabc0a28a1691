"""One HTTP request under way: who asks, under which id, until when, and what the client can do with the answer."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from mcp_types import CallToolRequestParams, ElicitResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from mcp_endpoint import tasks
from mcp_endpoint.tasks import Context
from mcpist.caller import Caller

RESPONSE_RESERVE_SECONDS = 3.0
MAX_ANSWER_CHARACTERS = 100_000  # of an answer, over all its blocks: about 25,000 tokens
RESOURCE_LINKS_VERSION = "2025-06-18"


@dataclass(frozen=True, slots=True)
class Client:
    """What a request's client can do, and what it answers to a question that we asked before.

    `supports_tasks`: it takes a task instead of an answer; `prefers_task`: it would rather have the task at once;
    `supports_forms`: it shows a person a form; `supports_urls`: it has a person open an address; `supports_links`: it
    knows resource links. `request_state` and `input_responses` come back with a retry of what we asked about.
    """

    supports_tasks: bool = False
    prefers_task: bool = False
    supports_forms: bool = False
    supports_urls: bool = False
    supports_links: bool = False
    request_state: str = ""
    input_responses: Mapping[str, ElicitResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a request's handlers share; `deadline` is on the monotonic clock."""

    caller: Caller
    request_id: str
    deadline: float
    client: Client = Client()

    @property
    def remaining(self) -> float:
        """The seconds for the work, so that its answer still goes out before the invocation ends."""
        return self.deadline - time.monotonic() - RESPONSE_RESERVE_SECONDS


def exchange_of(context: Context) -> Exchange:
    """The exchange that the door put beside the request."""
    exchange: Exchange = cast("Request", context.request).scope["mcpist.exchange"]
    return exchange


def client_of(context: Context, params: CallToolRequestParams) -> Client:
    """What the client of a tool's call can do.

    Questions and tasks are the protocol's of 2026-07-28, where each request says what its client can do. It has no
    field for wishing a task: the one of 2025-11-25 is taken for it.
    """
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    can = context.session.client_capabilities
    asks = can.elicitation if can and modern else None
    replies = params.input_responses or {}
    return Client(
        supports_tasks=tasks.supported(context),
        prefers_task=params.task is not None,
        supports_forms=asks is not None
        and (asks.form is not None or asks.url is None),  # an empty capability means forms
        supports_urls=asks is not None and asks.url is not None,
        supports_links=context.protocol_version >= RESOURCE_LINKS_VERSION,
        request_state=params.request_state or "",
        input_responses={key: reply for key, reply in replies.items() if isinstance(reply, ElicitResult)},
    )
