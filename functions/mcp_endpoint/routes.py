"""The HTTP routes of the endpoint: MCP requests, metadata for the login, and preflights of browsers."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

from mcp_endpoint.exchange import BLOCKS_HEADER, Exchange
from mcp_endpoint.login_metadata import login_metadata, metadata
from mcp_endpoint.protocol import message
from mcp_endpoint.protocol.server import category_server, meta_tool_server
from mcp_endpoint.protocol.transport import AsgiResponse, Protocol
from mcpist.aws import cors
from mcpist.aws.http_request import HttpRequest, HttpResponse, json_response
from mcpist.errors import McpistError, RateLimitExceeded, RequestTimeout
from mcpist.people.bearer import METADATA_PATH, authorize, challenge
from mcpist.people.in_flight import in_flight
from mcpist.people.quota import request_quota
from mcpist.people.refused_requests import refused_requests
from mcpist.telemetry import invocation

OK = 200
MAX_BODY_BYTES = 1_000_000
PROTOCOL_HEADERS = (
    *("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"),
    BLOCKS_HEADER,
)
WELL_KNOWN = "/.well-known/"
READING_SUFFIX = "/readonly"


@cache
def protocol(public_url: str, *, proxy: bool) -> Protocol:
    """Return the server of `/mcp`, or of `/mcp/categories`, which has only the two tools of categories."""
    return Protocol(category_server() if proxy else meta_tool_server(), public_url)


def answer(request: HttpRequest, request_id: str, deadline: float) -> HttpResponse:
    """Answer a request until `deadline` on the monotonic clock."""
    if request.method == "OPTIONS" and cors.is_allowed(request.headers):
        return {"statusCode": 204, "headers": cors.preflight_headers(("GET", "POST"), PROTOCOL_HEADERS), "body": ""}
    if request.path.startswith(WELL_KNOWN):
        return _well_known(request)
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        # Somebody opened the endpoint's address in a browser: the console has the lines for their client.
        return {"statusCode": 303, "headers": {"location": f"{request.asked_url}/profile"}, "body": ""}
    if request.method != "POST":
        return json_response(405, {"error": "only POST is served here"}, {"allow": "POST"})
    body = request.body(MAX_BODY_BYTES)
    caller = authorize(request, reading_only=request.path.rstrip("/").endswith(READING_SUFFIX))
    exchange = Exchange(caller, request_id, deadline)
    with refused_requests.audited(caller, request_id):
        request_quota.count(caller, time.time())
        sent = message.read(body)
        invocation.add_fields(**message.described(sent))
        with in_flight.counted(caller) if message.may_wait(sent) else nullcontext():
            status, headers, content = _serve(request, body, sent, exchange)
    session = message.session_headers(sent) if status == OK else {}
    return {"statusCode": status, "headers": headers | session, "body": content.decode()}


def _serve(request: HttpRequest, body: bytes, sent: Mapping[str, Any], exchange: Exchange) -> AsgiResponse:
    server = protocol(request.public_url, proxy=request.path.endswith("/categories"))
    try:
        return server.serve(request.path, request.headers, body, sent, exchange)
    except RequestTimeout:  # it may have interrupted the server anywhere
        protocol.cache_clear()
        raise


def error_response(request: HttpRequest, error: McpistError) -> HttpResponse:
    """Return an error as JSON, with the headers that tell a client how or when to continue."""
    headers = challenge(error, request.asked_url)
    if isinstance(error, RateLimitExceeded):
        headers["retry-after"] = str(error.details["retry_after"])
    return json_response(error.status, {"error": error.as_dict(request.locale())}, headers)


def _well_known(request: HttpRequest) -> HttpResponse:
    """Return public metadata that leads clients to the login."""
    if request.method != "GET":
        return json_response(405, {"error": "only GET is served here"}, {"allow": "GET"})
    is_resource = request.path.startswith(METADATA_PATH)
    document = metadata(request.asked_url) if is_resource else login_metadata(request.public_url)
    if document is None:
        return json_response(404, {"error": "the authorization server serves its own metadata"})
    return json_response(200, document, {"cache-control": "public, max-age=300"})
