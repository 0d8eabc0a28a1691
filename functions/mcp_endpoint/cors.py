"""Pages of other origins: what a browser must be told so that a page that the operator allows can use the endpoint.

Cookies are never asked for: a page brings an access token, or reads what everybody may. By the same setting the SDK
refuses the requests of pages that are not allowed.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from collections.abc import Mapping

from mcpist.settings import settings

ALLOWED_HEADERS = (
    "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, "
    "x-mcpist-role"
)
EXPOSED_HEADERS = "retry-after, www-authenticate, x-mcpist-www-authenticate"
PREFLIGHT_MAX_AGE_SECONDS = 7_200  # Chromium remembers a permission for no longer


def response_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """What every answer carries, so that the page that asked may read it."""
    if not settings().allowed_origins:
        return {}
    varying = {"vary": "origin"}
    if not is_allowed(headers):
        return varying
    return {
        **varying,
        "access-control-allow-origin": headers["origin"],
        "access-control-expose-headers": EXPOSED_HEADERS,
    }


def preflight_headers() -> dict[str, str]:
    """What a browser asks before an allowed page's request: with which methods and headers it may come."""
    return {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": ALLOWED_HEADERS,
        "access-control-max-age": str(PREFLIGHT_MAX_AGE_SECONDS),
    }


def is_allowed(headers: Mapping[str, str]) -> bool:
    """Whether a page of another origin sends this, and the operator allows it."""
    return headers.get("origin") in settings().allowed_origins
