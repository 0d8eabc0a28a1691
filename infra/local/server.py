"""The loopback HTTP server: one port, a thread per connection, keep-alive, each response in one write."""

import http.client
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import cached_property
from io import BytesIO
from typing import Any, Self, cast
from urllib.parse import urlsplit

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

MAX_REQUEST_BYTES = 64 * 1024 * 1024
type App = Callable[[LoopbackRequest], LoopbackResponse]


class PortInUse(OSError):
    """Another program uses the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"port {port} on {host} is in use by another program; choose another port")


class DropConnection(Exception):
    """Raised to end the connection without a response."""


@dataclass(frozen=True)
class LoopbackRequest:
    """One HTTP request; `environ` is its WSGI form, for moto."""

    environ: dict[str, Any]
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def method(self) -> str:
        """The method, in capitals."""
        return str(self.environ["REQUEST_METHOD"])

    @cached_property
    def path(self) -> str:
        """The path as it was sent, percent-encoded."""
        return urlsplit(str(self.environ["RAW_URI"])).path or "/"

    @property
    def query(self) -> str:
        """The query string as it was sent."""
        return str(self.environ["QUERY_STRING"])

    @property
    def peer(self) -> str:
        """The client's address."""
        return str(self.environ["REMOTE_ADDR"])

    @property
    def abandoned(self) -> bool:
        """Whether the client has closed the connection."""
        try:
            return not self.environ["werkzeug.socket"].recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True


@dataclass(frozen=True, slots=True)
class LoopbackResponse:
    """One HTTP response; the server adds its length."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raise `PortInUse`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Who asks for `::` means IPv4 as well, which `create_server` would leave out.
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=both)
    except OSError as error:
        raise PortInUse(host, port) from error


def listen_beside(listener: socket.socket) -> list[socket.socket]:
    """Listen on the same port of ::1 beside 127.0.0.1: some clients ask `localhost` there, and nowhere else.

    There is nothing to listen on where the machine has no IPv6, or another program uses the port.
    """
    host, port = listener.getsockname()[:2]
    try:
        return [listen("::1", port)] if host == "127.0.0.1" else []
    except OSError:
        return []


class _Handler(WSGIRequestHandler):
    """Serves HTTP/1.1 with keep-alive, unlike werkzeug's own handler."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "LoopbackServer"

    def run_wsgi(self) -> None:
        environ = self.make_environ()
        if int(environ.get("CONTENT_LENGTH") or 0) > MAX_REQUEST_BYTES:
            self.close_connection = True
            self._send(LoopbackResponse(413))
            return
        body = self._body(environ)
        environ["wsgi.input"] = BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
        try:
            response = self.server.dispatch(
                LoopbackRequest(environ, cast("http.client.HTTPMessage", self.headers), body)
            )
        except DropConnection:
            self.close_connection = True
            return
        except Exception:  # noqa: BLE001 - the last place where a defect can become a response
            traceback.print_exc()
            response = LoopbackResponse(
                500, (("content-type", "text/plain"),), b"the embedded AWS failed; see its output"
            )
        self._send(response)

    def _body(self, environ: dict[str, Any]) -> bytes:
        if environ.pop("wsgi.input_terminated", False):
            environ.pop("HTTP_TRANSFER_ENCODING", None)
            return bytes(environ["wsgi.input"].read())
        return self.rfile.read(int(environ.get("CONTENT_LENGTH") or 0))

    def _send(self, response: LoopbackResponse) -> None:
        reason = http.client.responses.get(response.status, "")
        lines = [f"HTTP/1.1 {response.status} {reason}"]
        named = {"connection", "transfer-encoding"}
        if response.status not in {204, 304} and self.command != "HEAD":
            named.add("content-length")
            lines.append(f"Content-Length: {len(response.body)}")
        lines += [f"{name}: {value}" for name, value in response.headers if name.lower() not in named]
        if "date" not in {name.lower() for name, _ in response.headers}:
            lines.append(f"Date: {formatdate(usegmt=True)}")
        lines.append(f"Connection: {'close' if self.close_connection else 'keep-alive'}")
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        self.wfile.write(head if self.command == "HEAD" or response.status in {204, 304} else head + response.body)

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        """Write no log."""


class LoopbackServer(ThreadedWSGIServer):
    """Serves `dispatch` on a listening socket until the context ends."""

    def __init__(self, listener: socket.socket, dispatch: App) -> None:
        host, port = listener.getsockname()[:2]
        no_wsgi: Any = None  # the handler calls `dispatch`
        super().__init__(host, port, no_wsgi, _Handler, fd=listener.fileno())
        self.dispatch = dispatch
        self._listener = listener
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name="embedded-aws", daemon=True
        )

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        for connection in list(self._open):  # clients keep them alive
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self._listener.close()
