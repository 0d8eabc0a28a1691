"""The proxy and the certificates by which clients reach the rehearsal's API under its own host name."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest

from rehearsal.certificates import write_certificates
from rehearsal.front import running_front

SUFFIX = ".execute-api.eu-west-1.amazonaws.com"


class Api(BaseHTTPRequestHandler):
    """Answers with the host name that it was asked for."""

    def do_GET(self) -> None:
        body = self.headers["host"].encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@dataclass(frozen=True)
class Front:
    """A proxy in front of a TLS server with the rehearsal's certificate."""

    proxy: str
    trusted: ssl.SSLContext

    def get(self, url: str, trusted: ssl.SSLContext | None = None) -> httpx2.Response:
        with httpx2.Client(proxy=self.proxy, verify=trusted or self.trusted, trust_env=False) as client:
            return client.get(url)


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    files = write_certificates(tmp_path, f"*{SUFFIX}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.chain, files.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with running_front(SUFFIX, server.server_port) as proxy:
        yield Front(proxy, ssl.create_default_context(cafile=files.authority))
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_client_reaches_the_engine_under_the_apis_own_name_with_tls(front: Front) -> None:
    for name in ("a1b2c3", "d4e5f6"):
        assert front.get(f"https://{name}{SUFFIX}/mcp").text == f"{name}{SUFFIX}"


@pytest.mark.parametrize("url", ["https://s3.eu-west-1.amazonaws.com", f"https://a{SUFFIX}:8443"])
def test_the_proxy_reaches_no_other_address(front: Front, url: str) -> None:
    with pytest.raises(httpx2.ProxyError, match="403"):
        front.get(url)


def test_nobody_else_trusts_the_certificate(front: Front) -> None:
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        front.get(f"https://a1b2c3{SUFFIX}/mcp", ssl.create_default_context())
