"""Responses to a browser: a page or a redirect."""

import base64
import hashlib
from collections.abc import Sequence

from connect.style import STYLE
from mcpist.aws.http_request import HttpResponse

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# With `no-referrer` browsers would send forms from the origin "null".
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


def html_response(html: str, *, status: int = 200, cookies: Sequence[str] = ()) -> HttpResponse:
    """Return a page."""
    headers = {**HEADERS, "content-type": "text/html; charset=utf-8"}
    return {"statusCode": status, "headers": headers, "cookies": list(cookies), "body": html}


def redirect(url: str, *, cookies: Sequence[str] = ()) -> HttpResponse:
    """Send the browser to another address, which it requests with GET."""
    return {"statusCode": 303, "headers": {**HEADERS, "location": url}, "cookies": list(cookies), "body": ""}
