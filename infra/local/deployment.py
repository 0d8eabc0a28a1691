"""A complete deployment on one machine: the embedded AWS, a login, and the organization of the demo."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.local.additions import compiled_apis, local_programs, tool_path
from infra.local.demo import ADMINISTRATOR, ORGANIZATION, USER, seed
from infra.local.documents import DocumentFolder, watched
from infra.local.environment import STORES, TABLES, environment
from infra.local.interrupted import continue_batches
from infra.local.login import LocalLogin, Person
from infra.local.server import listen
from infra.local.stack import EmbeddedAws, StackOptions
from infra.local.state import State
from infra.local.upstream_file import UpstreamFile
from infra.local.zygote import SMALL_LOOP_VARIABLE
from infra.source import ROOT
from mcpist_services import NAMES

LOGIN_CLIENT = "mcpist"
DEMO_TOKEN_SECONDS = 86_400
UPSTREAMS = "layers/config/upstreams.json"
APIS = "layers/config/apis"
PROGRAMS = "layers/config/programs"
MAX_PORT = 65_535
ONE_MACHINE = {"OrganizationConcurrency": "20"}
"""The requests and steps of an organization that two cores serve beside another one's."""

type Report = Callable[[str], None]
OPERATED = ("DIRECTORY_TABLE", "LEDGER_TABLE", "AUDIT_TABLE", "FILES_BUCKET")


@dataclass(frozen=True, kw_only=True)
class DeploymentOptions(StackOptions):
    """The choices for a deployment; with a `state` people stay logged in, and the documents follow their folder."""

    root: Path = ROOT
    docs: Path = ROOT / "docs"
    """The folder of Markdown for the module rag."""
    modules: Sequence[str] = (*NAMES, "saved", "automations")
    """The modules of the seeded role, besides what `upstreams`, `apis` and `programs` add."""
    upstreams: Path | None = None
    """The file of upstream servers; by default the config layer's."""
    apis: Path | None = None
    """The folder of imported APIs; by default the config layer's."""
    programs: Path | None = None
    """A declaration of programs, or a folder of them; by default the config layer's."""
    public_url: str = ""
    """The URL at which containers serve the API; empty where it is that of `host` and `port`."""
    small_loop: bool = False
    """Whether sandboxes run on the loop of runtime_loop.py where AWS's runtime client is installed, too."""
    report: Report = lambda _: None
    """Is called with each line of progress."""


@dataclass(frozen=True)
class LocalDeployment:
    """A running deployment."""

    aws: EmbeddedAws
    login: LocalLogin
    documents: int
    """The number of documents that were loaded."""
    upstreams: Path
    """The file of the upstream servers."""
    read_upstreams: Path
    """What the functions read of it."""
    settings: Mapping[str, str]
    """The variables that name the imported APIs and the programs, as the functions read them."""

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
def run_local_deployment(options: DeploymentOptions = DeploymentOptions()) -> Iterator[LocalDeployment]:
    """Start a deployment, seed it and load the documents; stop it at the end of the context."""
    options = _with_address(options)
    options.report(f"starting the login and the embedded AWS on http://{options.host}:{options.port}")
    with (
        _copied(options) as upstreams,
        compiled_apis(options.apis or options.root / APIS) as (imported, compiled),
        local_programs(options.programs or options.root / PROGRAMS, options.report) as (declared, allowed),
        _login(options) as login,
        _embedded_aws(options, login, {"UPSTREAMS": str(upstreams.copy), "APIS": str(compiled), **allowed}) as aws,
    ):
        with operating(aws):
            upstreams.store_secrets()
            options.report(f"seeding the organization {ORGANIZATION}")
            seed(login.issuer, (*options.modules, *imported), (*upstreams.categories, *declared), options.state)
        options.report(f"loading the documents of {options.docs}")
        added = {"APIS": str(compiled), **allowed}
        with _loaded(options.docs, aws, options.state) as documents:
            if options.state:
                with operating(aws, **_environment(aws)):
                    continue_batches(options.report)
            with _followed(upstreams, aws, login, options):
                yield LocalDeployment(aws, login, len(documents), upstreams.source, upstreams.copy, added)


def _environment(aws: EmbeddedAws) -> Mapping[str, str]:
    """Return the variables with which batches are started."""
    return next(one.environment for one in aws.template.functions if one.id == "McpEndpointFunction")


def _with_address(options: DeploymentOptions) -> DeploymentOptions:
    """Return the options with a port and a public URL."""
    port = options.port
    if not port:
        # The port is part of URLs that must be known before the server listens on it.
        with closing(listen(options.host, 0)) as probe:
            port = probe.getsockname()[1]
    return replace(options, port=port, public_url=options.public_url or f"http://{options.host}:{port}")


@contextmanager
def _copied(options: DeploymentOptions) -> Iterator[UpstreamFile]:
    """Yield the file of upstream servers, copied for the functions."""
    with TemporaryDirectory(prefix="mcpist-upstreams-") as folder:
        file = UpstreamFile((options.upstreams or options.root / UPSTREAMS).resolve(), Path(folder), options.report)
        file.read()
        yield file


@contextmanager
def _followed(file: UpstreamFile, aws: EmbeddedAws, login: LocalLogin, options: DeploymentOptions) -> Iterator[None]:
    """With a state, use the file of upstream servers as it changes, until the end of the context."""

    def follow() -> None:
        if file.read_change():
            with operating(aws):
                file.store_secrets()
                seed(login.issuer, (), file.categories, options.state)
            options.report(f"{file.source} was read again: {', '.join(file.categories) or 'no category'}")

    has_folder = options.state is not None and file.source.parent.is_dir()
    with watched(file.source.parent, follow, recursive=False) if has_folder else nullcontext():
        yield


@contextmanager
def _login(options: DeploymentOptions) -> Iterator[LocalLogin]:
    """Run the issuer, which knows our own login."""
    endpoint = f"{options.public_url}/mcp"
    with LocalLogin(
        people=[ADMINISTRATOR, USER],
        audience=endpoint,
        host=options.bridge or "127.0.0.1",
        state=options.state,
        # Beside the endpoint's: an issuer with another URL at the next start would know nobody.
        port=options.port + 1 if options.port < MAX_PORT else 0,
    ) as login:
        login.register(LOGIN_CLIENT, redirect_uri=f"{options.public_url}/login/callback")
        yield login


def _embedded_aws(options: DeploymentOptions, login: LocalLogin, added: Mapping[str, str]) -> EmbeddedAws:
    """Return the AWS of a deployment, with variables that are added to its functions' environment."""
    parameters = {
        "SnapStart": "all",
        "PublicUrl": options.public_url,
        "Issuer": login.issuer,
        "LoginClientId": LOGIN_CLIENT,
        **({} if options.concurrency else ONE_MACHINE),
        **options.parameters,
    }
    environment = {
        "PATH": tool_path(),
        "SERVERS_FOLDER": str(Path.cwd()),
        **({SMALL_LOOP_VARIABLE: "on"} if options.small_loop else {}),
        **added,
    }
    return EmbeddedAws(replace(options, parameters=parameters, environment=environment))


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


@contextmanager
def operating(aws: EmbeddedAws, **more: str) -> Iterator[None]:
    """Point core's settings and clients at the embedded AWS, with `more` variables, and restore them afterwards."""
    stores = {name: aws.resource((TABLES | STORES)[name]) for name in OPERATED}
    with environment(aws.environment | stores | more):
        yield
