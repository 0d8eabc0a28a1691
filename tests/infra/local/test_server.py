"""HTTP itself: ports, kept connections, bodies."""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import pytest

from infra.local.server import (
    DropConnection,
    LoopbackRequest,
    LoopbackResponse,
    LoopbackServer,
    PortInUse,
    listen,
    listen_beside,
)
from tests.core.loopback import has_ipv6


def echo(request: LoopbackRequest) -> LoopbackResponse:
    if request.path == "/hangup":
        raise DropConnection
    status = 204 if request.path == "/empty" else 200
    dated = (("Date", request.headers["x-date"]),) if "x-date" in request.headers else ()
    return LoopbackResponse(status, (("X-Path", request.path), ("X-Query", request.query), *dated), request.body)


@contextlib.contextmanager
def serving() -> Iterator[http.client.HTTPConnection]:
    listener = listen("127.0.0.1", 0)
    with LoopbackServer(listener, echo):
        connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=5)
        with contextlib.closing(connection):
            yield connection


def test_a_busy_port_is_named() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(PortInUse, match=str(port)):
            listen("127.0.0.1", port)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_a_port_is_listened_on_by_ipv6_too_unless_another_program_does() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (beside,) = listen_beside(listener)
        with LoopbackServer(beside, echo), contextlib.closing(http.client.HTTPConnection("::1", port)) as connection:
            connection.request("GET", "/a")
            assert connection.getresponse().headers["X-Path"] == "/a"
            assert listen_beside(listener) == []
        with contextlib.closing(listen("::1", port)) as other:
            assert listen_beside(other) == [], "only 127.0.0.1 has another address"


def test_a_connection_is_kept_over_answers_of_all_kinds() -> None:
    with serving() as connection:
        connection.connect()
        first = connection.sock
        for method, path, body in [("POST", "/a%2Fb?c=%20", b"xyz"), ("GET", "/empty", None), ("HEAD", "/", None)]:
            connection.request(method, path, body)
            answer = connection.getresponse()
            assert answer.read() == (body or b"")
            assert answer.headers["X-Path"] == path.partition("?")[0]
        assert connection.sock is first


def test_a_response_has_a_date_unless_it_brings_its_own() -> None:
    with serving() as connection:
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        assert abs(parsedate_to_datetime(answer.headers["date"]).timestamp() - time.time()) < 60
        connection.request("GET", "/", headers={"X-Date": "then"})
        answer = connection.getresponse()
        answer.read()
        assert answer.headers.get_all("date") == ["then"]


def test_a_chunked_body_arrives_whole() -> None:
    with serving() as connection:
        connection.request("POST", "/", iter([b"ab", b"cd"]), encode_chunked=True)
        assert connection.getresponse().read() == b"abcd"


def test_a_dropped_connection_gets_no_response() -> None:
    with serving() as connection:
        connection.request("GET", "/hangup")
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()


def test_the_port_is_free_after_the_context() -> None:
    with serving() as connection:
        connection.request("GET", "/")
        connection.getresponse().read()
        port = connection.port
    with contextlib.closing(listen("127.0.0.1", port)):
        pass


def test_a_body_over_the_limit_is_refused_unread() -> None:
    with serving() as connection:
        connection.connect()
        assert isinstance(connection.sock, socket.socket)
        connection.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        assert connection.sock.recv(100).startswith(b"HTTP/1.1 413")
