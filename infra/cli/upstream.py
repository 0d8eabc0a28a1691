"""`mcpist upstream`: the MCP servers behind this one, their tools, and the approval of these."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.deployable import check_deployable
from infra.cli.document import CommandError, CommandResult, draw_error
from infra.cli.options import Target, UpstreamsFile, command_group
from infra.cli.stacks import is_up, last_up
from infra.cli.stored_secrets import secret
from infra.cli.upstream_import import import_upstreams
from infra.cli.upstream_listings import (
    ListingResult,
    StackView,
    find_rows,
    resolve_categories,
    rows,
    stack_view,
)
from infra.local.upstream_file import load_here
from infra.source import CONFIGURATION
from mcpist.audit import record as audit
from mcpist.people import directory
from mcpist.people.administration import operator
from mcpist.visible_text import visible
from mcpist_services.upstream import lists
from mcpist_services.upstream.categories import counts
from mcpist_services.upstream.configuration import UpstreamConfiguration, load
from mcpist_services.upstream.trust import Pin

DEPLOYED_FILE = CONFIGURATION / "upstreams.json"


FileArgument = Annotated[
    Path | None, Argument(metavar="FILE", help="[default: the last `up`'s, or layers/config/upstreams.json]")
]

upstream = command_group()
upstream.add_typer(secret, name="secret")


@upstream.command("list")
def list_upstreams(file: FileArgument = None) -> CommandResult:
    """List the servers and the categories of a file."""
    file, configured, _ = _read(file)
    servers = [
        {"name": name, "type": server.type, "at": server.url or server.command, "description": server.description}
        for name, server in configured.servers.items()
    ]
    categories = [
        {"name": name, "servers": list(category.servers), "description": category.description}
        for name, category in configured.all_categories.items()
    ]
    lines = [f"{server['name']}  {server['type']}  {server['at']}" for server in servers]
    lines += [f"{one['name']}  of {', '.join(one['servers'])}: {one['description']}" for one in categories]
    facts = {"file": str(file), "servers": servers, "categories": categories}
    return CommandResult(metadata=facts, drawing="\n".join(lines) or f"{file} names no server")


@upstream.command("check")
def check_upstreams(
    target: Target,
    file: FileArgument = None,
    deploy: Annotated[bool, Option("--deploy", help="Ask no server; check whether Lambda could run them.")] = False,
) -> CommandResult:
    """Check a file, and whether its servers answer."""
    if deploy:
        return check_deployable(file := _file(file), load(file))
    file, configured, variables = _read(file)
    with stack_view(target, configured, variables) as view:
        found = view.fetch_listings(configured.servers)
        report = {"file": str(file), **_report(view, found)}
    # A server with grants answers only with a person's account, so its silence says nothing here.
    silent = [name for name, one in found.items() if not one.listing and not configured.servers[name].grants]
    if silent:
        message = f"{silent[0]} does not answer: {found[silent[0]].problem}"
        hint = "Correct its command, URL, env or headers."
        error = CommandError("UPSTREAM_UNAVAILABLE", message, hint, report)
        error.drawing = f"{_render(report)}\n\n{draw_error(error.error)}"
        raise error
    return CommandResult(metadata=report, drawing=_render(report) or f"{file} names no server")


@upstream.command("tools")
def list_tools(
    target: Target,
    name: Annotated[str | None, Argument(metavar="NAME", help="Only of this category or server.")] = None,
    file: UpstreamsFile = None,
) -> CommandResult:
    """List the tools of all categories, which of them wait for approval, and what changed since the last one."""
    file, configured, variables = _read(file)
    known = {*configured.servers, *configured.all_categories}
    if name and name not in known:
        raise _unknown(name, known, "Name a file by --upstreams FILE." if Path(name).is_file() else "")
    with stack_view(target, configured, variables) as view:
        found = find_rows(view, list(configured.servers))
        shown = [row for row in found if name in {None, row.category, row.chosen.server}]
        changes = view.changed_lines(shown)
    lines, tools = [], []
    for row in shown:
        changed = changes.get((row.chosen.server, row.pin.tool), [])
        lines.append("  ".join((f"{row.category}.{row.chosen.tool}", row.state, row.effect or "", row.note)))
        lines += [f"    {line}" for line in changed]
        tools.append({**row.as_dict(), "changes": changed})
    drawing = "\n".join(map(visible, lines)) or f"no tool of {name or file}"
    return CommandResult(metadata={"file": str(file), "tools": tools}, drawing=drawing)


@upstream.command("approve")
def approve_tools(
    target: Target,
    server: Annotated[str, Argument(metavar="SERVER")],
    tools: Annotated[
        list[str] | None, Argument(metavar="TOOL", help="Only these. [default: all except tools with a warning]")
    ] = None,
    file: UpstreamsFile = None,
) -> CommandResult:
    """Let the endpoint show and run a server's tools as they are now."""
    _, configured, variables = _read(file)
    if server not in configured.servers:
        raise _unknown(server, configured.servers)
    with stack_view(target, configured, variables, needed=True) as view:
        found = {row.chosen.tool: row for row in find_rows(view, [server])}
        for name in tools or ():
            if name not in found:
                raise _unknown(name, found)
        waiting = [row for row in found.values() if row.awaits_approval]
        # Warnings are for a person to read: such a tool is approved by its name only.
        chosen = [row for row in waiting if (row.chosen.tool in tools if tools else not row.flags)]
        record_approvals(server, view.pins(server), [row.pin for row in chosen])  # first: none without its rows
        lists.approve(server, [row.pin for row in chosen])
    left = [row for row in waiting if row not in chosen]
    names = [row.chosen.tool for row in chosen]
    lines = [f"approved: {', '.join(names) or 'no tool waited for approval'}"]
    lines += [visible(f"waits: {row.chosen.tool}  {'; '.join(row.flags)}") for row in left]
    facts = {"server": server, "approved": names, "waiting": [row.as_dict() for row in left]}
    return CommandResult(metadata=facts, drawing="\n".join(lines))


