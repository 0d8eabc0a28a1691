"""Connections that end at a deadline, to addresses that a request may reach: none leads into our own network.

The address is checked after the name was resolved, and the connection goes to exactly the checked address. An HTTP
library's own timeouts begin anew with every byte that arrives.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.public_address import Address, embedded_address, is_public
from mcpist.settings import settings

# The sandbox's own runtime and credential endpoints: they give away credentials and other callers' events.
_SANDBOX_ENDPOINT_VARIABLES = ("AWS_LAMBDA_RUNTIME_API", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL")
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Serve a machine's own credentials: no network that an owner opens contains them.
_CREDENTIAL_NETWORKS = (IPv4Network("169.254.0.0/16"), IPv6Network("fd00:ec2::/32"))

type Network = IPv4Network | IPv6Network


class ForbiddenAddress(httpcore2.ConnectError):
    """A host has an address that no request may reach."""


def check_addresses(addresses: Iterable[Address], port: int, *, embedded_aws: bool = False) -> None:
    """Raise ForbiddenAddress if one of a host's addresses is forbidden: that forbids the host."""
    for address in addresses:
        check_address(address, port, embedded_aws=embedded_aws)


def check_address(address: Address, port: int, *, embedded_aws: bool = False) -> None:
    """Raise ForbiddenAddress unless the address is on the internet, or on loopback where that is allowed.

    `embedded_aws` allows the embedded AWS on loopback, which nothing but URLs that we signed ourselves may lead to.
    """
    # Loopback is allowed in the embedded AWS, and where the owner's identity provider is there.
    is_local = settings().local_services or is_loopback(urlsplit(settings().issuer).hostname or "")
    reached = embedded_address(address)
    if reached.is_loopback and is_local:
        if not embedded_aws:
            _check_sandbox_endpoints(reached, port)
    elif not is_public(address):
        raise ForbiddenAddress("its host leads to an address that is private or reserved")


def _check_sandbox_endpoints(address: Address, port: int) -> None:
    for variable in _SANDBOX_ENDPOINT_VARIABLES:
        value = os.environ.get(variable, "")
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = parts.hostname or ""
        if port == (parts.port or _DEFAULT_PORTS.get(parts.scheme)) and (
            host == str(address) or (is_loopback(host) and address.is_loopback)
        ):
            raise ForbiddenAddress("its address is the sandbox's own")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its address or as localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def resolve(host: str, port: int, seconds: float | None) -> list[Address]:
    """Return all addresses of a host from the machine's resolver, which knows no time limit of its own."""
    results: list[list[Address] | OSError] = []
    # A thread that outlives its time limit holds nothing but the lookup.
    thread = threading.Thread(target=lambda: results.append(_look_up(host, port)), name="resolver", daemon=True)
    thread.start()
    thread.join(seconds)
    if not results:
        raise httpcore2.ConnectTimeout("the name was not resolved in time")
    if isinstance(results[0], OSError):
        raise httpcore2.ConnectError("the host's name is not known")
    return results[0]


def _look_up(host: str, port: int) -> list[Address] | OSError:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return error if isinstance(error, OSError) else OSError(str(error))
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


def open_connection(host: str, port: int, deadline: float, inside: Iterable[Network] = ()) -> socket.socket:
    """Connect before a moment on the monotonic clock to the first address of a host that answers.

    ExchangeFailed for a host with an address that no request may reach; those in the networks `inside`, which are the
    owner's own, may be reached as well.
    """
    networks = tuple(inside)

    def check(addresses: Iterable[Address]) -> None:
        check_addresses([each for each in addresses if not _is_inside(each, networks)], port)

    try:
        stream = _connect(host, port, deadline, time.monotonic, check)
    except httpcore2.ConnectTimeout:
        raise ExchangeTimeout("ConnectTimeout", sent=False) from None
    except httpcore2.ConnectError as error:
        problem = type(error.__cause__).__name__ if error.__cause__ else str(error)
        raise ExchangeFailed(problem, sent=False) from None
    opened: socket.socket = stream.get_extra_info("socket")
    return opened


def _connect(
    host: str,
    port: int,
    deadline: float | None,
    clock: Callable[[], float],
    check: Callable[[Iterable[Address]], None],
    **options: Any,
) -> httpcore2.NetworkStream:
    """Connect to the first address of a host that answers, once `check` has let all of them pass."""
    addresses = resolve(host, port, _remaining(deadline, clock, httpcore2.ConnectTimeout))
    # All of them, before the first connection: a host with one forbidden address is an attack or a mistake.
    check(addresses)
    failed = httpcore2.ConnectError("the host has no address")
    for address in addresses:
        seconds = _remaining(deadline, clock, httpcore2.ConnectTimeout)
        try:
            return httpcore2.SyncBackend().connect_tcp(str(address), port, seconds, **options)
        except httpcore2.ConnectError as error:
            failed = error
    raise failed


def _is_inside(address: Address, networks: Iterable[Network]) -> bool:
    reached = embedded_address(address)
    if reached.is_loopback or any(reached in network for network in _CREDENTIAL_NETWORKS):
        return False
    return any(reached in network for network in networks)


class DeadlineBackend(httpcore2.NetworkBackend):
    """Connections whose timeouts are moments on the clock."""

    def __init__(self, clock: Callable[[], float], *, embedded_aws: bool = False) -> None:
        self._clock = clock
        self._embedded_aws = embedded_aws

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect before the moment `timeout` to the first address of the host that answers."""
        check = partial(check_addresses, port=port, embedded_aws=self._embedded_aws)
        options = {"local_address": local_address, "socket_options": socket_options}
        return _DeadlineStream(_connect(host, port, timeout, self._clock, check, **options), self._clock)


class _DeadlineStream(httpcore2.NetworkStream):
    """A stream that waits for each byte until the exchange's deadline, not for so many seconds again."""

    def __init__(self, stream: httpcore2.NetworkStream, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self.close = stream.close  # type: ignore[method-assign]
        self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(timeout, self._clock, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        connection, rest = self._stream.get_extra_info("socket"), memoryview(buffer)
        try:
            while rest:
                # httpcore's own stream would wait as long again for each part that the socket takes.
                connection.settimeout(_remaining(timeout, self._clock, httpcore2.WriteTimeout))
                rest = rest[connection.send(rest) :]
        except TimeoutError:
            raise httpcore2.WriteTimeout from None
        except OSError:
            raise httpcore2.WriteError from None

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = _remaining(timeout, self._clock, httpcore2.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._clock)


def _remaining(deadline: float | None, clock: Callable[[], float], expired: type[Exception]) -> float | None:
    if deadline is None:
        return None
    seconds = deadline - clock()
    if seconds <= 0:
        raise expired
    return seconds
