"""A web server on this machine that waits for one redirect: the end of a login in the browser."""

import threading
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from infra.cli.document import CommandError

CALLBACK_PATH = "/callback"
POLL_SECONDS = 0.05  # the end of a login waits for it
CLOSING_PAGE = (
    b"<!doctype html><meta charset=utf-8><title>mcpist</title><p>You can close this page and return to the terminal."
)


class _Handler(BaseHTTPRequestHandler):
    server: "CallbackServer"

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        query = dict(parse_qsl(place.query))
        # Any web page can send the browser here with another state: that is no answer.
        has_state = compare_digest(query.get("state", "").encode(), self.server.state.encode())
        is_expected = place.path == CALLBACK_PATH and has_state
        if is_expected:
            self.server.answers.put(query)
        self.send_response(200 if is_expected else 404)
        self.send_header("content-type", "text/html")
        self.send_header("cache-control", "no-store")
        self.send_header("referrer-policy", "no-referrer")
        self.end_headers()
        self.wfile.write(CLOSING_PAGE if is_expected else b"This is not the end of a login.")

    def log_message(self, *_: Any) -> None:
        """Write no line: it would hold the code."""


class CallbackServer(ThreadingHTTPServer):
    """Listens on loopback until the redirect with this `state` comes; port 0 is any free one."""

    # Threads, since a browser may open a connection beforehand and send nothing on it.

    def __init__(self, port: int, state: str) -> None:
        self.state = state
        self.answers: SimpleQueue[dict[str, str]] = SimpleQueue()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            hint = "Choose another port with --port, or stop what uses it."
            raise CommandError("VALIDATION_ERROR", f"Port {port} cannot be used: {error}", hint) from None

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=[POLL_SECONDS], name="login-callback", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        """The address to redirect to."""
        return f"http://localhost:{self.server_port}{CALLBACK_PATH}"

    def wait(self, seconds: float) -> dict[str, str]:
        """Return the first redirect's query; CommandError if none comes in time."""
        try:
            return self.answers.get(timeout=seconds)
        except Empty:
            hint = "Run it again, and finish the login in the browser."
            raise CommandError("TIMEOUT", f"Nobody has logged in within {seconds:.0f} s.", hint) from None
