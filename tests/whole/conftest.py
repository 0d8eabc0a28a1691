"""The whole deployment on the embedded AWS, with a module of probes beside the real ones."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from mcpist.aws.table import directory_table
from mcpist.caller import Role
from mcpist.people import directory
from tests import members
from tests.core.loopback import listening
from tests.project_copy import with_modules
from tests.roles.judgement import check_requests
from tests.traffic import AwsRequest, traffic_of
from tests.whole.library_server import LibraryServer
from tests.whole.vendors import HOSTS, Vendors

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
PROGRAMS = ("jq", "pandoc", "ripgrep", "writers")
MODULES = ("files", "github", "library", "probe", "rag", *HOSTS)
# A whole deployment repeats what the tests of its parts show. `make test` keeps the stories that use each door of the
# usual one once; browsers, other clients, kills and deployments with other parameters are of the slow tier.
QUICK = {
    *(
        "test_agreement",
        "test_events",
        "test_examples",
        "test_first_calls",
        "test_four_services",
        "test_grants",
        "test_imported_apis",
    ),
    *(
        "test_in_flight",
        "test_local_deployment",
        "test_login",
        "test_machines",
        "test_observability",
        "test_programs",
        "test_smoke",
    ),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the other files of this folder as slow."""
    for item in items:
        if item.path.parent == HERE and item.path.stem not in QUICK:
            item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class McpUser:
    """One of the deployment's people with a real MCP client, who may `answer` what they are asked."""

    deployment: LocalDeployment
    token: str
    mode: str = "auto"
    answer: ElicitationFnT | None = None
    path: str = ""

    def call(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Call a meta-tool and return its result."""
        return asyncio.run(self._ask(lambda client: client.call_tool(name, arguments)))

    def texts(self, name: str, /, **arguments: Any) -> list[str]:
        """Call a meta-tool that must succeed, and return the texts of its result."""
        result = self.call(name, **arguments)
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        assert not result.is_error, texts
        return texts

    def tools(self) -> list[Any]:
        """Return the tools that the endpoint lists."""
        return self.ask(lambda client: client.list_tools()).tools

    def ask(self, question: Any) -> Any:
        """Return the endpoint's answer to any question that a client can ask."""
        return asyncio.run(self._ask(question))

    async def _ask(self, question: Any) -> Any:
        headers = {"authorization": f"Bearer {self.token}", "x-mcpist-blocks": "separate"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(
                streamable_http_client(self.deployment.mcp_url + self.path, http_client=http),
                mode=self.mode,
                elicitation_callback=self.answer,
            ) as client,
        ):
            return await question(client)


class GitHub:
    """GitHub on loopback: it knows whose token it was given; repositories of `silent` and `stalls` are never read."""

    ACCOUNTS = {"Bearer uma-canary-token": "uma-at-github", "Bearer shared-canary-token": "team-at-github"}

    def __init__(self) -> None:
        accounts = self.ACCOUNTS

        class Pages(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                login = accounts.get(self.headers["authorization"])
                owner = self.path.split("/")[2:3]
                if owner == ["stalls"]:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
                if owner in (["silent"], ["stalls"]):
                    self.rfile.read(1)  # until the client gives up
                    return
                body = json.dumps({"login": login} if login else {"message": "Bad credentials"}).encode()
                self.send_response(200 if login else 401)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture(scope="session")
def github() -> Iterator[GitHub]:
    github = GitHub()
    with listening(github.server):
        yield github


@pytest.fixture(scope="session")
def vendors() -> Iterator[Vendors]:
    vendors = Vendors()
    with listening(vendors.server):
        yield vendors


def is_quota_request(request: AwsRequest) -> bool:
    """Whether a sandbox counts what a user sends or has in flight: one request to the store for many."""
    return request.operation == "UpdateItem" and request.body["Key"]["pk"]["S"].endswith("#quota")


@pytest.fixture(scope="session")
def deployment(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """The deployment of the probes and vendors, or the one that a test builds: one stands in a process at a time."""
    build: Callable[[pytest.FixtureRequest], AbstractContextManager[LocalDeployment]] = getattr(request, "param", usual)
    with build(request) as deployment:
        traffic_of(deployment.aws).requests.clear()
        yield deployment
        check_requests(deployment.aws)


def built(build: Callable[[pytest.FixtureRequest], AbstractContextManager[LocalDeployment]]) -> pytest.MarkDecorator:
    """For a file's `pytestmark`: its tests are in another deployment."""
    return pytest.mark.parametrize(
        "deployment", [pytest.param(build, id=build.__name__)], indirect=True, scope="session"
    )


@pytest.fixture(scope="session")
def library_server() -> Iterator[LibraryServer]:
    server = LibraryServer()
    with listening(server.server):
        yield server


@contextmanager
def usual(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """All modules, at GitHub and vendors on loopback, the probes, an imported API, and the programs of the examples."""
    github, vendors = request.getfixturevalue("github"), request.getfixturevalue("vendors")
    folder = request.getfixturevalue("tmp_path_factory").mktemp("deployment")
    root = with_modules(folder, HERE / "probe.py")
    moved = {"github": ("https://api.github.com", github.url)}
    moved |= {name: (host, f"{vendors.url}/{name}") for name, host in HOSTS.items()}
    for name, (host, place) in moved.items():
        file = root / "layers/services/mcpist_services" / name / "module.py"
        file.write_text(file.read_text("utf-8").replace(host, place), "utf-8")
    apis = request.getfixturevalue("library_server").write_overlay(folder / "apis")
    # One user asks all that the tests ask; of slow calls a new account leaves a user four.
    # A killed step keeps its place for minutes, and these tests kill many.
    plenty = {"UserRequests": "6000", "UserConcurrency": "4", "OrganizationConcurrency": "250"}
    usual_options: dict[str, Any] = {"docs": HERE / "documents", "root": root, "modules": MODULES}
    programs = HERE.parents[1] / "examples/programs"
    with run_local_deployment(
        DeploymentOptions(**usual_options, apis=apis, programs=programs, parameters=plenty)
    ) as deployment:
        with operating(deployment.aws):
            everything = Role(
                ROLE,
                modules=(*MODULES, *PROGRAMS),
                allow=("probe.*", "library.*", "writers.*", *(f"{name}.create_*" for name in HOSTS)),
            )
            members.put_role(ORGANIZATION, everything)
        yield deployment


@pytest.fixture
def user(deployment: LocalDeployment) -> McpUser:
    return McpUser(deployment, deployment.token(USER))


@pytest.fixture
def administrator(deployment: LocalDeployment) -> McpUser:
    return McpUser(deployment, deployment.token(ADMINISTRATOR))


@pytest.fixture
def guests(deployment: LocalDeployment) -> Iterator[None]:
    """Remove the organizations that a test creates."""
    with operating(deployment.aws):
        yield
        table = directory_table()
        for name in set(directory.organizations()) - {ORGANIZATION}:
            for item in table.query(f"org#{name}"):
                table.delete(item["pk"], item["sk"])
            table.delete("orgs", f"org#{name}")


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    from tests.whole.browser import running  # only the tests of pages have Playwright to load

    with running() as chromium:
        yield chromium
