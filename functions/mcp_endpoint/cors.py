"""CORS headers for pages of the origins that the operator allows.

Credentials are never allowed: a page sends an access token, or reads what is public. The SDK uses the same setting to
refuse requests from other origins.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from collections.abc import Mapping

from mcpist.settings import settings

ALLOWED_HEADERS = (
    "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, "
    "x-mcpist-role"
)
EXPOSED_HEADERS = "retry-after, www-authenticate, x-mcpist-www-authenticate"
PREFLIGHT_MAX_AGE_SECONDS = 7_200  # the longest that Chromium caches a preflight


def response_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that allow the requesting page to read a response."""
    if not settings().allowed_origins:
        return {}
    vary = {"vary": "origin"}
    if not is_allowed(headers):
        return vary
    return {**vary, "access-control-allow-origin": headers["origin"], "access-control-expose-headers": EXPOSED_HEADERS}


def preflight_headers() -> dict[str, str]:
    """Return the methods and headers that an allowed page may use."""
    return {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": ALLOWED_HEADERS,
        "access-control-max-age": str(PREFLIGHT_MAX_AGE_SECONDS),
    }


def is_allowed(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from another origin that the operator allows."""
    return headers.get("origin") in settings().allowed_origins
