"""CORS headers for pages of the origins that the operator allows.

Credentials are never allowed: a page sends an access token, or reads what is public. The MCP SDK uses the same setting
to refuse requests from other origins.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from collections.abc import Iterable, Mapping

from mcpist.settings import settings

ALLOWED_HEADERS = ("accept", "authorization", "content-type", "x-mcpist-organization", "x-mcpist-role")
EXPOSED_HEADERS = "content-range, link, mcp-session-id, retry-after, www-authenticate, x-mcpist-www-authenticate"
PREFLIGHT_MAX_AGE_SECONDS = 7_200  # the longest that Chromium caches a preflight


def response_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that allow the requesting page to read a response."""
    if not settings().allowed_origins:
        return {}
    vary = {"vary": "origin"}
    if not is_allowed(headers):
        return vary
    return {**vary, "access-control-allow-origin": headers["origin"], "access-control-expose-headers": EXPOSED_HEADERS}


def preflight_headers(methods: Iterable[str], headers: Iterable[str]) -> dict[str, str]:
    """Return the methods and headers that an allowed page may use, besides the headers of every door."""
    return {
        "access-control-allow-methods": ", ".join(methods),
        "access-control-allow-headers": ", ".join(sorted({*ALLOWED_HEADERS, *headers})),
        "access-control-max-age": str(PREFLIGHT_MAX_AGE_SECONDS),
    }


def is_allowed(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from another origin that the operator allows."""
    return headers.get("origin") in settings().allowed_origins
