"""The HTTP routes of the endpoint: MCP requests, metadata for the login, and preflights of browsers."""

from functools import cache
from typing import Any

from mcp_endpoint.exchange import BLOCKS_HEADER, McpExchange, describe_message, may_wait, read_message, session_headers
from mcp_endpoint.protocol.server import Protocol, category_server, meta_tool_server
from mcpist.errors import McpistError, RequestTimeout
from mcpist.http.bearer import METADATA_PATH, audience, authorize, login_scopes
from mcpist.http.front import Exchange, error_headers, limited
from mcpist.http.request import HttpRequest, HttpResponse, json_response, preflight_response
from mcpist.settings import settings
from mcpist.spending import spending
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
    message = read_message(body)
    invocation.add_fields(**describe_message(message))
    exchange = McpExchange(arrived.request_id, arrived.deadline, caller)
    server = protocol(request.public_url, proxy=request.path.endswith("/categories"))
    with limited(caller, arrived.request_id, may_wait=may_wait(message)):
        try:
            status, headers, content = server.post(request.path, request.headers, body, message, exchange)
        except RequestTimeout:  # it may have interrupted the server anywhere
            protocol.cache_clear()
            raise
    spending.add(caller.organization, "bytes", len(content))
    session = session_headers(message) if status == OK else {}
    return {"statusCode": status, "headers": headers | session, "body": content.decode()}


def refuse(request: HttpRequest, error: McpistError) -> HttpResponse:
    """Return an error as JSON."""
    return json_response(error.status, {"error": error.as_dict(request.locale())}, error_headers(request, error))


def _well_known(request: HttpRequest) -> HttpResponse:
    """Return public metadata that leads clients to the login."""
    if request.method != "GET":
        return json_response(405, {"error": "only GET is served here"}, {"allow": "GET"})
    is_resource = request.path.startswith(METADATA_PATH)
    document = metadata(request.asked_url) if is_resource else login_metadata(request.public_url)
    if document is None:
        return json_response(404, {"error": "the authorization server serves its own metadata"})
    return json_response(200, document, {"cache-control": "public, max-age=300"})


def metadata(public_url: str) -> dict[str, Any]:
    """Return the metadata of the protected resource (RFC 9728)."""
    return {
        "resource": audience(public_url),
        "authorization_servers": [public_url if settings().login_url else settings().issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCPist",
        **({"scopes_supported": login_scopes()} if login_scopes() else {}),
    }


def login_metadata(public_url: str) -> dict[str, Any] | None:
    """Return the authorization server's metadata (RFC 8414) where its own is incomplete; None elsewhere.

    Cognito supports PKCE but its metadata does not say so. Clients require `issuer` to be the address of this document;
    only this endpoint reads the issuer of an access token. Cognito's login sends no `iss`, so none is announced.
    """
    login_url = settings().login_url
    if not login_url:
        return None
    return {
        "issuer": public_url,
        "authorization_endpoint": f"{login_url}/oauth2/authorize",
        "token_endpoint": f"{login_url}/oauth2/token",
        "revocation_endpoint": f"{login_url}/oauth2/revoke",
        "jwks_uri": f"{settings().issuer}/.well-known/jwks.json",
        "scopes_supported": login_scopes(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
    }
