"""Addresses that upstream connections may reach: no name, redirect or later DNS answer leads into our own network.

The address is checked after the name was resolved, and the connection goes to exactly the checked address.
"""

import asyncio
import os
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import httpcore2

from mcpist.settings import settings

type Address = IPv4Address | IPv6Address

# Addresses that carry an IPv4 address in their last four bytes: NAT64, and IPv4-compatible ones.
_IPV4_IN_IPV6_NETWORKS = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
# The sandbox's own runtime and credential endpoints: they give away credentials and other callers' events.
_SANDBOX_ENDPOINT_VARIABLES = ("AWS_LAMBDA_RUNTIME_API", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class ForbiddenAddress(httpcore2.ConnectError):
    """A host has an address where no upstream may be."""


def check_address(address: Address, port: int) -> None:
    """Raise ForbiddenAddress unless an upstream may be there: on the internet, or on loopback if we are."""
    for one in _effective_addresses(address):
        if one.is_loopback and is_embedded():
            _check_sandbox_endpoints(one, port)
        elif not one.is_global or one.is_multicast or (isinstance(one, IPv6Address) and one.is_site_local):
            raise ForbiddenAddress("its host leads to an address that is private or reserved")


def is_embedded() -> bool:
    """Whether the endpoint itself is on this machine's loopback."""
    return _is_loopback(urlsplit(settings().public_url).hostname or "")


def _effective_addresses(address: Address) -> Iterable[Address]:
    """Return the address, or the IPv4 address that it embeds."""
    if isinstance(address, IPv6Address) and not address.is_loopback:
        embedded = address.ipv4_mapped or address.sixtofour
        if embedded is None and any(address in network for network in _IPV4_IN_IPV6_NETWORKS):
            embedded = IPv4Address(int(address) & 0xFFFFFFFF)
        if embedded is not None:
            return (embedded,)
    return (address,)


def _check_sandbox_endpoints(address: Address, port: int) -> None:
    for variable in _SANDBOX_ENDPOINT_VARIABLES:
        value = os.environ.get(variable, "")
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host = parts.hostname or ""
        if port == (parts.port or _DEFAULT_PORTS.get(parts.scheme)) and (
            host == str(address) or (_is_loopback(host) and address.is_loopback)
        ):
            raise ForbiddenAddress("its address is the sandbox's own")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """A network backend that connects by TCP to checked addresses only."""

    def __init__(self) -> None:
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of a host that answers; one forbidden address forbids the host."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await _resolve(host, port)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("the name was not resolved in time") from error
        for address in addresses:
            check_address(address, port)
        failed: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed or httpcore2.ConnectError("the host has no address")

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse Unix sockets."""
        raise ForbiddenAddress("a socket in the file system is no upstream")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def _resolve(host: str, port: int) -> list[Address]:
    """Return all addresses of a host from the machine's resolver."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    except OSError as error:
        raise httpcore2.ConnectError("the host's name is not known") from error
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))
