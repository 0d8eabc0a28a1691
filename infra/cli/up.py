"""`mcpist up`: run everything on this machine, until Ctrl-C."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from typer import Option

from infra.cli.document import CommandDocument, CommandError, CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.stacks import LocalStack, chosen_stack
from infra.cli.up_facts import facts_of, recorded
from infra.local.demo import ADMINISTRATOR
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.local.intrinsics import TemplateError
from infra.local.sandbox import HandlerImportError
from infra.local.server import PortInUse
from infra.local.state import StateUnreadable, opened_state
from infra.source import IS_CHECKOUT, ROOT
from mcpist.bounded_http.addresses import is_loopback
from mcpist_services.upstream.configuration import UpstreamConfiguration, load

MAX_UPSTREAM_ATTEMPTS = 8
UPSTREAM_PAUSE_SECONDS = 3.0
RED, PLAIN = "\033[1;31m", "\033[0m"
EXPOSED = (
    "WARNING: on {host} everybody who reaches this machine can use all of it. The login asks for no password, the"
    " administrator's among them, and nothing is encrypted."
)
READY_MESSAGE = """\
ready: connect an MCP client to {mcp_url}; from another terminal{in_checkout}:
  mcpist add claude-code   (or codex, cursor, vscode ...)
  mcpist call rag search_docs query="token broker"
the console, once signed in as {administrator}: {console_link}
people connect their accounts on {connect_url}; Ctrl-C stops everything"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """The options of `mcpist up`; places that are not named are those of the configuration."""

    port: Annotated[int, Option(metavar="PORT", envvar="PORT", min=0, max=65_535, help="The port of everything.")] = (
        3000
    )
    host: Annotated[str, Option(metavar="HOST", envvar="HOST", help="The address to listen on.")] = "127.0.0.1"
    allow_network: Annotated[
        bool,
        Option("--allow-network", envvar="MCPIST_ALLOW_NETWORK", help="Let --host be reached from other machines."),
    ] = False
    docs: Annotated[
        Path | None, Option(metavar="FOLDER", help="Markdown for the module rag. [default: MCPist's own pages]")
    ] = None
    upstreams: Annotated[
        Path | None, Option(metavar="FILE", help="MCP servers to add. [default: layers/config/upstreams.json]")
    ] = None
    apis: Annotated[
        Path | None, Option(metavar="FOLDER", help="Imported APIs to add. [default: layers/config/apis]")
    ] = None
    programs: Annotated[
        Path | None, Option(metavar="FILE|FOLDER", help="Programs to offer as tools. [default: layers/config/programs]")
    ] = None
    allow_origin: Annotated[
        list[str] | None, Option(metavar="URL", help="Let web pages of this origin use the endpoint.")
    ] = None
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARN", "ERROR"],
        Option(envvar="LOG_LEVEL", case_sensitive=False, help="The least level of the functions' log lines."),
    ] = "INFO"
    audit_export: Annotated[
        Path | None, Option(metavar="FOLDER", help="Write each new audit row to files there, as OCSF events.")
    ] = None
    audit_required: Annotated[
        bool, Option("--audit-required", help="Answer a call or a step only if its audit row is stored.")
    ] = False
    fresh: Annotated[
        bool, Option("--fresh", help="Begin anew: delete the logins, tables and files of the stack's last run.")
    ] = False

    @property
    def parameters(self) -> dict[str, str]:
        """The template's parameters that they stand for."""
        required = "on" if self.audit_required else "off"
        origins = ",".join(self.allow_origin or ())
        return {"AllowedOrigins": origins, "LogLevel": self.log_level, "AuditRequired": required}


# The places that may be named: what each must be, else the problem and the hint.
PLACES: Mapping[str, tuple[Callable[[Path], bool], str, str]] = {
    "docs": (Path.is_dir, "is not a folder", "Name a folder with --docs."),
    "upstreams": (Path.is_file, "is not a file", "Name a file like layers/config/upstreams.json with --upstreams."),
    "apis": (
        Path.is_dir,
        "is not a folder",
        "Name a folder of overlays with --apis; `mcpist api import` writes one.",
    ),
    "programs": (Path.exists, "does not exist", "Name a declaration, or a folder of them, with --programs."),
}


