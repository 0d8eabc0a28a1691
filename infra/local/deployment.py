"""A complete deployment on one machine: the embedded AWS, a login, and the organization of the demo."""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.apis import compiled_apis
from infra.local.demo import ADMINISTRATOR, ORGANIZATION, USER, seed
from infra.local.documents import DocumentFolder, watched
from infra.local.environment import operating
from infra.local.login import LocalLogin
from infra.local.login_page import Person
from infra.local.programs import local_programs
from infra.local.stack import EmbeddedAws
from infra.local.state import State
from infra.local.tool_path import report_missing_commands, tool_path
from mcpist.loopback import same_urls
from mcpist_services import NAMES
from mcpist_services.upstream import configuration

ROOT = Path(__file__).resolve().parents[2]
CONNECT_CLIENT = "connect"
DEMO_TOKEN_SECONDS = 86_400
UPSTREAMS = "layers/config/upstreams.json"
APIS = "layers/config/apis"
PROGRAMS = "layers/config/programs"
MAX_PORT = 65_535
ROOMY_ACCOUNT = {"OrganizationConcurrency": "250"}
"""What `make deploy` chooses for an account that may run a thousand functions at once."""

type Report = Callable[[str], None]


@dataclass(frozen=True)
class LocalDeployment:
    """A running deployment."""

    aws: EmbeddedAws
    login: LocalLogin
    documents: int
    """The number of documents that were loaded."""
    logs: Path
    """The folder of the functions' logs."""
    upstreams: Path
    """The file of the upstream servers."""
    apis: Path
    """The folder of the imported APIs, as the functions read them."""
    programs: Mapping[str, str]
    """The settings of programs."""

    @property
    def mcp_url(self) -> str:
        """The URL for MCP clients."""
        return f"{self.aws.api_url}/mcp"

    @property
    def console_url(self) -> str:
        """The first of the pages for people."""
        return f"{self.aws.api_url}/"

    @property
    def connect_url(self) -> str:
        """The page on which people connect their accounts."""
        return f"{self.aws.api_url}/connect"

    def token(self, person: Person = USER, **claims: Any) -> str:
        """Return an access token of a person."""
        return self.login.mint(person.sub, expires_in=DEMO_TOKEN_SECONDS, **claims)


@contextmanager
def run_local_deployment(
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    docs: Path = ROOT / "docs",
    root: Path = ROOT,
    modules: Sequence[str] = NAMES,
    upstreams: Path | None = None,
    apis: Path | None = None,
    programs: Path | None = None,
    parameters: Mapping[str, str] | None = None,
    bridge: str = "",
    public_url: str = "",
    concurrency: int = 0,
    state: State | None = None,
    logs: Path | None = None,
    report: Report = lambda _: None,
) -> Iterator[LocalDeployment]:
    """Start a deployment, seed it and load the documents; stop it at the end of the context.

    `root` holds the template, the functions and the layers. The seeded role has the `modules` and all categories of
    the file `upstreams` (default: the config layer's), and the `programs` of a declaration or of a folder of them.
    `parameters` are added to the template's. Containers reach this machine at the address `bridge`, and serve their API
    at `public_url`. `concurrency` bounds the events that all functions together run at once, as an account does; 0 is
    no such limit. With a `state` everything that is stored is still there at the next start, clients stay logged
    in, and the documents follow their folder.
    """
    upstreams = (upstreams or root / UPSTREAMS).resolve()
    configured = configuration.load(upstreams) if upstreams.exists() else configuration.Configuration()
    categories = tuple(configured.all_categories)
    report_missing_commands(configured, report)
    port = port or _free_port(host)
    report(f"starting the login and the embedded AWS on http://{host}:{port}")
    url = public_url or f"http://{host}:{port}"
    with (
        compiled_apis(apis or root / APIS) as (imported, compiled),
        local_programs(programs or root / PROGRAMS, report) as declared,
        LocalLogin(
            people=[ADMINISTRATOR, USER],
            audience=f"{url}/mcp",
            host=bridge or "127.0.0.1",
            resources=same_urls(f"{url}/mcp"),
            state=state,
            port=port + 1 if port < MAX_PORT else 0,
        ) as login,
    ):
        login.register(CONNECT_CLIENT, name="MCPist", redirect_uri=f"{url}/connect/login")
        own = {
            "SnapStart": "all",
            "PublicUrl": url,
            "Issuer": login.issuer,
            "ConnectClientId": CONNECT_CLIENT,
            **({} if concurrency else ROOMY_ACCOUNT),
            **(parameters or {}),
        }
        extra = {
            "UPSTREAMS": str(upstreams),
            "APIS": str(compiled),
            "PATH": tool_path(),
            "SERVERS_FOLDER": str(Path.cwd()),
            **declared.environment,
        }
        with EmbeddedAws(
            root,
            host=host,
            port=port,
            bridge=bridge,
            parameters=own,
            extra=extra,
            concurrency=concurrency,
            state=state,
            logs=logs,
        ) as aws:
            with operating(aws):
                report(f"seeding the organization {ORGANIZATION}")
                seed(login.issuer, (*modules, *imported), (*categories, *declared.names), state)
            report(f"loading the documents of {docs}")
            with _loaded(docs, aws, state) as documents:
                yield LocalDeployment(aws, login, len(documents), aws.logs, upstreams, compiled, declared.environment)


@contextmanager
def _loaded(docs: Path, aws: EmbeddedAws, state: State | None) -> Iterator[DocumentFolder]:
    """Load the documents of a folder; with a state, follow the folder until the end of the context."""
    documents = DocumentFolder(ORGANIZATION, docs, state)
    with operating(aws):
        documents.synchronize()
    with watched(docs, lambda: _follow(documents, aws)) if state else nullcontext():
        yield documents


def _follow(documents: DocumentFolder, aws: EmbeddedAws) -> None:
    """Apply what changed in the folder, also for the sandboxes that have the documents in memory."""
    with operating(aws):
        changed = documents.synchronize()
    if changed:
        for pool in aws.functions.values():
            pool.stop_idle()


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
