"""Responses to a browser: a page, a redirect, or a file that never changes."""

import base64
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from mcpist.http.browser import BrowserRequest
from mcpist.http.request import HttpResponse, compress

# With `no-referrer` browsers would send forms from the origin "null".
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types mcpist"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "strict-transport-security": "max-age=31536000",
    "vary": "accept-encoding",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_IMMUTABLE = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}


def html_response(
    request: BrowserRequest, html: str, *, status: int = 200, cookies: Sequence[str] = ()
) -> HttpResponse:
    """Return a page."""
    return {**_answer(request, html.encode(), "text/html; charset=utf-8", HEADERS, status), "cookies": list(cookies)}


def file_response(request: BrowserRequest, content: bytes, content_type: str) -> HttpResponse:
    """Return a file whose address changes with its content."""
    return _answer(request, content, content_type, _IMMUTABLE, 200)


def download(request: BrowserRequest, content: bytes, content_type: str, name: str) -> HttpResponse:
    """Return a file that a browser stores and never shows."""
    named = f'filename="{name}"' if name.isascii() else f"filename*=UTF-8''{quote(name)}"
    headers = {**HEADERS, "content-disposition": f"attachment; {named}"}
    return _answer(request, content, content_type, headers, 200)


def redirect(url: str, *, cookies: Sequence[str] = ()) -> HttpResponse:
    """Send the browser to another address, which it requests with GET."""
    return {"statusCode": 303, "headers": {**HEADERS, "location": url}, "cookies": list(cookies), "body": ""}


def _answer(
    request: BrowserRequest, content: bytes, content_type: str, headers: Mapping[str, str], status: int
) -> HttpResponse:
    """Return a response, compressed for a browser that accepts it."""
    content, encoding = compress(request.headers, content)
    given = {**headers, "content-type": content_type, **encoding}
    if not encoding and content_type.startswith("text/"):
        return {"statusCode": status, "headers": given, "body": content.decode()}
    body = base64.b64encode(content).decode()
    return {"statusCode": status, "headers": given, "body": body, "isBase64Encoded": True}
