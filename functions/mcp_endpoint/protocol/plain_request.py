"""A plain request of 2026-07-28, which the SDK's kernel answers without the SDK's HTTP transport.

The transport's ASGI messages, its second reading of the body and its models of the envelope cost a fifth of the CPU of
a warm call. Only a request in which nothing is unusual is plain: any other is the transport's, and so is each refusal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS, InboundModernRoute, classify_inbound_request
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

METHODS = ("tools/list", "tools/call")
JSON = "application/json"

type Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


def route_of(
    server: "Server[Any]",
    message: Mapping[str, Any],
    headers: Mapping[str, str],
    security: "TransportSecuritySettings",
) -> InboundModernRoute | None:
    """Return what the envelope of a plain request says; None for a request that the transport must look at."""
    if headers.get("mcp-protocol-version") not in MODERN_PROTOCOL_VERSIONS or message.get("method") not in METHODS:
        return None
    if not (_is_allowed(headers, security) and _is_request(message)) or _may_have_header_arguments(server, message):
        return None
    route = classify_inbound_request(message, headers=headers)
    return route if isinstance(route, InboundModernRoute) else None


async def answer(server: "Server[Any]", route: InboundModernRoute, message: Mapping[str, Any], scope: Any) -> Answer:
    """Answer a plain request; `scope` is its ASGI scope, which handlers read."""
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    request = Request(scope)
    context = RequestContext(
        TransportContext(kind="streamable-http", can_send_request=False, headers=request.headers),
        message["id"],
        ServerMessageMetadata(request_context=request),
        anyio.Event(),
    )
    status, reply = 200, {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = await serve_one(
            server, context, message["method"], message["params"], connection=connection, lifespan_state={}
        )
    except Exception as error:  # noqa: BLE001 - the SDK logs it, and says what of it the client may read
        data = modern_error_data(error)
        status = ERROR_CODE_HTTP_STATUS.get(data.code, status)
        reply["error"] = data.model_dump(mode="json", by_alias=True, exclude_none=True)
    body = json.dumps(reply, separators=(",", ":")).encode()
    return status, {"content-length": str(len(body)), "content-type": JSON}, body


@dataclass(slots=True)
class RequestContext:
    """The SDK's `DispatchContext` of a request whose client can only be sent one response."""

    transport: TransportContext
    request_id: int | str
    message_metadata: ServerMessageMetadata
    cancel_requested: anyio.Event
    can_send_request: bool = False

    async def send_raw_request(self, method: str, *_: Any) -> dict[str, Any]:
        """Refuse to ask the client."""
        raise NoBackChannelError(method)

    async def notify(self, *_: Any) -> None:
        """Drop a notification: a response in JSON has no place for it."""

    async def progress(self, *_: Any) -> None:
        """Drop a progress notification."""


def _is_allowed(headers: Mapping[str, str], security: "TransportSecuritySettings") -> bool:
    """Whether host, origin and media types are such as the transport accepts; not all that it accepts."""
    return (
        headers.get("host") in security.allowed_hosts
        and headers.get("origin", "") in ("", *security.allowed_origins)
        and headers.get("content-type") == JSON
        and JSON in headers.get("accept", "").replace(" ", "").split(",")
    )


def _is_request(message: Mapping[str, Any]) -> bool:
    """Whether a message is a JSON-RPC request."""
    number = message.get("id")
    is_id = type(number) is int or (isinstance(number, str) and number.isascii())
    return is_id and message.get("jsonrpc") == "2.0" and isinstance(message.get("params"), dict)


def _may_have_header_arguments(server: "Server[Any]", message: Mapping[str, Any]) -> bool:
    """Whether a call's tool may take arguments from headers, which the transport compares; none of our tools does."""
    if message["method"] != "tools/call":
        return False
    find_schema, name = server.get_tool_input_schema, message["params"].get("name")
    return find_schema is None or not isinstance(name, str) or find_schema(name) is not None
