"""Requests as the server would make them, without a server."""

import http.client
from typing import Any
from urllib.parse import unquote

from infra.local.server import LoopbackRequest


class Waiting:
    """The connection of a client that waits for the response."""

    def recv(self, *_: Any) -> bytes:
        raise BlockingIOError


def request(
    method: str, target: str, *, body: bytes = b"", headers: dict[str, str] | None = None, **environ: Any
) -> LoopbackRequest:
    path, _, query = target.partition("?")
    message = http.client.HTTPMessage()
    for name, value in {"Host": "127.0.0.1:3000", **(headers or {})}.items():
        message.add_header(name, value)
    own = {
        "REQUEST_METHOD": method,
        "RAW_URI": target,
        "PATH_INFO": unquote(path),
        "QUERY_STRING": query,
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_PORT": "3000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "werkzeug.socket": Waiting(),
    }
    return LoopbackRequest({**own, **environ}, message, body)


def signed(access_key: str, service: str, **headers: str) -> dict[str, str]:
    scope = f"{access_key}/20261121/us-east-1/{service}/aws4_request"
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0", **headers}
