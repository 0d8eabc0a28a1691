"""A plain request, which is answered without the SDK's transport and kernel.

They take more CPU than a call's own work; without this file they answer every request. Only a request in which
nothing is unusual is plain: any other is the SDK's, and so is each refusal. The SDK's functions classify the envelope,
validate the params and write the result. A client of 2026-07-28 describes itself in each request; one of a version
with a handshake did so in `initialize`, which is the SDK's, and is answered each error with status 200.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS, InboundModernRoute, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    ClientCapabilities,
    ErrorData,
    Implementation,
    JSONRPCError,
    JSONRPCResponse,
)
from mcp_types.methods import validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json

from mcp_endpoint.exchange import AsgiResponse, Envelope, McpExchange, SyncHandler, received
from mcpist.errors import RequestTimeout

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

JSON = "application/json"
MEMBERS = {"jsonrpc", "id", "method", "params"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A plain request."""

    id: int | str
    method: str
    params: Any
    """The params as the handler's model."""
    envelope: Envelope
    handler: SyncHandler[Any, Any]

    @property
    def is_modern(self) -> bool:
        """Whether its client describes itself in each request."""
        return self.envelope.protocol_version in MODERN_PROTOCOL_VERSIONS


def parse_plain(
    server: "Server[Any]",
    message: Mapping[str, Any],
    headers: Mapping[str, str],
    security: "TransportSecuritySettings",
    body: bytes,
) -> PlainRequest | None:
    """Return a plain request; None for one that the transport must look at."""
    if not _is_request(message):
        return None
    method, params = message["method"], message.get("params", {})
    entry = server.get_request_handler(method)
    if entry is None or not isinstance(entry.handler, SyncHandler) or not _is_allowed(headers, security):
        return None
    try:
        if (envelope := _envelope_of(server, message, headers, body)) is None:
            return None
        validate_client_request(method, envelope.protocol_version, params)
        typed = entry.params_type.model_validate(params, by_name=False)
    except (KeyError, ValueError):  # pydantic's errors among them
        return None
    return PlainRequest(message["id"], method, typed, envelope, entry.handler)


def _envelope_of(
    server: "Server[Any]", message: Mapping[str, Any], headers: Mapping[str, str], body: bytes
) -> Envelope | None:
    """Return the parts of a request beside its params; None, or a ValueError, where the transport must look at it."""
    version = headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        from_json(body)  # by which the transport refuses texts that are no Unicode, and deep values
        is_known = message.keys() <= MEMBERS
        return Envelope(version, headers, message.get("params", {}).get("_meta", {}), None, None) if is_known else None
    route = classify_inbound_request(message, headers=headers)
    if not isinstance(route, InboundModernRoute) or _may_have_header_arguments(server, message):
        return None
    client_info = route.client_info and Implementation.model_validate(route.client_info, by_name=False)
    capabilities = ClientCapabilities.model_validate(route.client_capabilities, by_name=False)
    return Envelope(route.protocol_version, headers, message["params"]["_meta"], client_info, capabilities)


def answer_plain(server: "Server[Any]", request: PlainRequest, exchange: McpExchange) -> AsgiResponse:
    """Answer a plain request."""
    status = 200
    kernel = ServerRunner(server, cast("Any", None), None)  # it only writes a result: that needs no connection
    try:
        result = request.handler.handle(received(exchange, request.envelope, request.params), request.params)
        version = request.envelope.protocol_version
        written = kernel._serialize(request.method, version, result)  # noqa: SLF001 - the SDK writes results nowhere else
        body = _body(request, written)
    except RequestTimeout:  # that of the function, which says that the work may have happened
        raise
    except Exception as error:  # noqa: BLE001 - the SDK logs it, and says what of it the client may read
        if request.is_modern:
            data = modern_error_data(error)
            status = ERROR_CODE_HTTP_STATUS.get(data.code, status)
        else:
            data = _handshake_error(error)
        body = _body(request, data)
    return status, {"content-length": str(len(body)), "content-type": JSON}, body


def _handshake_error(error: Exception) -> ErrorData:
    """Return the error for a client with a handshake, as the SDK's dispatcher does."""
    if (data := handler_exception_to_error_data(error)) is not None:
        return data
    logger.exception("request handler raised")
    return ErrorData(code=0, message=str(error))


def _body(request: PlainRequest, answer: dict[str, Any] | ErrorData) -> bytes:
    """Return the text of a message, as the SDK's transport of the request's version writes it."""
    if not request.is_modern:
        message = (
            JSONRPCError(jsonrpc="2.0", id=request.id, error=answer)
            if isinstance(answer, ErrorData)
            else JSONRPCResponse(jsonrpc="2.0", id=request.id, result=answer)
        )
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request.id}
    if isinstance(answer, ErrorData):
        reply["error"] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    else:
        reply["result"] = answer
    return json.dumps(reply, separators=(",", ":")).encode()


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
    is_call = isinstance(message.get("method"), str) and isinstance(message.get("params", {}), dict)
    return is_id and is_call and message.get("jsonrpc") == "2.0"


def _may_have_header_arguments(server: "Server[Any]", message: Mapping[str, Any]) -> bool:
    """Whether a call's tool may take arguments from headers, which the transport compares; none of our tools does."""
    if message["method"] != "tools/call":
        return False
    find_schema, name = server.get_tool_input_schema, message["params"].get("name")
    return find_schema is None or not isinstance(name, str) or find_schema(name) is not None
