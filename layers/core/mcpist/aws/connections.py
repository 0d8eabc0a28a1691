"""Connections to one AWS endpoint, kept open for the next request."""

import select
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

MAX_IDLE_CONNECTIONS = 10
HTTP_PORT, HTTPS_PORT = 80, 443
RECEIVED_BYTES, MAX_HEAD_BYTES = 65_536, 65_536


class UnreadableAnswer(OSError):
    """The answer is not whole, or not HTTP."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer, read to its end."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case names."""
    body: bytes = field(repr=False)


class Connections:
    """Connections that threads share: each has one of its own while it waits for an answer."""

    def __init__(self, url: str, *, connect_seconds: float, read_seconds: float) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self._secure = parts.scheme == "https"
        self._address = parts.hostname or "", parts.port or (HTTPS_PORT if self._secure else HTTP_PORT)
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._idle: deque[socket.socket] = deque(maxlen=MAX_IDLE_CONNECTIONS)

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a body to `/` and read the answer; OSError if there is none.

        Whatever interrupts this, the time limit of the request among it, closes the connection: the next request on it
        would read this one's answer.
        """
        connection = self._take()
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST / HTTP/1.1\r\n{lines}accept-encoding: identity\r\ncontent-length: {len(body)}\r\n\r\n"
        try:
            connection.sendall(head.encode("ascii") + body)
            answer = _read_answer(connection)
        except BaseException:
            connection.close()
            raise
        if answer.headers.get("connection", "").lower() == "close":
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> socket.socket:
        """Return a connection that the other side has not closed."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if _is_quiet(connection):
                return connection
            connection.close()
        return self._opened()

    def _opened(self) -> socket.socket:
        connection = socket.create_connection(self._address, self._connect_seconds)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._secure:
                connection = tls_context().wrap_socket(connection, server_hostname=self._address[0])
            connection.settimeout(self._read_seconds)
        except BaseException:
            connection.close()
            raise
        return connection


def _read_answer(connection: socket.socket) -> HttpAnswer:
    """Read one answer, whose head must state its length; http.client takes half as much CPU again for a request."""
    received = _receive(connection)
    while (end := received.find(b"\r\n\r\n")) < 0:
        if len(received) > MAX_HEAD_BYTES:
            raise UnreadableAnswer("the head is too long")
        received += _receive(connection)
    first, *lines = received[:end].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    status, length = first.split(" ")[1:2], headers.get("content-length", "")
    if not (first.startswith("HTTP/1.1 ") and status[0].isdecimal() and length.isdecimal()):
        raise UnreadableAnswer("no status or no length")
    body = bytearray(received[end + 4 :])
    while len(body) < int(length):
        body += _receive(connection)
    if len(body) > int(length):
        raise UnreadableAnswer("more than the stated length")
    return HttpAnswer(int(status[0]), headers, bytes(body))


def _receive(connection: socket.socket) -> bytes:
    received = connection.recv(RECEIVED_BYTES)
    if not received:
        raise UnreadableAnswer("it ended early")
    return received


def _is_quiet(connection: socket.socket) -> bool:
    """Whether nothing has arrived: the other side's end of an idle connection would."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    # AWS closes idle connections, and a request on a closed one would fail or be sent twice.
    return not poll.poll(0)


@cache
def tls_context() -> ssl.SSLContext:
    """Return the process's only context: reading the certificates takes longer than a request."""
    return ssl.create_default_context()
