"""Pages of other origins: what a browser must be told so that a page that the operator allows can use the endpoint.

Cookies are never asked for: a page brings an access token, or reads what everybody may. By the same setting the SDK
refuses the requests of pages that are not allowed.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from collections.abc import Mapping

from mcpist.settings import settings

SENT = (
    "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, "
    "x-mcpist-role"
)
READ = "retry-after, www-authenticate, x-mcpist-www-authenticate"
MEMORY_SECONDS = 7_200  # Chromium remembers a permission for no longer


def permission(headers: Mapping[str, str]) -> dict[str, str]:
    """What every answer carries, so that the page that asked may read it."""
    if not settings().allowed_origins:
        return {}
    varying = {"vary": "origin"}
    if not allowed(headers):
        return varying
    return {**varying, "access-control-allow-origin": headers["origin"], "access-control-expose-headers": READ}


def preflight() -> dict[str, str]:
    """What a browser asks before an allowed page's request: with which methods and headers it may come."""
    return {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": SENT,
        "access-control-max-age": str(MEMORY_SECONDS),
    }


def allowed(headers: Mapping[str, str]) -> bool:
    """Whether a page of another origin sends this, and the operator allows it."""
    return headers.get("origin") in settings().allowed_origins
