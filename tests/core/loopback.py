"""HTTP services on loopback, among them one with scripted responses."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from threading import Event, Thread
from typing import Any

from mcpist.running import send as sending


def has_ipv6() -> bool:
    """Return whether this machine has IPv6 on loopback."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def close_connections() -> None:
    """Close the connections to services; the next request opens new ones."""
    sending.http().close()
    sending.http.cache_clear()


@dataclass
class Reply:
    """A response of the service."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """The content length that it claims; None for the real one."""
    waits: bool = False
    """Whether the connection stays open afterwards, until the service ends."""


@dataclass
class ReceivedRequest:
    """A request to the service."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Service:
    """A service that answers each request with the next of `replies`; the last one is repeated."""

    def __init__(self) -> None:
        self.replies: list[Reply] = [Reply()]
        self.received: list[ReceivedRequest] = []
        self.closing = Event()
        service = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.received.append(ReceivedRequest(self.command, self.path, headers, body))
                service.answer(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

            def log_message(self, template: str, *args: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, page: BaseHTTPRequestHandler) -> None:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        page.send_response(reply.status)
        for name, value in reply.headers.items():
            page.send_header(name, value)
        page.send_header("content-length", str(len(reply.body) if reply.length is None else reply.length))
        page.end_headers()
        page.wfile.write(reply.body)
        page.wfile.flush()
        if reply.waits:
            self.closing.wait(5)

    def reply_with(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.received.clear()


def json_response(value: Any, status: int = 200, **headers: str) -> Reply:
    """Return a JSON response; `_` in a header's name is written as `-`."""
    named = {name.replace("_", "-"): content for name, content in headers.items()}
    return Reply(json.dumps(value).encode(), status, {"content-type": "application/json", **named})


@contextmanager
def listening(server: BaseServer) -> Iterator[None]:
    """Run a server."""
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serving() -> AbstractContextManager[Service]:
    """Run a scripted service."""
    return serving_as(Service)


@contextmanager
def serving_as[Kind: Service](kind: type[Kind]) -> Iterator[Kind]:
    """Run a service that answers in a way of its own."""
    service = kind()
    with listening(service.server):
        try:
            yield service
        finally:
            service.closing.set()
