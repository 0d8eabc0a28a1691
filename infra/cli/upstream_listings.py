"""The tools of a file's servers as they are listed, as the stack has stored them, and as they were approved."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.cli.options import Target
from infra.cli.stacks import is_up
from infra.cli.target import opened
from infra.local.additions import tool_path
from infra.local.environment import environment
from infra.source import ROOT
from mcpist.aws import clients
from mcpist.errors import McpistError
from mcpist.programs.messages import ServerRequest
from mcpist.tools.declare.schema_tool import effect_of
from mcpist.tools.declare.tool import Effect
from mcpist_services.upstream import lists
from mcpist_services.upstream.categories import ResolvedCategory, SelectedTool, resolve_all, select_tool
from mcpist_services.upstream.category import configured_effect
from mcpist_services.upstream.configuration import UpstreamConfiguration, UpstreamServer
from mcpist_services.upstream.connections import Identity, Upstreams
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.requests import Ask
from mcpist_services.upstream.trust import Pin, TextLine, approval_of, changes, judge, review_warnings

PERSONAL_ACCOUNT_PROBLEM = "it acts with each caller's own account, and this command has none"
FUNCTIONS = ROOT / "functions"
_MARKS = {"added": "+ ", "removed": "- ", "same": "  "}


@dataclass(frozen=True, slots=True)
class ListingResult:
    """A server's listing, or the problem with it."""

    listing: Listing | None = None
    problem: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool of a category; its state is `enabled`, `disabled`, `broken`, or the reason why it is not approved."""

    category: str
    chosen: SelectedTool
    state: str
    flags: tuple[str, ...]
    pin: Pin
    description: str
    effect: Effect | None = None
    """What it does, as the operator or else its server says; None for a broken tool."""

    @property
    def awaits_approval(self) -> bool:
        """Whether an approval would enable the tool."""
        return self.state in {"new", "changed"}

    @property
    def note(self) -> str:
        """The warnings to check before an approval, or else the description."""
        return "; ".join(self.flags) or self.description

    def as_dict(self) -> dict[str, Any]:
        """Return the row for programs."""
        return {
            "category": self.category,
            "tool": self.chosen.tool,
            "server": self.chosen.server,
            "state": self.state,
            "effect": self.effect,
            "flags": list(self.flags),
            "fingerprint": self.pin.fingerprint,
            "description": self.description,
        }


def fetch_listings(
    servers: Mapping[str, UpstreamServer], secrets: Mapping[str, str], *, embedded: bool = True
) -> dict[str, ListingResult]:
    """List the tools of servers, all at once; only an `embedded` stack may use loopback. Child processes are ended."""
    with (
        # The PATH is that of a local deployment's functions: a server runs here and there with the same commands.
        environment({"LOCAL_SERVICES": "on" if embedded else "off", "PATH": tool_path()}),
        stdio_servers() as ask,
        closing(Upstreams(servers, ask)) as upstreams,
        ThreadPoolExecutor(len(servers) or 1) as pool,
    ):
        asked = pool.map(lambda name: _answer(upstreams, name, servers[name], secrets), servers)
        return dict(zip(servers, asked, strict=True))


def rows(
    configured: UpstreamConfiguration, listings: Mapping[str, Listing], pins: Mapping[str, Mapping[str, Pin]]
) -> list[ToolRow]:
    """Return every tool of every category, with its state."""
    tools = {(server, tool.name): tool for server, listing in listings.items() for tool in listing.tools}
    found = []
    for resolved in resolve_categories(configured, listings):
        for chosen in resolved.tools.values():
            tool = tools[chosen.server, chosen.tool]
            verdict = judge(pins.get(chosen.server, {}), tool, named=chosen.named)
            state = ("enabled" if verdict == "approved" else verdict) if chosen.enabled else "disabled"
            declared = configured.servers[chosen.server]
            effect = configured_effect(tool, chosen, resolved.category, declared) or effect_of(tool)
            pin = approval_of(tool, "operator", int(time.time()))
            said = (chosen.description or tool.description or "").strip().partition("\n")[0]
            found.append(ToolRow(resolved.name, chosen, state, tuple(review_warnings(tool)), pin, said, effect))
        found += _broken_rows(resolved, listings)
    for server, listing in listings.items():
        found += _waiting_materials(configured, server, listing, pins.get(server, {}))
    return found


def _waiting_materials(
    configured: UpstreamConfiguration, server: str, listing: Listing, pins: Mapping[str, Pin]
) -> Iterator[ToolRow]:
    """Return the resources and prompts of a server that wait for approval; others are approved when first seen."""
    category = next(name for name, one in configured.all_categories.items() if server in one.servers)
    for item in listing.materials:
        state = judge(pins, item, named=True)
        if state != "approved":
            pin = approval_of(item, "operator", int(time.time()))
            chosen, said = SelectedTool(server, pin.tool, named=True, enabled=True), item.description or ""
            yield ToolRow(category, chosen, state, tuple(review_warnings(item)), pin, said, "reads")


def _broken_rows(resolved: ResolvedCategory, listings: Mapping[str, Listing]) -> Iterator[ToolRow]:
    """Return the tools that the category would have if they were not broken."""
    for server in resolved.category.servers:
        for item in listings[server].rejected if server in listings else ():
            chosen = select_tool(resolved.category, server, item.name)
            if item.kind == "tools" and chosen is not None:
                pin = Pin(item.name, "", "operator", 0)
                yield ToolRow(resolved.name, chosen, "broken", (item.problem,), pin, "")


def resolve_categories(configured: UpstreamConfiguration, listings: Mapping[str, Listing]) -> list[ResolvedCategory]:
    """Resolve every category with the servers' listings."""
    return resolve_all(configured, {name: [tool.name for tool in one.tools] for name, one in listings.items()})


