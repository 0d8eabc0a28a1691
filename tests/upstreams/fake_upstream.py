"""A server over HTTP on loopback that answers as a test wants: of itself as a server of 2025-11-25 without sessions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

from mcpist_services.upstream.configuration import UpstreamServer
from tests.core.loopback import listening

ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "fake", "version": "1"},
}
TOOLS = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
ECHO = {"content": [{"type": "text", "text": "echo"}]}


@dataclass(frozen=True)
class RawResponse:
    """An answer below JSON-RPC; `truncated` ends the connection in the midst of it, `waits` holds it until the end."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    truncated: bool = False
    waits: bool = False


class FakeUpstream:
    """`says` maps a method to its result, or to a function of the message; what it does not name is unknown."""

    def __init__(self, port: int = 0) -> None:
        self.says: dict[str, Any] = {"initialize": ABOUT, "tools/list": TOOLS, "tools/call": ECHO, "ping": {}}
        self.received: list[tuple[str, dict[str, str]]] = []
        self.closing = Event()
        self.session = ""
        fake = self

        class Pages(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                fake.received.append((message["method"], {name.lower(): text for name, text in self.headers.items()}))
                fake.write(self, fake.answer(message))

            def do_GET(self) -> None:
                fake.received.append(("GET", {name.lower(): text for name, text in self.headers.items()}))
                fake.write(self, RawResponse(status=405))

            def do_DELETE(self) -> None:
                fake.received.append(("DELETE", {}))
                fake.write(self, RawResponse())

            def log_message(self, template: str, *args: Any) -> None:
                """Silent."""

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Pages)
        self.port = self.http.server_port

    def server(self, **more: Any) -> UpstreamServer:
        """It, as a configuration names it."""
        return UpstreamServer(description="A fake", type="http", url=f"http://127.0.0.1:{self.port}/mcp", **more)

    def count(self, method: str) -> int:
        """How often it was asked."""
        return sum(asked == method for asked, _ in self.received)

    def answer(self, message: dict[str, Any]) -> RawResponse:
        if "id" not in message:
            return RawResponse(status=202)
        said = self.says.get(message["method"])
        said = said(message) if callable(said) else said
        if isinstance(said, RawResponse):
            return said
        if said is None:
            said = {"code": -32601, "message": "unknown method"}
        kind = "error" if "code" in said else "result"
        return json_reply({"jsonrpc": "2.0", "id": message["id"], kind: said})

    def last(self, identifier: Any, result: Any) -> RawResponse:
        """A result after which the connection is closed."""
        reply = json_reply({"jsonrpc": "2.0", "id": identifier, "result": result})
        return replace(reply, headers={**reply.headers, "connection": "close"})

    def stop(self) -> None:
        """Listen no longer."""
        self.http.shutdown()
        self.http.server_close()

    def write(self, page: BaseHTTPRequestHandler, raw: RawResponse) -> None:
        page.send_response(raw.status)
        for name, value in raw.headers.items():
            page.send_header(name, value)
        if self.session:
            page.send_header("mcp-session-id", self.session)
        page.send_header("content-length", str(len(raw.body) + (1 if raw.truncated or raw.waits else 0)))
        page.end_headers()
        page.wfile.write(raw.body)
        page.wfile.flush()
        if raw.waits:
            self.closing.wait(20)
        if raw.truncated or raw.waits:
            page.close_connection = True


def json_reply(value: Any, status: int = 200) -> RawResponse:
    return RawResponse(json.dumps(value).encode(), status)


def event(value: Any) -> RawResponse:
    """An answer as a stream of one event."""
    return RawResponse(
        b"event: message\ndata: " + json.dumps(value).encode() + b"\n\n", headers={"content-type": "text/event-stream"}
    )


@contextmanager
def serving_fake(port: int = 0) -> Iterator[FakeUpstream]:
    """A fake while the context lasts."""
    fake = FakeUpstream(port)
    with listening(fake.http):
        try:
            yield fake
        finally:
            fake.closing.set()
