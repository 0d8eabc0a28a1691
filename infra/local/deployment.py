"""A complete deployment on one machine: the embedded AWS, a login, and one organization with two people."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from infra.local.apis import compiled_apis
from infra.local.documents import DocumentFolder, watched
from infra.local.environment import operating
from infra.local.login import LocalLogin
from infra.local.login_page import Person
from infra.local.programs import local_programs
from infra.local.stack import EmbeddedAws
from infra.local.state import State
from infra.local.tool_path import report_missing_commands, tool_path
from mcpist.caller import Role, Subject
from mcpist.loopback import same_urls
from mcpist.people import directory
from mcpist.people.organization import Organization
from mcpist_services import NAMES
from mcpist_services.upstream import configuration

ROOT = Path(__file__).resolve().parents[2]
ORGANIZATION = "demo"
ROLE = "members"
OWNERS = "owners"
ADMINISTRATOR = Person(sub="ada", name="Ada Admin", email="ada@example.com", role="admin")
USER = Person(sub="uma", name="Uma User", email="uma@example.com", role="user")
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


def with_modules(target: Path, *files: Path) -> Path:
    """Make a copy of this project in an empty folder, with each file as one more service, and return the folder.

    Its catalogue has an index, as in a built layer.
    """
    target.mkdir(exist_ok=True)
    for name in ("template.yaml", "functions"):
        (target / name).symlink_to(ROOT / name)
    (target / "layers").mkdir()
    for layer in ("core", "dependencies"):
        (target / "layers" / layer).symlink_to(ROOT / "layers" / layer)
    package = shutil.copytree(ROOT / "layers/services", target / "layers/services") / "mcpist_services"
    for file in files:
        (package / file.stem).mkdir()
        (package / file.stem / "__init__.py").touch()
        shutil.copy(file, package / file.stem / "tools.py")
    with (package / "__init__.py").open("a", encoding="utf-8") as table:
        table.write(f"NAMES = {tuple(sorted({*NAMES, *(file.stem for file in files)}))!r}\n")
    write = "from mcpist_services.catalogue import CATALOGUE; CATALOGUE.write()"
    subprocess.run([sys.executable, "-c", write], env={**os.environ, "PYTHONPATH": str(package.parent)}, check=True)  # noqa: S603
    return target


def seed(issuer: str, modules: Sequence[str], upstreams: Sequence[str], state: State | None) -> None:
    """Create an organization with a user whose role reads, and an administrator who also has the role of all tools.

    The user's role writes in `rag`, and has every tool of `upstreams`, the modules that the owner added: categories of
    servers, and programs. An organization in the state is left as people changed it, but the roles get new modules.
    """
    kept = state.get("modules") if state else None
    if kept is None:
        _create(issuer, modules, upstreams)
    else:
        known = set(json.loads(kept))
        _widen([one for one in modules if one not in known], [one for one in upstreams if one not in known])
        modules = (*known, *modules)
    if state:
        state.put("modules", "", json.dumps(sorted({*modules, *upstreams})).encode())


def _create(issuer: str, modules: Sequence[str], upstreams: Sequence[str]) -> None:
    directory.put_organization(ORGANIZATION, name="Demo")
    added = tuple(f"{name}.*" for name in upstreams)
    writable = ("rag.*",) if "rag" in modules else ()
    known = (*modules, *upstreams)
    directory.put_role(ORGANIZATION, Role(ROLE, modules=known, allow=(*writable, *added), destructive=bool(added)))
    directory.put_role(ORGANIZATION, Role(OWNERS, modules=known, allow=("*",), destructive=True))
    for person in (ADMINISTRATOR, USER):
        directory.put_user(
            ORGANIZATION,
            person.sub,
            name=person.name,
            subject=Subject(issuer, person.sub),
            system_role="admin" if person is ADMINISTRATOR else "user",
            roles=[ROLE, OWNERS] if person is ADMINISTRATOR else [ROLE],
        )


def _widen(modules: Sequence[str], upstreams: Sequence[str]) -> None:
    """Give the roles modules, and every tool of `upstreams`; none that was removed."""
    if not (modules or upstreams):
        return

    def edit(before: Organization) -> Organization:
        for role in (before.roles[name] for name in (ROLE, OWNERS) if name in before.roles):
            allow = (*role.allow, *(f"{name}.*" for name in upstreams))
            wider = replace(role, modules=(*role.modules, *modules, *upstreams), allow=allow)
            before = before.with_role(replace(wider, destructive=role.destructive or bool(upstreams)))
        return before

    directory.change(ORGANIZATION, edit)


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
