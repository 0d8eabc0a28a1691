"""The extension Events (`io.modelcontextprotocol/events`): its methods, which the SDK has no types for.

Specification: https://modelcontextprotocol.io/seps/3415-events-extension
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PaginatedRequestParams, RequestParams
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mcp_endpoint.exchange import McpExchange, SyncHandler
from mcpist import errors
from mcpist.errors import McpistError
from mcpist.moments import utc_text
from mcpist.paging import page_of
from mcpist.telemetry.door import typed_errors

if TYPE_CHECKING:
    from mcpist.events.event_type import EventType
    from mcpist_services.subscriptions import EventRequest

EVENTS_EXTENSION = "io.modelcontextprotocol/events"
ANNOUNCING_METHODS = ("initialize", "server/discover")
NOT_FOUND, FORBIDDEN, RESOURCE_EXHAUSTED, UNSUPPORTED, CALLBACK_FAILED = -32011, -32012, -32013, -32014, -32015
NEXT_POLL_MS = 30_000
DEFAULT_POLLED_EVENTS = 50
DEFAULT_TTL_MS = 86_400_000

type NonNegative = Annotated[int, Field(strict=True, ge=0, le=10**15)]


class Delivery(BaseModel):
    """Where events are delivered."""

    model_config = ConfigDict(hide_input_in_errors=True)

    mode: str = "webhook"
    url: str
    secret: SecretStr = SecretStr("")


class EventParams(RequestParams):
    """The params of all methods about one event type."""

    name: str
    arguments: dict[str, Any] = {}
    cursor: str | None = None
    max_age_ms: NonNegative | None = None


class PollParams(EventParams):
    """The params of `events/poll`."""

    max_events: Annotated[int, Field(strict=True, ge=1)] = DEFAULT_POLLED_EVENTS


class SubscribeParams(EventParams):
    """The params of `events/subscribe`, and of `events/unsubscribe`."""

    delivery: Delivery
    ttl_ms: NonNegative | None = DEFAULT_TTL_MS


def install(server: Server[Any], to_protocol: Callable[..., MCPError], ttl_ms: int) -> None:
    """Declare the extension and serve its methods."""

    def serve(method: str, params: type[RequestParams], answer: Callable[..., dict[str, Any]]) -> None:
        def handle(exchange: McpExchange, given: Any) -> dict[str, Any]:
            with _event_errors(exchange, to_protocol):
                return {"resultType": "complete", **answer(exchange, given)}

        server.add_request_handler(method, params, SyncHandler(handle))

    def list_events(exchange: McpExchange, params: PaginatedRequestParams) -> dict[str, Any]:
        from mcpist_services.events import visible_types  # few requests wait for it

        types = page_of(visible_types(exchange.permissions), lambda one: one.full_name, params.cursor or "")
        listed = {"events": list(map(_definition, types.items)), "ttlMs": ttl_ms, "cacheScope": "private"}
        return listed | ({"nextCursor": types.cursor} if types.cursor else {})

    server.extensions[EVENTS_EXTENSION] = {}
    server.middleware.append(_announce)
    serve("events/list", PaginatedRequestParams, list_events)
    serve("events/poll", PollParams, _poll)
    serve("events/stream", RequestParams, _stream)
    serve("events/subscribe", SubscribeParams, _subscribe)
    serve("events/unsubscribe", SubscribeParams, _unsubscribe)


async def _announce(ctx: Any, call_next: Any) -> Any:
    """Add the capability where clients look for it; the SDK leaves out those that it does not know."""
    result = await call_next(ctx)
    if ctx.method in ANNOUNCING_METHODS:
        result["capabilities"]["events"] = {}
    return result


def _poll(exchange: McpExchange, params: PollParams) -> dict[str, Any]:
    from mcpist.running import callbacks
    from mcpist_services import subscriptions

    polled = subscriptions.poll(exchange.permissions, _request(exchange, params), params.max_events)
    return {
        "events": list(map(callbacks.occurrence, polled.events)),
        "cursor": polled.cursor,
        "truncated": polled.truncated,
        "hasMore": polled.has_more,
        "nextPollMs": NEXT_POLL_MS,
    }


def _stream(exchange: McpExchange, params: RequestParams) -> dict[str, Any]:  # noqa: ARG001 - a method's
    """Refuse what no event type offers: a response that stays open, which the gateway of a function cannot send."""
    raise errors.UnsupportedDelivery(field="method", mode="push")


def _subscribe(exchange: McpExchange, params: SubscribeParams) -> dict[str, Any]:
    from mcpist_services import subscriptions

    if params.delivery.mode != "webhook":
        raise errors.UnsupportedDelivery(field="delivery.mode", mode=params.delivery.mode)
    seconds = math.inf if params.ttl_ms is None else params.ttl_ms / 1000
    secret = params.delivery.secret.get_secret_value()
    made = subscriptions.subscribe(exchange.permissions, _request(exchange, params), secret, seconds)
    until = utc_text(made.expires_at)
    return {"id": made.id, "refreshBefore": until, "cursor": made.cursor, "truncated": made.truncated}


def _unsubscribe(exchange: McpExchange, params: SubscribeParams) -> dict[str, Any]:
    from mcpist_services import subscriptions

    subscriptions.unsubscribe(exchange.caller, params.name, params.arguments, params.delivery.url)
    return {}


def _request(exchange: McpExchange, params: EventParams) -> "EventRequest":
    """Return a request for events of a type that the caller may use, or raise the refusal."""
    from mcpist_services import events
    from mcpist_services.subscriptions import EventRequest

    found = events.type_of(exchange.caller, params.name)
    if found is None:
        raise events.unknown_type(exchange.permissions, params.name)
    events.require(exchange.permissions, found)
    found.check(params.arguments)
    return EventRequest(
        type=found,
        arguments=params.arguments,
        cursor=params.cursor or "",
        max_age=None if params.max_age_ms is None else params.max_age_ms / 1000,
        url=params.delivery.url if isinstance(params, SubscribeParams) else "",
    )


@contextmanager
def _event_errors(exchange: McpExchange, to_protocol: Callable[..., MCPError]) -> Iterator[None]:
    """Raise errors as the protocol's, with the extension's codes."""
    try:
        with typed_errors():
            yield
    except McpistError as error:
        code, data = _code_of(error)
        found = to_protocol(exchange, error, **data)
        is_ours = code and found.error.code in {INVALID_PARAMS, INTERNAL_ERROR}  # not a request to open an address
        raise MCPError(code if is_ours else found.error.code, found.error.message, found.error.data) from None


def _code_of(error: McpistError) -> tuple[int, dict[str, Any]]:
    """Return the extension's code of an error, 0 where it has none, and what is added to its data."""
    match error:
        case errors.SubscriptionNotFound():
            return NOT_FOUND, {"kind": "subscription"}
        case errors.EventTypeNotFound() | errors.ModuleNotFound() | errors.ToolNotFound():
            return NOT_FOUND, {"kind": "event"}
        case errors.AdministratorError() | errors.AccountError():
            return FORBIDDEN, {}
        case errors.TooManyInterests():
            return RESOURCE_EXHAUSTED, {"limit": "subscriptions", "max": error.details["limit"]}
        case errors.UnsupportedDelivery():
            return UNSUPPORTED, {"feature": "deliveryMode", "value": error.details["mode"]}
        case errors.CallbackFailed():
            return CALLBACK_FAILED, {"reason": error.details["reason"]}
    return 0, {}


def _definition(found: "EventType") -> dict[str, Any]:
    return {
        "name": found.full_name,
        "description": found.description,
        "delivery": ["webhook", "poll"],
        "inputSchema": found.arguments,
        "payloadSchema": found.payload,
    }
