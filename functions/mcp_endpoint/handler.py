"""The MCP endpoint's handler: MCP requests, metadata for the login, and preflights of browsers."""

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_endpoint.exchange import BLOCKS_HEADER, McpExchange, describe_message, may_wait, session_headers
from mcp_endpoint.protocol.server import Protocol, category_server, meta_tool_server
from mcpist.aws.snapshot import prepare
from mcpist.errors import McpistError, RequestTimeout
from mcpist.events import own as own  # it tells of files
from mcpist.http.bearer import audience, authorize
from mcpist.http.front import Exchange, error_headers, limited, serve_programs
from mcpist.http.request import HttpRequest, HttpResponse, json_response, preflight_response
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist.strict_json import json_object
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist_services import NAMES
from mcpist_services.catalogue import preloads

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

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


def respond(request: HttpRequest, arrived: Exchange) -> HttpResponse:
    """Return the response to a request."""
    if preflight := preflight_response(request, ("GET", "POST"), PROTOCOL_HEADERS):
        return preflight
    if request.path.startswith(WELL_KNOWN):
        return _well_known(request)
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        # Somebody opened the endpoint's address in a browser: the console has the lines for their client.
        return {"statusCode": 303, "headers": {"location": f"{request.asked_url}/profile"}, "body": ""}
    if request.method != "POST":
        return json_response(405, {"error": "only POST is served here"}, {"allow": "POST"})
    body = request.body(MAX_BODY_BYTES)
    caller = authorize(request, reading_only=request.path.rstrip("/").endswith(READING_SUFFIX))
    message = json_object(body)
    invocation.add_fields(**describe_message(message))
    exchange = McpExchange(arrived.request_id, arrived.deadline, caller)
    server = protocol(request.public_url, proxy=request.path.endswith("/categories"))
    with limited(caller, arrived.request_id, may_wait=may_wait(message)):
        try:
            status, headers, content = server.post(request.path, _headers(request), body, message, exchange)
        except RequestTimeout:  # it may have interrupted the server anywhere
            protocol.cache_clear()
            raise
    spending.add(caller.organization, "bytes", len(content))
    session = session_headers(message) if status == OK else {}
    return {"statusCode": status, "headers": headers | session, "body": content.decode()}


def _headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers, with the public host: a proxy must name API Gateway's own, by which that finds the API."""
    if request.headers.get("host") != request.event["requestContext"]["domainName"]:
        return request.headers
    return request.headers | {"host": urlsplit(request.public_url).netloc}


def refuse(request: HttpRequest, error: McpistError) -> HttpResponse:
    """Return an error as JSON."""
    return json_response(error.status, {"error": error.as_dict(request.locale())}, error_headers(request, error))


def _well_known(request: HttpRequest) -> HttpResponse:
    """Return public metadata that leads clients to the login."""
    if request.method != "GET":
        return json_response(405, {"error": "only GET is served here"}, {"allow": "GET"})
    return json_response(200, metadata(request.asked_url), {"cache-control": "public, max-age=300"})


def metadata(public_url: str) -> dict[str, Any]:
    """Return the metadata of the protected resource (RFC 9728)."""
    return {
        "resource": audience(public_url),
        "authorization_servers": [settings().login_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCPist",
    }


DOOR = Door("mcp_endpoint", answers_in_time=True)
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=(
        *("mcp_endpoint.batch", "mcp_endpoint.elicitation", "mcpist.batch.ledger.progress"),
        "mcpist.running.send",
        *(f"mcpist_services.{name}.tools" for name in NAMES),
        *preloads(),
    ),
)


def handler(event: dict[str, Any], context: "LambdaContext") -> HttpResponse:
    """Answer one HTTP request; errors outside of MCP are answered as JSON."""
    request = HttpRequest(event)
    return serve_programs(
        DOOR,
        request,
        context,
        lambda exchange: respond(request, exchange),
        lambda error: refuse(request, error),
    )
