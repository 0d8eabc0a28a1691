"""The network of upstream connections: a pool of TCP connections, to checked addresses only."""

import asyncio
import time
from collections.abc import Iterable

import httpcore2
import httpx2

from mcpist.bounded_http.addresses import ForbiddenAddress, check_addresses, resolve

TCP_KEEPALIVE_SECONDS = 30.0
MAX_TCP_CONNECTIONS = 200


class ConnectionPool:
    """The sandbox's TCP connections to upstreams, by host; headers tell the callers apart.

    After a pause idle connections are dropped: sockets can die unnoticed while a sandbox is frozen.
    """

    def __init__(self) -> None:
        self._last_used = time.time()
        self._pools: dict[bytes, httpcore2.AsyncConnectionPool] = {}

    async def send(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send a request; the body of the response is still to be read."""
        pause, self._last_used = time.time() - self._last_used, time.time()
        if not 0 <= pause < TCP_KEEPALIVE_SECONDS:
            for connection in self.connections:
                if connection.is_idle():
                    await connection.aclose()
        return await self._pool(request.url.scheme).handle_async_request(request)

    @property
    def connections(self) -> list[httpcore2.AsyncConnectionInterface]:
        """The open connections."""
        return [connection for pool in self._pools.values() for connection in pool.connections]

    async def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            await pool.aclose()

    def _pool(self, scheme: bytes) -> httpcore2.AsyncConnectionPool:
        """Return the pool of a scheme; certificates are read at the first use of TLS, since that takes long."""
        if scheme not in self._pools:
            self._pools[scheme] = httpcore2.AsyncConnectionPool(
                ssl_context=httpx2.create_ssl_context() if scheme == b"https" else None,
                max_connections=MAX_TCP_CONNECTIONS,
                keepalive_expiry=TCP_KEEPALIVE_SECONDS,
                network_backend=GuardedBackend(),
            )
        return self._pools[scheme]


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
