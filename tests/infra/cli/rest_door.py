"""The REST API's handler behind a web server on loopback, for commands that speak REST."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rest_api import handler as door
from tests.core.loopback import listening
from tests.lambda_context import Context


class RestHandler(BaseHTTPRequestHandler):
    """Makes API Gateway's event of each request, and answers with the handler's response."""

    def _answer(self) -> None:
        place = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = unquote(place.path)
        event = {
            "version": "2.0",
            "routeKey": "ANY /v1/{proxy+}",
            "rawPath": path,
            "rawQueryString": place.query,
            "queryStringParameters": dict(parse_qsl(place.query)),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "requestContext": {
                "domainName": "mcp.example.com",
                "http": {"method": self.command, "path": path},
                "stage": "$default",
            },
            "body": content.decode(),
            "isBase64Encoded": False,
        }
        response = door.handler(event, Context())
        self.send_response(response["statusCode"])
        for name, value in response["headers"].items():
            self.send_header(name, value)
        self.end_headers()
        body = (response.get("body") or "").encode()
        self.wfile.write(base64.b64decode(body) if response.get("isBase64Encoded") else body)

    def __getattr__(self, name: str) -> Any:
        """Return the method for a verb, such as `do_GET`."""
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self._answer

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_rest() -> Iterator[str]:
    """Serve, and yield the address."""
    server = HTTPServer(("127.0.0.1", 0), RestHandler)
    with listening(server):
        yield f"http://127.0.0.1:{server.server_port}"
