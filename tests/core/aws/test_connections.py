"""Kept connections: no answer reaches another request, and none that is not whole is used."""

import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infra.local.server import LoopbackRequest, LoopbackResponse
from mcpist.aws.connections import Connections
from mcpist.errors import RequestTimeout, StoreUnavailable
from mcpist.telemetry.door import time_limit
from tests.core.aws.service import Service, ok


def test_a_connection_is_kept_and_one_that_was_closed_meanwhile_is_replaced(service: Service, url: str) -> None:
    connections = Connections(url, connect_seconds=5, read_seconds=5)
    send, ports = service.transport(connections, attempts=1), []
    service.answers = [lambda request: ports.append(request.environ["REMOTE_PORT"]) or ok()]  # type: ignore[func-returns-value]
    for _ in range(3):
        send("ledger", "GetItem", {})
    assert len(set(ports)) == 1
    (idle,) = connections._idle
    idle.shutdown(socket.SHUT_RDWR)
    send("ledger", "GetItem", {})
    assert len(set(ports)) == 2
    connections.close()


def test_an_interrupted_request_leaves_its_answer_to_nobody(service: Service, url: str) -> None:
    connections = Connections(url, connect_seconds=5, read_seconds=5)
    send = service.transport(connections, attempts=1)

    interrupted = threading.Event()

    def slowly(_: LoopbackRequest) -> LoopbackResponse:
        interrupted.wait(60)
        return ok(Item="of the first")

    service.answers = [ok(), slowly, ok(Item="of the second")]
    send("ledger", "GetItem", {})
    with pytest.raises(RequestTimeout), time_limit(1):
        send("ledger", "GetItem", {})
    interrupted.set()
    assert send("ledger", "GetItem", {}) == {"Item": "of the second"}
    connections.close()


def test_a_service_that_does_not_answer_in_time_is_an_outage(service: Service, url: str) -> None:
    service.answers = [lambda _: time.sleep(0.3) or ok()]  # type: ignore[func-returns-value]
    with pytest.raises(StoreUnavailable):
        service.send(url=url, attempts=2, read_seconds=0.05)
    with pytest.raises(StoreUnavailable):
        service.send(url="http://127.0.0.1:9", attempts=1)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"SSH-2.0\r\n\r\n",
        b"",
        b"x" * 70_000,
    ],
    ids=["short", "long", "no length", "chunked", "no status", "no HTTP", "empty", "no end"],
)
def test_an_answer_that_is_not_whole_is_an_outage(answer: bytes) -> None:
    with pytest.raises(StoreUnavailable):
        answered_by(answer)


@pytest.mark.parametrize("pieces", [(b"HTTP/1.1 200 OK\r\nContent-", b"Length: 2\r\n\r", b"\n{", b"}")])
def test_an_answer_may_arrive_in_pieces(pieces: tuple[bytes, ...]) -> None:
    assert answered_by(*pieces) == {}


def test_a_connection_is_closed_when_the_answer_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        connections = Connections(f"http://127.0.0.1:{server.getsockname()[1]}", connect_seconds=5, read_seconds=5)
        served = pool.submit(serve, server, (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",))
        Service().transport(connections)("ledger", "GetItem", {})
        served.result()
        assert not connections._idle


def answered_by(*pieces: bytes) -> Any:
    """What a request returns that is answered by these bytes, after which the connection ends."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        served = pool.submit(serve, server, pieces)
        try:
            return Service().send(url=f"http://127.0.0.1:{server.getsockname()[1]}", attempts=1)
        finally:
            served.result()


def serve(server: socket.socket, pieces: tuple[bytes, ...]) -> None:
    client, _ = server.accept()
    with client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.recv(65_536)
        for piece in pieces:
            client.sendall(piece)
            select.select((), (), (), 0.01)  # so that the pieces arrive as such
