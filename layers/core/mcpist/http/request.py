"""An HTTP request as API Gateway hands it to a function (payload format 2.0), its response, and CORS for both.

Pages of the origins that the operator allows may call us, never with credentials: a page sends an access token, or
reads what is public. The MCP SDK uses the same setting to refuse requests from other origins.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from mcpist.errors import Locale, PayloadTooLarge
from mcpist.loopback import same_urls
from mcpist.settings import settings

MIN_COMPRESSED_BYTES = 1_000
HSTS = "max-age=31536000"  # a year; the host's other subdomains are not ours
ALLOWED_HEADERS = (
    "accept",
    "authorization",
    "content-type",
    "x-mcpist-format",
    "x-mcpist-organization",
    "x-mcpist-role",
)
EXPOSED_HEADERS = (
    "content-range, deprecation, etag, idempotency-replayed, link, location, mcp-session-id, ratelimit, "
    "ratelimit-policy, retry-after, www-authenticate, x-mcpist-www-authenticate"
)
PREFLIGHT_MAX_AGE_SECONDS = 7_200  # the longest that Chromium caches a preflight
type HttpResponse = dict[str, Any]


@dataclass(frozen=True)
class HttpRequest:
    """A view of the event; no attribute is read before it is needed, so that a malformed event fails in its handler."""

    event: Mapping[str, Any] = field(repr=False)

    @property
    def method(self) -> str:
        """The HTTP method in upper case."""
        return str(self.event["requestContext"]["http"]["method"])

    @property
    def path(self) -> str:
        """The path without a stage."""
        return str(self.event["rawPath"])

    @property
    def route(self) -> str:
        """The route in the template that matched, e.g. `GET /connect/{service}`."""
        return str(self.event["routeKey"])

    @property
    def path_parameters(self) -> Mapping[str, str]:
        """The values of the route's variables."""
        return self.event.get("pathParameters") or {}

    @property
    def query(self) -> Mapping[str, str]:
        """The query parameters; API Gateway joins repeated ones with commas."""
        return self.event.get("queryStringParameters") or {}

    @cached_property
    def headers(self) -> dict[str, str]:
        """Lower-case names and stripped values; `sam local` sends Title-Case names."""
        return {name.lower(): value.strip() for name, value in self.event.get("headers", {}).items()}

    @property
    def traceparent(self) -> str:
        """The W3C trace that the request continues; empty for none, and for an event of another shape."""
        headers = self.event.get("headers") if isinstance(self.event, dict) else None
        value = headers.get("traceparent") or headers.get("Traceparent") if isinstance(headers, dict) else ""
        return value if isinstance(value, str) else ""

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies by their names."""
        pairs = (cookie.partition("=") for cookie in self.event.get("cookies", []))
        return {name.strip(): value for name, _, value in pairs}

    @property
    def public_url(self) -> str:
        """The address of the API as clients know it, without a slash at its end."""
        return settings().public_url or f"https://{self.event['requestContext']['domainName']}"

    @property
    def asked_url(self) -> str:
        """The address of the API as this client asked for it: on loopback, by any of the host's names."""
        asked = f"{urlsplit(self.public_url).scheme}://{self.headers.get('host', '')}"
        return asked if asked in same_urls(self.public_url) else self.public_url

    @property
    def transport_headers(self) -> dict[str, str]:
        """The headers of every response: browsers that were here by https come back by https only."""
        return {"strict-transport-security": HSTS} if self.public_url.startswith("https:") else {}

    def locale(self, default: Locale = "en") -> Locale:
        """Return the language that `accept-language` names first, if it is supported."""
        first = self.headers.get("accept-language", "").lower()[:2]
        return "ja" if first == "ja" else "en" if first == "en" else default

    def body(self, max_bytes: int) -> bytes:
        """Return the body, or raise PayloadTooLarge; API Gateway sends some content types as base64."""
        text = self.event.get("body") or ""
        content = base64.b64decode(text) if self.event.get("isBase64Encoded") else text.encode()
        if len(content) > max_bytes:
            raise PayloadTooLarge(size_bytes=len(content), limit_bytes=max_bytes)
        return content


def compress(request_headers: Mapping[str, str], content: bytes) -> tuple[bytes, dict[str, str]]:
    """Return content as a client wants it encoded, with the header that says so; what is short stays as it is."""
    wanted = re.search(r"(?:^|[,\s])gzip(?:\s*;\s*q=([\d.]+))?", request_headers.get("accept-encoding", ""))
    if len(content) < MIN_COMPRESSED_BYTES or not wanted or (wanted[1] or "1").strip("0.") == "":
        return content, {}
    import gzip  # with zlib, which a door that sends short answers need not load

    return gzip.compress(content, 6, mtime=0), {"content-encoding": "gzip"}


def json_response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return a response with a JSON body."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "body": json.dumps(body, ensure_ascii=False),
    }


def response_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that allow the requesting page to read a response."""
    if not settings().allowed_origins:
        return {}
    vary = {"vary": "origin"}
    if not _is_allowed(headers):
        return vary
    return {**vary, "access-control-allow-origin": headers["origin"], "access-control-expose-headers": EXPOSED_HEADERS}


def preflight_response(request: HttpRequest, methods: Iterable[str], headers: Iterable[str]) -> HttpResponse | None:
    """Answer a preflight of an allowed page with what it may use besides the headers of every door; None for others."""
    if request.method != "OPTIONS" or not _is_allowed(request.headers):
        return None
    allowed = {
        "access-control-allow-methods": ", ".join(methods),
        "access-control-allow-headers": ", ".join(sorted({*ALLOWED_HEADERS, *headers})),
        "access-control-max-age": str(PREFLIGHT_MAX_AGE_SECONDS),
    }
    return {"statusCode": 204, "headers": allowed, "body": ""}


def _is_allowed(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from another origin that the operator allows."""
    return headers.get("origin") in settings().allowed_origins
