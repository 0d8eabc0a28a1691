"""The network of upstream connections: TCP, and to checked addresses only."""

import asyncio
from collections.abc import Iterable

import httpcore2

from mcpist.bounded_http.addresses import ForbiddenAddress, check_addresses, resolve


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
        addresses = await asyncio.to_thread(resolve, host, port, timeout)
        check_addresses(addresses, port)
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
