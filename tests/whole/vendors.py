"""The vendors on loopback: what their own descriptions say they would answer, and what they would refuse."""

import json
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

import httpx2

from tests.services.contracts import ACCOUNT, Vendor

# Where each service's own host stands in its module's file, and what of it stays behind our address.
HOSTS = {
    "confluence": "https://api.atlassian.com",
    "google_calendar": "https://www.googleapis.com",
    "jira": "https://api.atlassian.com",
    "microsoft_todo": "https://graph.microsoft.com",
}


class Vendors:
    """One address, under which each service has a folder of its name."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.tokens: dict[str, set[str]] = {name: set() for name in HOSTS}
        self.vendor = cache(Vendor)
        self._one_at_a_time = Lock()
        vendors = self

        class Pages(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                _, name, rest = self.path.split("/", 2)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                answer = vendors.answer(
                    name, self.command, rest, {name.lower(): value for name, value in self.headers.items()}, body
                )
                self.send_response(answer.status_code)
                self.send_header("content-length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, name: str, method: str, rest: str, headers: dict[str, str], body: bytes) -> httpx2.Response:
        """Answer as the service does; refuse and record a request that its description does not allow."""
        self.tokens[name].add(headers.get("authorization", ""))
        transport = self.vendor(name).transports[0]
        del headers["host"]
        request = httpx2.Request(method, f"{HOSTS[name]}/{rest}", headers=headers, content=body or None)
        with self._one_at_a_time:
            try:
                return transport.handle_request(request)
            except AssertionError as refusal:
                self.refused.append(str(refusal))
                return httpx2.Response(400, content=json.dumps({"message": str(refusal)}))

    def asked(self, name: str) -> list[Any]:
        """The requests that a service got, as its description reads them."""
        calls: list[Any] = self.vendor(name).transports[0].calls
        return calls


__all__ = ["ACCOUNT", "HOSTS", "Vendors"]