def up(ctx: typer.Context, given: UpOptions) -> NoReturn:
    """Run everything on this machine until Ctrl-C; print one line when ready.

    What is stored, and who is logged in, is still there at the next start.
    """
    _check_host(given.host, given.allow_network)
    docs = given.docs or ROOT / "docs"
    given = replace(given, docs=docs)
    for name, (is_usable, problem, hint) in PLACES.items():
        if (place := getattr(given, name)) and not is_usable(place):
            raise CommandError("FILE_NOT_FOUND", f"{place} {problem}", hint)
    stack = chosen_stack()
    options = DeploymentOptions(
        **{name: getattr(given, name) for name in ("host", "port", "upstreams", "apis", "programs")},
        docs=docs.resolve(),
        parameters=given.parameters,
        logs=stack.logs.resolve(),
        audit_export=given.audit_export and given.audit_export.resolve(),
        report=_print_progress,
    )
    with _failures_as_errors(), stack.held(), opened_state(stack.state_file, given.fresh) as state:
        _serve(run_local_deployment(replace(options, state=state)), ctx.obj, stack)
    _end()


def _end() -> NoReturn:
    """End the process at once: Python would take apart every object first, longer than a container has to stop."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def _failures_as_errors() -> Iterator[None]:
    """Turn the known failures of a start into the command's errors."""
    try:
        yield
    except StateUnreadable as error:
        hint = "Start with --fresh to begin anew, or with the version that wrote it."
        raise CommandError("INTERNAL_ERROR", str(error), hint) from None
    except PortInUse as error:
        hint = "Stop what uses the port, or choose another with --port."
        raise CommandError("VALIDATION_ERROR", str(error), hint) from None
    except (HandlerImportError, TemplateError) as error:
        raise CommandError("INTERNAL_ERROR", str(error), "Correct it and start again.") from None


def _serve(starting: AbstractContextManager[LocalDeployment], document: CommandDocument, stack: LocalStack) -> None:
    """Start a deployment, and serve until SIGINT or SIGTERM."""
    stop = threading.Event()
    # A shell interrupts, a container or a service manager terminates: both end it in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with starting as deployment, recorded(deployment, stack.facts_file):
        ready = READY_MESSAGE.format(
            mcp_url=deployment.mcp_url,
            in_checkout=" with `make shell`" if IS_CHECKOUT else "",
            connect_url=deployment.connect_url,
            administrator=ADMINISTRATOR.name,
            console_link=deployment.login.one_time_link(ADMINISTRATOR.sub, deployment.console_url),
        )
        document.succeed(CommandResult(metadata=facts_of(deployment), drawing=ready))
        if not document.draws:
            _print_progress(ready)
        threading.Thread(target=_report_upstreams, args=(deployment, stop), name="upstreams", daemon=True).start()
        stop.wait()
        _print_progress("stopping")


def _report_upstreams(deployment: LocalDeployment, stop: threading.Event) -> None:
    """Say which upstream servers answer: each is asked as people ask, until it does or its attempts are over."""
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token())
    configured = load(deployment.read_upstreams) if deployment.read_upstreams.is_file() else UpstreamConfiguration()
    categories = {server: name for name, one in configured.all_categories.items() for server in one.servers}

    def ask(server: str) -> None:
        started, problem = time.monotonic(), ""
        for _ in range(MAX_UPSTREAM_ATTEMPTS):
            try:
                endpoint.call("get_module_schema", {"modules": [categories[server]]})
            except CommandError as error:
                problem = str(error)
            else:
                _print_progress(f"the server {server} answers ({time.monotonic() - started:.1f} s)")
                return
            if stop.wait(UPSTREAM_PAUSE_SECONDS):
                return
        _print_progress(f"the server {server} does not answer: {problem}")

    asked = [name for name, server in configured.servers.items() if not server.grants]
    with ThreadPoolExecutor(len(asked) or 1) as pool:
        list(pool.map(ask, asked))


def _check_host(host: str, allow_network: bool) -> None:
    """Where other machines can reach everything, warn of it, and refuse it unless that is meant."""
    if is_loopback(host):
        return
    _print_progress(f"{RED}{EXPOSED.format(host=host)}{PLAIN}" if sys.stderr.isatty() else EXPOSED.format(host=host))
    if not allow_network:
        hint = "Add --allow-network if that is meant, or leave --host out."
        raise CommandError("VALIDATION_ERROR", f"{host} can be reached from other machines.", hint)


def _print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
