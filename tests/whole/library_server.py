"""A library's API on loopback, as its description says: it knows its readers' keys, and pages by cursors."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcpist_services.described.overlay_files import dump_overlay
from tests.services.described.library import library, overlay_of

KEY = "uma-library-canary-key"


class LibraryServer:
    """The service, with what it was asked."""

    def __init__(self) -> None:
        self.books = [{"id": str(number), "title": f"Book {number}", "state": "in"} for number in range(1, 6)]
        self.received: list[tuple[str, str, Any]] = []
        library_server = self

        class Pages(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, answer = library_server.answer(
                    self.command, self.path, self.headers.get("x-library-key", ""), body.decode()
                )
                content = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, method: str, path: str, key: str, body: str) -> tuple[int, Any]:
        """Answer one request."""
        if key != KEY:
            return 401, {"message": f"{key} is no key of a reader"}
        parts = urlsplit(path)
        self.received.append((method, path, body))
        match method, parts.path.removeprefix("/v1").split("/")[1:]:
            case "GET", ["books"]:
                query = parse_qs(parts.query)
                begin, size = int(query.get("cursor", ["0"])[0]), int(query.get("page_size", ["2"])[0])
                page = {"books": self.books[begin : begin + size]}
                end = begin + size
                return 200, page | ({"next_cursor": str(end)} if end < len(self.books) else {})
            case "POST", ["books"]:
                return 201, {"id": "9", "state": "in", **json.loads(body)}
            case "GET", ["books", book]:
                return 200, {"id": book, "title": f"Book {book}", "state": "in", "author": {"name": "Ada"}}
            case "POST", ["books", _, "loans"]:
                return 204, None
            case "DELETE", ["books", _]:
                return 204, None
        return 404, {"message": "there is no such place"}

    def write_overlay(self, folder: Path) -> Path:
        """Write the overlay that an import of the API proposes, and return its folder."""
        folder.mkdir()
        (folder / "library.yaml").write_text(dump_overlay(overlay_of(library(), server=self.url)), "utf-8")
        return folder
