"""`mcpist upstream`: the MCP servers behind this one: what is configured, what answers, what waits for approval."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.cli.account import stack
from infra.cli.deployable import undeployable
from infra.cli.document import CommandError, CommandResult
from infra.cli.endpoint import LAST_UP, last_up
from infra.cli.upstream_import import import_client_config
from infra.cli.upstream_listings import ListingResult, ToolRow, fetch_listings, resolve_categories, rows
from mcpist.aws import clients
from mcpist.errors import InvalidConfiguration
from mcpist_services.upstream import lists
from mcpist_services.upstream.categories import counts
from mcpist_services.upstream.configuration import Configuration, load
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.trust import Pin

DEPLOYED_FILE = Path(__file__).resolve().parents[2] / "layers/config/upstreams.json"


def upstream(options: argparse.Namespace) -> CommandResult:
    """Do what the action says."""
    if options.action == "import":
        return import_client_config(options.client, options.output, options.stack, offline=options.offline)
    file = options.file or _last_file()
    configured = load(file)
    match options.action:
        case "list":
            return list_upstreams(file, configured)
        case "check" if options.deploy:
            return check_deployable(file, configured)
        case "check":
            return check_upstreams(options, file, configured)
        case "tools":
            return list_tools(options, file, configured)
        case _:
            return approve_tools(options, configured)


def list_upstreams(file: Path, configured: Configuration) -> CommandResult:
    """The servers and the categories of a file."""
    servers = [
        {"name": name, "type": one.type, "at": one.url or one.command, "description": one.description}
        for name, one in configured.servers.items()
    ]
    categories = [
        {"name": name, "servers": list(one.servers), "description": one.description}
        for name, one in configured.all_categories.items()
    ]
    lines = [f"{name}  {one.type}  {one.url or one.command}" for name, one in configured.servers.items()]
    lines += [
        f"{name}  of {', '.join(one.servers)}: {one.description}" for name, one in configured.all_categories.items()
    ]
    facts = {"file": str(file), "servers": servers, "categories": categories}
    return CommandResult(metadata=facts, drawing="\n".join(lines) or f"{file} names no server")


def check_deployable(file: Path, configured: Configuration) -> CommandResult:
    """A file that Lambda could run; else an InvalidConfiguration."""
    problems = [{"field": field, "problem": problem} for field, problem in undeployable(configured, file.parent)]
    if problems:
        raise InvalidConfiguration(path=str(file), **problems[0]).with_details(problems=problems)
    sizes = {"servers": len(configured.servers), "categories": len(configured.all_categories)}
    return CommandResult(metadata={"file": str(file), **sizes})


def check_upstreams(options: argparse.Namespace, file: Path, configured: Configuration) -> CommandResult:
    """A file's servers and categories as they are now; a CommandError if one that could be asked does not answer."""
    with _stack_view(options, configured) as view:
        found = view.fetch_listings(configured.servers)
        report = {"file": str(file), **_report(view, found)}
    silent = [name for name, one in found.items() if not one.listing and not configured.servers[name].grants]
    if silent:
        message = f"{silent[0]} does not answer: {found[silent[0]].problem}"
        hint = "Correct its command, URL, env or headers; the details have more."
        raise CommandError({"code": "UPSTREAM_UNAVAILABLE", "message": message, "hint": hint, "details": report})
    return CommandResult(metadata=report, drawing=_render(report))


def list_tools(options: argparse.Namespace, file: Path, configured: Configuration) -> CommandResult:
    """Every tool of every category, or of one category or server, and which of them are not approved."""
    known = {*configured.servers, *configured.all_categories}
    if options.name and options.name not in known:
        raise _unknown(options.name, known)
    with _stack_view(options, configured) as view:
        found = _rows(view, list(configured.servers))
    shown = [row for row in found if options.name in {None, row.category, row.chosen.server}]
    lines = [
        f"{row.category}.{row.chosen.tool}  {row.state}  {'; '.join(row.flags) or row.description}" for row in shown
    ]
    return CommandResult(
        metadata={"file": str(file), "tools": [row.as_dict() for row in shown]}, drawing="\n".join(lines)
    )


def approve_tools(options: argparse.Namespace, configured: Configuration) -> CommandResult:
    """A server's tools approved as they are now; those with a flag only by their names."""
    if options.server not in configured.servers:
        raise _unknown(options.server, configured.servers)
    with _stack_view(options, configured, needed=True) as view:
        found = {row.chosen.tool: row for row in _rows(view, [options.server])}
        for name in options.tool:
            if name not in found:
                raise _unknown(name, found)
        waiting = [row for row in found.values() if row.awaits_approval]
        chosen = [row for row in waiting if row.chosen.tool in options.tool or not (options.tool or row.flags)]
        lists.approve(options.server, [row.pin for row in chosen])
    left = [row for row in waiting if row not in chosen]
    names = [row.chosen.tool for row in chosen]
    lines = [f"approved: {', '.join(names) or 'nothing waited'}"]
    lines += [f"waits: {row.chosen.tool}  {'; '.join(row.flags)}" for row in left]
    facts = {"server": options.server, "approved": names, "waiting": [row.as_dict() for row in left]}
    return CommandResult(metadata=facts, drawing="\n".join(lines))


