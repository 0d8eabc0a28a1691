"""Connections to checked addresses that end at a deadline.

An HTTP library's own timeouts begin anew with every byte that arrives.
"""

from collections.abc import Callable, Iterable
from typing import Any

import httpcore2

from mcpist.bounded_http.addresses import check_addresses, resolve


class DeadlineBackend(httpcore2.NetworkBackend):
    """Connections whose timeouts are moments on the clock."""

    def __init__(self, clock: Callable[[], float], *, embedded_aws: bool = False) -> None:
        self._clock = clock
        self._embedded_aws = embedded_aws
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect before the moment `timeout` to the first address of the host that answers."""
        addresses = resolve(host, port, _remaining(timeout, self._clock, httpcore2.ConnectTimeout))
        check_addresses(addresses, port, embedded_aws=self._embedded_aws)
        failed: httpcore2.ConnectError = httpcore2.ConnectError("the host has no address")
        for address in addresses:
            seconds = _remaining(timeout, self._clock, httpcore2.ConnectTimeout)
            try:
                stream = self._backend.connect_tcp(str(address), port, seconds, local_address, socket_options)
            except httpcore2.ConnectError as error:
                failed = error
            else:
                return _DeadlineStream(stream, self._clock)
        raise failed


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