def _answer(upstreams: Upstreams, name: str, server: UpstreamServer, secrets: Mapping[str, str]) -> ListingResult:
    missing = sorted(server.references - set(secrets))
    if any(one.startswith("grant:") for one in missing):
        return ListingResult(problem=PERSONAL_ACCOUNT_PROBLEM)
    if missing:
        return ListingResult(problem=f"{missing[0]} is not stored or cannot be read from here")
    identity = Identity(secrets={one: secrets[one] for one in server.references})
    started = time.monotonic()
    try:
        listing = upstreams.list_tools(name, identity, deadline=started + server.timeout_seconds)
    except McpistError as error:
        return ListingResult(problem=str(error), seconds=time.monotonic() - started)
    return ListingResult(listing, seconds=time.monotonic() - started)


@contextmanager
def stdio_servers() -> Iterator[Ask]:
    """Start the servers that are asked for, with this command's HOME and folder, and end them with the context."""
    sys.path.insert(0, str(FUNCTIONS))
    from program_runner.sessions import Sessions  # the functions are no packages of this environment

    with closing(Sessions(None, str(Path.cwd()))) as sessions:

        def ask(request: ServerRequest, *, deadline: float) -> bytes:  # noqa: ARG001 - the request says it, too
            return sessions.ask(request)

        yield ask


@dataclass(frozen=True, slots=True)
class StackView:
    """A file's servers and their stack, if there is one: `embedded` or deployed."""

    configured: UpstreamConfiguration
    has_stack: bool
    embedded: bool
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the file's variables hold, by the references that took their places."""

    def pins(self, server: str) -> Mapping[str, Pin]:
        """Return the approvals of a server's tools."""
        return lists.pins(server) if self.has_stack else {}

    def fetch_listings(self, names: Iterable[str]) -> dict[str, ListingResult]:
        """List these servers' tools now."""
        servers = {name: self.configured.servers[name] for name in names}
        references = {one for server in servers.values() for one in server.references}
        stored = _stored(references - set(self.variables)) if self.has_stack else {}
        return fetch_listings(servers, {**stored, **self.variables}, embedded=self.embedded)

    def changed_lines(self, rows: Iterable[ToolRow]) -> dict[tuple[str, str], list[str]]:
        """Return the lines of each changed tool, by its server and name, where the approved texts were kept."""
        changed = [row for row in rows if row.state == "changed"]
        found: dict[tuple[str, str], list[str]] = {}
        for server in dict.fromkeys(row.chosen.server for row in changed):
            now = {row.pin.tool: row.pin.text for row in changed if row.chosen.server == server}
            approved = self.pins(server)
            # The texts of a server are read at once.
            texts = lists.approved_texts_of(server, {tool: approved[tool] for tool in now if tool in approved})
            for tool, text in texts.items():
                found[server, tool] = list(map(_line, changes(text, now[tool])))
        return found


@contextmanager
def stack_view(
    target: Target, configured: UpstreamConfiguration, variables: Mapping[str, str], *, needed: bool = False
) -> Iterator[StackView]:
    """Open the target, or the last `up` if one runs; else continue without a stack, unless one is `needed`."""
    has_stack = target.deployed or needed or is_up()
    with opened(target) if has_stack else nullcontext():
        yield StackView(configured, has_stack, not target.deployed, variables)


def find_rows(view: StackView, servers: list[str]) -> list[ToolRow]:
    """Return the tools as the stack has stored them, or as a server lists them now."""
    # What is stored is what people see and call; a server is asked only where nothing is.
    known = {name: lists.server_state(name).cached for name in servers} if view.has_stack else {}
    kept = {name: one.listing for name, one in known.items() if one and one.listing}
    now = view.fetch_listings(name for name in servers if name not in kept)
    listings = kept | {name: answer.listing for name, answer in now.items() if answer.listing}
    return rows(view.configured, listings, {name: view.pins(name) for name in listings})


def _stored(references: Iterable[str]) -> dict[str, str]:
    """Return the values of the stored parameters that can be read from here, by their references."""
    from botocore.exceptions import BotoCoreError, ClientError

    found = {}
    for reference in references:
        if reference.startswith("ssm:"):
            asked = {"Name": reference.removeprefix("ssm:"), "WithDecryption": True}
            with suppress(BotoCoreError, ClientError):
                found[reference] = clients.client("ssm").get_parameter(**asked)["Parameter"]["Value"]
    return found


def _line(line: TextLine) -> str:
    return f"… {line.text} lines" if line.kind == "skipped" else f"{_MARKS[line.kind]}{line.text}"
