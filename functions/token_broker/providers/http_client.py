"""The wire: how the broker asks a provider. No redirect is followed, and no answer is waited for or read endlessly."""

import json
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from mcpist.errors import Timeout, UpstreamUnavailable
from mcpist.oauth.provider import ProviderRequest

if TYPE_CHECKING:
    import httpx

PROVIDER_CONNECT_SECONDS = 3.0
PROVIDER_TIMEOUT_SECONDS = 10.0
MAX_PROVIDER_RESPONSE_BYTES = 1_000_000
MIN_PROVIDER_TIMEOUT_SECONDS = 0.001  # a socket takes 0 for "do not wait at all"


@dataclass(frozen=True, slots=True)
class ProviderResponse:
    """A provider's answer: lower-case headers, and the body's JSON, or None where it is none."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status says that it worked; some providers say so with an error in the body."""
        return 200 <= self.status < 300

    def field(self, name: str) -> Any:
        """A field of the body, None where there is none."""
        return self.body.get(name) if isinstance(self.body, dict) else None


def send(request: ProviderRequest, provider: str, seconds: float = PROVIDER_TIMEOUT_SECONDS) -> ProviderResponse:
    """What the provider says within these seconds; Timeout or UpstreamUnavailable where it says nothing.

    Neither tells whether the request arrived.
    """
    import httpx

    seconds = max(seconds, MIN_PROVIDER_TIMEOUT_SECONDS)
    try:
        with _enforcing_deadline(seconds) as deadline:
            return _send_and_read(request, provider, seconds, deadline)
    except httpx.TimeoutException:
        raise Timeout(service=provider, seconds=round(seconds, 1)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:  # its own text and its request may quote a secret
        raise UpstreamUnavailable(service=provider, problem=f"no answer ({type(error).__name__})") from None


class _Deadline:
    """What ends the connection of an exchange; httpx tells it, as its `trace`, which connection that is."""

    def __init__(self) -> None:
        self.expired = False
        self._connection: socket.socket | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep a handle of our own on the connection: TLS takes the first one away."""
        if event == "connection.connect_tcp.complete":
            self._connection = info["return_value"].get_extra_info("socket").dup()
            if self.expired:
                self.expire()

    def expire(self) -> None:
        """Whoever waits for this connection is woken up, and nothing more is sent or read."""
        self.expired = True
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give our handle back."""
        if self._connection is not None:
            self._connection.close()


@contextmanager
def _enforcing_deadline(seconds: float) -> Iterator[_Deadline]:
    """Cut what takes longer: each of httpx's own timeouts begins anew with every byte that comes."""
    import httpx

    deadline = _Deadline()
    timer = threading.Timer(seconds, deadline.expire)
    timer.start()
    try:
        yield deadline
    except (httpx.HTTPError, UpstreamUnavailable):
        if not deadline.expired:
            raise
    finally:
        timer.cancel()
        timer.join()
        deadline.close()
    if deadline.expired:  # also where the end of the connection looked like the end of the answer
        raise httpx.ReadTimeout("the answer did not end in time")


def _send_and_read(request: ProviderRequest, provider: str, seconds: float, deadline: _Deadline) -> ProviderResponse:
    import httpx

    timeout = httpx.Timeout(seconds, connect=min(seconds, PROVIDER_CONNECT_SECONDS))
    headers = {"user-agent": "mcpist", "accept": "application/json", "accept-encoding": "identity", **request.headers}
    with _http_client().stream(
        request.method,
        request.url,
        headers=headers,
        data=request.form,
        json=request.json,
        timeout=timeout,
        extensions={"trace": deadline.trace},
    ) as response:
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_PROVIDER_RESPONSE_BYTES:
                raise UpstreamUnavailable(service=provider, problem="its answer is too large")
        return ProviderResponse(response.status_code, dict(response.headers), _parse_json(bytes(body)))


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


@cache
def _http_client() -> "httpx.Client":
    """The sandbox's one client; it keeps no connection, since a request that dies on an old one cannot be repeated."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx

    # At INFO and DEBUG these print addresses and headers, which carry tokens.
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    return httpx.Client(
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=httpx.Limits(max_keepalive_connections=0),
    )