upstream.command("import")(import_upstreams)


# -- reports -------------------------------------------------------------------------------------


def _report(view: StackView, found: Mapping[str, ListingResult]) -> dict[str, Any]:
    """Return servers, categories and the counts of both."""
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
    servers = [
        {"name": name, "answers": answer.listing is not None, "seconds": round(answer.seconds, 2)}
        | ({"tools": len(answer.listing.tools)} if answer.listing else {"problem": answer.problem})
        for name, answer in found.items()
    ]
    return {"servers": servers, "categories": categories, "counts": counts(resolved)}


def _render(report: Mapping[str, Any]) -> str:
    lines = [
        f"{one['name']}  " + (f"{one['tools']} tools in {one['seconds']} s" if one["answers"] else one["problem"])
        for one in report["servers"]
    ]
    for one in report["categories"]:
        besides = [f"{what}: {', '.join(names)}" for what, names in one.items() if isinstance(names, list) and names]
        lines.append("  ".join([one["name"], f"{one['tools']} tools", *besides]))
    return "\n".join(map(visible, lines))


def _unknown(name: str, known: Iterable[str], hint: str = "") -> CommandError:
    hint = hint or f"There are: {', '.join(sorted(known)) or 'none'}."
    return CommandError("VALIDATION_ERROR", f'There is no "{name}".', hint)


def _file(file: Path | None) -> Path:
    """Return a file; by default that of the `mcpist up` that runs in this folder, or the deployed one."""
    return file or (Path(last_up("")["upstreams"]) if is_up() else DEPLOYED_FILE)


def _read(file: Path | None) -> tuple[Path, UpstreamConfiguration, Mapping[str, str]]:
    """Read a file, with the variables of this shell filled in; return what these hold, too."""
    configured, _, variables = load_here(file := _file(file), os.environ)
    return file, configured, variables


def record_approvals(server: str, before: Mapping[str, Pin], approved: Sequence[Pin]) -> None:
    """Write the fingerprints before and after to each organization's audit: all organizations share the servers."""
    if not approved:
        return
    old = {pin.tool: before[pin.tool].fingerprint for pin in approved if pin.tool in before}
    new = {pin.tool: pin.fingerprint for pin in approved}
    for organization in directory.organizations():
        audit.record_change(
            operator(organization),
            action="upstreams.approve",
            target=f"upstreams.{server}",
            request="",
            before=old,
            after=new,
        )