# -- what is reached ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StackView:
    """A file's servers, and the stack that knows them, if there is one: `embedded` or deployed."""

    configured: Configuration
    has_stack: bool
    embedded: bool

    def pins(self, server: str) -> Mapping[str, Pin]:
        """The approvals of its tools."""
        return lists.pins(server) if self.has_stack else {}

    def stored_listing(self, server: str) -> Listing | None:
        """What the stack last saw of it."""
        kept = lists.server_state(server).cached if self.has_stack else None
        return kept.listing if kept else None

    def fetch_listings(self, names: Iterable[str]) -> dict[str, ListingResult]:
        """What these servers answer now."""
        servers = {name: self.configured.servers[name] for name in names}
        references = {one for server in servers.values() for one in server.references}
        return fetch_listings(servers, _stored(references) if self.has_stack else {}, embedded=self.embedded)


@contextmanager
def _stack_view(
    options: argparse.Namespace, configured: Configuration, *, needed: bool = False
) -> Iterator[_StackView]:
    """The stack that was named, or the last `up` if it is there; unless one is `needed`, it goes without."""
    deployed = bool(options.stack or options.profile or options.region)
    has_stack = deployed or needed or LAST_UP.exists()
    with stack(options.stack, options.profile, options.region) if has_stack else nullcontext():
        yield _StackView(configured, has_stack, not deployed)


def _rows(view: _StackView, servers: list[str]) -> list[ToolRow]:
    """The tools as the stack last saw them; those of servers that it never saw as they answer now."""
    kept = {name: listing for name in servers if (listing := view.stored_listing(name))}
    now = view.fetch_listings(name for name in servers if name not in kept)
    listings = kept | {name: answer.listing for name, answer in now.items() if answer.listing}
    return rows(view.configured, listings, {name: view.pins(name) for name in listings})


def _stored(references: Iterable[str]) -> dict[str, str]:
    """The values of stored parameters by their references, of those that can be read from here."""
    from botocore.exceptions import BotoCoreError, ClientError

    found = {}
    for reference in references:
        if reference.startswith("ssm:"):
            asked = {"Name": reference.removeprefix("ssm:"), "WithDecryption": True}
            with suppress(BotoCoreError, ClientError):
                found[reference] = clients.client("ssm").get_parameter(**asked)["Parameter"]["Value"]
    return found


# -- what is said -------------------------------------------------------------------------------------


def _report(view: _StackView, found: Mapping[str, ListingResult]) -> dict[str, Any]:
    """Servers, categories and the counts of both."""
    listings = {name: answer.listing for name, answer in found.items() if answer.listing}
    resolved = resolve_categories(view.configured, listings)
    states: dict[str, dict[str, list[str]]] = {}
    for row in rows(view.configured, listings, {name: view.pins(name) for name in listings}):
        states.setdefault(row.category, {}).setdefault(row.state, []).append(row.chosen.tool)
    categories = [
        {
            "name": one.name,
            "tools": len(states.get(one.name, {}).get("enabled", [])),
            **{state: names for state, names in states.get(one.name, {}).items() if state != "enabled"},
            "unresolved": list(one.unresolved),
            "clashes": [f"{clash.tool} of {clash.server}" for clash in one.clashes],
        }
        for one in resolved
    ]
    servers = [_server_report(name, answer) for name, answer in found.items()]
    return {"servers": servers, "categories": categories, "counts": counts(resolved)}


def _server_report(name: str, answer: ListingResult) -> dict[str, Any]:
    said: dict[str, Any] = {"tools": len(answer.listing.tools)} if answer.listing else {"problem": answer.problem}
    return {"name": name, "answers": answer.listing is not None, "seconds": round(answer.seconds, 2), **said}


def _render(report: Mapping[str, Any]) -> str:
    lines = [
        f"{one['name']}  " + (f"{one['tools']} tools in {one['seconds']} s" if one["answers"] else one["problem"])
        for one in report["servers"]
    ]
    for one in report["categories"]:
        besides = [f"{what}: {', '.join(names)}" for what, names in one.items() if isinstance(names, list) and names]
        lines.append("  ".join([one["name"], f"{one['tools']} tools", *besides]))
    return "\n".join(lines)


def _unknown(name: str, known: Iterable[str]) -> CommandError:
    hint = f"There are: {', '.join(sorted(known)) or 'none'}."
    return CommandError({"code": "VALIDATION_ERROR", "message": f'There is no "{name}".', "hint": hint})


def _last_file() -> Path:
    """The file of the `mcpist up` that runs in this folder, else the one that is deployed."""
    return Path(last_up("")["upstreams"]) if LAST_UP.exists() else DEPLOYED_FILE
