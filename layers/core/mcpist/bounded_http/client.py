"""One bounded HTTP exchange: a request and its whole response, before a deadline and within a size.

Only `get` follows redirects. No cookie is kept, no proxy of the environment used, and no address or header logged.
"""

import logging
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from json import loads
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore2

from mcpist.bounded_http.addresses import DeadlineBackend
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout, ResponseTooLarge, UnsendableRequest
from mcpist.bounded_http.request import DEFAULT_HEADERS, build_request

KEEPALIVE_SECONDS = 5.0
MAX_REDIRECTS = 3

_REDIRECTS = {301, 302, 303, 307, 308}
# With these the service has not received the request.
_NOT_SENT = (
    httpcore2.ConnectError,
    httpcore2.ConnectTimeout,
    httpcore2.PoolTimeout,
    httpcore2.UnsupportedProtocol,
    UnicodeError,  # of a host's name
)
_FAILED = (*_NOT_SENT, httpcore2.NetworkError, httpcore2.ProtocolError, zlib.error)

# At DEBUG it prints addresses and headers, which carry arguments and tokens.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class ExchangeResponse:
    """The response of an exchange."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case names; the values of a repeated one are joined by commas."""
    body: bytes = field(repr=False)
    """The body, decompressed."""


class HttpClient:
    """Exchanges over connections that are kept for the next one, unless `keep_alive` is false.

    `embedded_aws` lets a client for URLs that we signed ourselves reach the embedded AWS of a local deployment.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        connect_seconds: float,
        keep_alive: bool = True,
        embedded_aws: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._connect_seconds = connect_seconds
        self._clock = clock
        self._pool = httpcore2.ConnectionPool(
            ssl_context=_ssl_context(),
            max_connections=100,
            max_keepalive_connections=20 if keep_alive else 0,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=DeadlineBackend(clock, embedded_aws=embedded_aws),
        )

    def exchange(
        self,
        method: str,
        url: str,
        *,
        deadline: float,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        form: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        on_send: Callable[[int], None] | None = None,
    ) -> ExchangeResponse:
        """Send one request and read its response before the deadline; ExchangeFailed where there is none.

        `max_bytes` is the size of a response that may be larger than others. `on_send` receives the size of the body
        before it is sent.
        """
        extensions = {"timeout": self._timeouts(deadline)}
        headers = headers or {}
        accepted_encoding = headers.get("accept-encoding", DEFAULT_HEADERS["accept-encoding"])
        request = build_request(
            method, url, query=query, json=json, form=form, content=content, headers=headers, extensions=extensions
        )
        if on_send:
            on_send(int(dict(request.headers).get(b"content-length", 0)))
        try:
            with closing(self._pool.handle_request(request)) as response:
                found = _headers(response.headers)
                body = self._body(response, found, accepted_encoding, max_bytes or self._max_bytes)
                return ExchangeResponse(response.status, found, body)
        except httpcore2.LocalProtocolError:  # its text may quote a header
            raise UnsendableRequest("HTTP cannot express it") from None
        except httpcore2.TimeoutException as error:
            raise ExchangeTimeout(type(error).__name__, sent=not isinstance(error, _NOT_SENT)) from None
        except _FAILED as error:
            raise ExchangeFailed(type(error).__name__, sent=not isinstance(error, _NOT_SENT)) from None

    def get(self, url: str, *, deadline: float, check: Callable[[str], object] = str) -> ExchangeResponse:
        """Read an address, following a few redirects within its scheme; `check` may refuse each address."""
        for _ in range(MAX_REDIRECTS + 1):
            check(url)
            response = self.exchange("GET", url, deadline=deadline)
            target = redirect_url(url, response)
            if target is None:
                break
            url = target
        return response

    def _timeouts(self, deadline: float) -> dict[str, float]:
        now = self._clock()
        # The streams wait until these moments, so that the waits of one exchange cannot add up. The pool's is a time in
        # seconds: it is httpcore's own.
        moments = {"connect": min(deadline, now + self._connect_seconds), "read": deadline, "write": deadline}
        return {**moments, "pool": max(deadline - now, 0)}

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _body(
        self, response: httpcore2.Response, headers: Mapping[str, str], accepted_encoding: str, max_bytes: int
    ) -> bytes:
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", accepted_encoding):
            raise ExchangeFailed("it answers in an encoding that was not asked for")
        compressed = encoding == "gzip"
        decompress = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress if compressed else lambda chunk, _: chunk
        body = bytearray()
        for chunk in response.iter_stream():
            # One byte over the limit is enough to refuse; a small body could decompress to gigabytes.
            body += decompress(chunk, max_bytes + 1 - len(body))
            if len(body) > max_bytes:
                raise ResponseTooLarge(response.status)
        return bytes(body)


def redirect_url(url: str, response: ExchangeResponse) -> str | None:
    """Return the absolute address that a redirect leads to; None where it leads nowhere, or out of the scheme."""
    location = response.headers.get("location")
    if response.status not in _REDIRECTS or location is None:
        return None
    try:
        target = urljoin(url, location)
        return target if origin(target)[0] == origin(url)[0] else None
    except ValueError:
        return None


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return the scheme, the host and the port of an address; ValueError where they cannot be read."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def parse_json(body: bytes) -> Any:
    """Return a body's JSON; None where it is none."""
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return None


@cache
def _ssl_context() -> Any:
    """Return the one context of the process: reading the certificates takes longer than a request."""
    return httpcore2.default_ssl_context()


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
