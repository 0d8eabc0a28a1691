"""A web server on this machine that waits for one redirect: the end of a login in the browser."""

import threading
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from infra.cli.document import CommandError

CALLBACK_PATH = "/callback"
CLOSING_PAGE = (
    b"<!doctype html><meta charset=utf-8><title>mcpist</title><p>You can close this page and return to the terminal."
)


class CallbackServer:
    """Listens on loopback until the redirect with this `state` comes; port 0 is any free one.

    Any web page can send the browser here with another state: that is no answer.
    """

    def __init__(self, port: int, state: str) -> None:
        self._state = state
        self._answered = threading.Event()
        self._answer: dict[str, str] = {}
        try:
            self._server = HTTPServer(("127.0.0.1", port), self._handler())
        except OSError as error:
            hint = "Choose another port with --port, or stop what uses it."
            raise CommandError("VALIDATION_ERROR", f"Port {port} cannot be used: {error}", hint) from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="login-callback", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address to redirect to."""
        return f"http://localhost:{self._server.server_port}{CALLBACK_PATH}"

    def wait(self, seconds: float) -> dict[str, str]:
        """Return the redirect's query; CommandError if none comes in time."""
        if not self._answered.wait(seconds):
            hint = "Run it again, and finish the login in the browser."
            raise CommandError("TIMEOUT", f"Nobody has logged in within {seconds:.0f} s.", hint)
        return self._answer

    def _receive(self, query: dict[str, str]) -> bool:
        """Return whether a redirect is the expected one."""
        if not compare_digest(query.get("state", "").encode(), self._state.encode()):
            return False
        if not self._answered.is_set():
            self._answer = query
            self._answered.set()
        return True

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receive = self._receive

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Receive the redirect."""
                place = urlsplit(self.path)
                is_expected = place.path == CALLBACK_PATH and receive(dict(parse_qsl(place.query)))
                self.send_response(200 if is_expected else 404)
                self.send_header("content-type", "text/html")
                self.send_header("cache-control", "no-store")
                self.send_header("referrer-policy", "no-referrer")
                self.end_headers()
                self.wfile.write(CLOSING_PAGE if is_expected else b"This is not the end of a login.")

            def log_message(self, *_: Any) -> None:
                """Write no line: it would hold the code."""

        return Handler
