"""A deployment with the stub's module besides the real ones, and the stub's service on loopback."""

import http.server
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infra.local.demo import USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.source import ROOT
from tests.project_copy import with_modules

# The template's limits, all counted. One user sends more requests here than the default of a minute, which is 300.
DEFAULTS = {"UserRequests": "100000"}
NEW_ACCOUNT_FUNCTIONS = 10
# As `make deploy` raises them for an account that runs a thousand functions at once: for many clients, or wide batches.
LARGE_ACCOUNT = {**DEFAULTS, "UserConcurrency": "20", "OrganizationConcurrency": "250"}
LARGE_ACCOUNT_FUNCTIONS = 1_000
SLOW_RESPONSE_SECONDS = 0.5
# The assumed time of a service for an answer of about 2 KB.
RESPONSE_DELAY_SECONDS, ANSWER_ROWS = 0.3, 20


@dataclass(frozen=True, slots=True)
class Waited:
    """One request to wait: its step, and when it arrived and was answered, on the clock of time.perf_counter."""

    step: str
    began: float
    ended: float


@dataclass(frozen=True)
class StubService:
    """The stub's service."""

    url: str
    waited: list[Waited] = field(default_factory=list)
    """The requests to wait that it has answered."""
    noted: list[str] = field(default_factory=list)
    """The names that it was asked to note, in the order of the requests."""


@dataclass(frozen=True)
class StubDeployment:
    """The deployment, a folder for measurements, and the stub's service."""

    deployment: LocalDeployment
    folder: Path
    service: StubService

    def event_file(self, name: str, handshake: str = "") -> str:
        """Write one of events/mcp_endpoint_*.json as a user of this deployment sends it; return its path.

        With the version of a `handshake` it is as a client sends it that has described itself before.
        """
        event = json.loads((ROOT / f"events/mcp_endpoint_{name}.json").read_text("utf-8"))
        event["headers"]["authorization"] = f"Bearer {self.deployment.token(USER)}"
        event["headers"]["host"] = self.deployment.aws.api_url.partition("//")[2]
        event["body"] = event["body"].replace('"rag"', '"stub"').replace('"list_tags"', '"idle"')
        if handshake:
            message = json.loads(event["body"])
            del message["params"]["_meta"]
            kept = {header: value for header, value in event["headers"].items() if not header.startswith("mcp-")}
            event |= {"headers": kept | {"mcp-protocol-version": handshake}, "body": json.dumps(message)}
        path = self.folder / f"{name}{handshake}.json"
        path.write_text(json.dumps(event), "utf-8")
        return str(path)


@contextmanager
def run_stub_deployment(
    parameters: Mapping[str, str] = DEFAULTS, *, functions: int | None = None, small_loop: bool = False
) -> Iterator[StubDeployment]:
    """Start the service, then the deployment; stop both at the end.

    `functions` is how many the account runs at once: as suits the parameters, or 0 for one machine, which queues them.
    """
    suitable = LARGE_ACCOUNT_FUNCTIONS if parameters is LARGE_ACCOUNT else NEW_ACCOUNT_FUNCTIONS
    with tempfile.TemporaryDirectory() as folder, stub_service() as service:
        root = with_modules(Path(folder), ROOT / "benchmarks/stub.py")
        stub = root / "layers/services/mcpist_services/stub/tools.py"
        stub.write_text(stub.read_text("utf-8").replace("http://stub.invalid", service.url), "utf-8")
        with run_local_deployment(
            DeploymentOptions(
                docs=ROOT / "docs",
                root=root,
                modules=("github", "rag", "stub"),
                parameters=parameters,
                concurrency=suitable if functions is None else functions,
                small_loop=small_loop,
                report=say,
            )
        ) as deployment:
            yield StubDeployment(deployment, Path(folder), service)


@contextmanager
def stub_service() -> Iterator[StubService]:
    """Run a service on loopback that answers requests with a token: an empty list, or rows that name the token."""
    waited: list[Waited] = []
    noted: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            began, url, token = time.perf_counter(), urlsplit(self.path), self.headers.get("authorization", "")
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            fixed = {"/slow": SLOW_RESPONSE_SECONDS, "/about": RESPONSE_DELAY_SECONDS}
            time.sleep(float(query["seconds"]) if url.path == "/wait" else fixed.get(url.path, 0))
            body = _rows(query["name"], token) if url.path == "/about" else b"[]"
            if url.path == "/wait":
                waited.append(Waited(query["step"], began, time.perf_counter()))
            self._respond(200 if token else 401, body)

        def do_POST(self) -> None:
            note = json.loads(self.rfile.read(int(self.headers["content-length"])))
            noted.append(note["name"])
            time.sleep(RESPONSE_DELAY_SECONDS)
            self._respond(201, json.dumps(note).encode())

        def _respond(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Write no log where the sandbox that asked was killed."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield StubService(f"http://127.0.0.1:{server.server_port}", waited, noted)
        server.shutdown()


def say(text: str) -> None:
    """Print what is being measured."""
    print(text, file=sys.stderr, flush=True)


def _rows(name: str, token: str) -> bytes:
    """Return rows about a name, which name the token of the request."""
    account = token.partition(" ")[2]
    rows = [{"name": f"{name} {number}", "account": account, "text": "x" * 40} for number in range(ANSWER_ROWS)]
    return json.dumps(rows).encode()
