"""The protocol's own conformance suite against the endpoint: what applies passes, and what does not is listed.

The suite asks for tools, prompts and resources of its own: tests/peers/suite serves them through the endpoint's door,
its handlers of tasks and its store of questions.
"""

import http.client
import json
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.source import ROOT
from tests.core.loopback import listening
from tests.peers.conformance import failures
from tests.project_copy import copy_code, with_modules
from tests.whole.conftest import HERE, built

SUITE = Path(__file__).parents[1] / "peers/suite"
EXTENSION = """
from mcp_endpoint.suite.server import extend  # noqa: E402

own_server = meta_tool_server
meta_tool_server = lambda: extend(own_server())  # noqa: E731
"""
EXCEPTIONS = Path(__file__).parents[1] / "peers/conformance.toml"
HOP_HEADERS = {"connection", "transfer-encoding", "content-length", "server", "date"}
ANSWER_SECONDS = 60
FUNCTIONS = ("McpEndpointFunction", "StepRunnerFunction", "TokenBrokerFunction")


@contextmanager
def extended(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """A deployment whose endpoint has what the suite asks for, beside its own."""
    root = with_modules(request.getfixturevalue("tmp_path_factory").mktemp("suite"))
    (root / "functions").unlink()
    copy_code(ROOT / "functions", root / "functions")
    shutil.copytree(SUITE, root / "functions/mcp_endpoint/suite")
    with (root / "functions/mcp_endpoint/protocol/server.py").open("a", encoding="utf-8") as server:
        server.write(EXTENSION)
    plenty = {"UserRequests": "6000"}
    with run_local_deployment(
        DeploymentOptions(docs=HERE / "documents", root=root, modules=["rag"], parameters=plenty, only=FUNCTIONS)
    ) as deployment:
        yield deployment


pytestmark = [pytest.mark.slow, built(extended)]


@contextmanager
def logged_in(deployment: LocalDeployment) -> Iterator[str]:
    """The endpoint as somebody who is logged in already: the suite itself cannot send a token."""
    endpoint, token = urlsplit(deployment.mcp_url), deployment.token()

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            here = f"127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            connection = http.client.HTTPConnection(endpoint.netloc, timeout=ANSWER_SECONDS)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value.replace(here, endpoint.netloc))
            connection.putheader("authorization", f"Bearer {token}")
            connection.endheaders(body or None)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP_HEADERS:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Silent."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A suite that hangs up has heard enough."""

    server = Server(("127.0.0.1", 0), Passing)
    with listening(server):
        yield f"http://127.0.0.1:{server.server_port}/mcp"


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_all_that_applies_passes(deployment: LocalDeployment, revision: str, tmp_path: Path) -> None:
    listed = {
        check: group["why"] for group in tomllib.loads(EXCEPTIONS.read_text())[revision] for check in group["checks"]
    }
    with logged_in(deployment) as url:
        passed, failed = failures(url, revision, tmp_path)
    assert {check: why for check, why in failed.items() if check not in listed} == {}
    assert sorted(set(listed) - set(failed)) == [], "these pass by now: take them out of the list"
    assert len(passed) > 25, json.dumps(sorted(passed))
