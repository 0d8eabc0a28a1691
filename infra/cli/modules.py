"""`mcpist module` and `mcpist tool`: what an organization has, registers, and switches off."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.document import CommandError, CommandResult, in_words
from infra.cli.options import DryRun, Items, command_group, given, items, text_of
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import one_request, to_result
from infra.cli.stored_secrets import parse_app
from infra.cli.table import render_table
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.visible_text import visible

MODULE_PATH, TOOL_PATH = "/v1/modules/{}", "/v1/tools/{}"
MODULE = Argument(metavar="MODULE", help="The module's name.")
TOOL = Argument(metavar="TOOL", help="The tool's name: tracker.list_items or tracker-list-items.")
ModuleName = Annotated[str, MODULE]
Category = Annotated[str | None, Option(metavar="CATEGORY", help="Only of this category.")]
Tag = Annotated[str | None, Option(metavar="TAG", help="Only with this tag.")]
Disabled = Annotated[bool | None, Option("--enabled/--disabled", help="Only those that are switched on, or off.")]

module = command_group()
tool = command_group()
ON, OFF = {"enabled": True}, {"enabled": False}
NEXT = (
    "next: mcpist module approve {name} (what is new), mcpist role set ROLE --modules ...,{name} --allow ...,{name}.*"
)
_COLUMNS = ("name", "verdict", "message", "changedBy", "remedy")


@module.command("list")
def list_modules(access: Access, category: Category = None, tag: Tag = None, enabled: Disabled = None) -> CommandResult:
    """List the modules; an administrator sees all of the organization."""
    found = access.session().everything("/v1/modules", category=category, tag=tag, enabled=enabled)
    rows = [
        (one["name"], one["source"], one["version"], _state(one), str(one["toolCount"]), one["description"])
        for one in found["modules"]
    ]
    return CommandResult(
        metadata=found, drawing=render_table(("name", "source", "version", "state", "tools", "what it has"), rows)
    )


module.command("show", help="Show a registered module, and which of its tools wait for approval.")(
    one_request("GET", MODULE_PATH, MODULE)
)


@module.command("register")
def register_module(
    access: Access,
    name: ModuleName,
    api: Annotated[
        list[str] | None,
        Option(metavar="FILE", help="An API: its OpenAPI description, of several files each; - is standard input."),
    ] = None,
    overlay: Annotated[Path | None, Option(metavar="FILE", help="An API: the file of `mcpist api import`.")] = None,
    operations: Annotated[list[str] | None, Option(metavar="GLOB", help="Only these operations of an API.")] = None,
    server: Annotated[str, Option(metavar="URL", help="An API's address, where its description has none.")] = "",
    mcp: Annotated[str, Option(metavar="URL", help="An MCP server: its address.")] = "",
    sse: Annotated[bool, Option("--sse", help="The MCP server speaks the transport of 2024-11-05.")] = False,
    header: Annotated[
        list[str] | None,
        Option(metavar="NAME:VALUE", help="Sent to the MCP server; grant:MODULE is the account of whoever calls."),
    ] = None,
    include: Annotated[Items | None, items("Tools of the MCP server to approve at once.")] = None,
    description: Annotated[str | None, Option(metavar="TEXT", help="What a model chooses it by.")] = None,
    version: Annotated[str | None, Option(metavar="VERSION", help="[default: 1.0.0]")] = None,
    category: Annotated[str | None, Option(metavar="CATEGORY", help="Its category.")] = None,
    author: Annotated[str | None, Option(metavar="AUTHOR", help="Who made it.")] = None,
    tags: Annotated[Items | None, items("Its tags.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace a registered module of this name.")] = False,
    dry_run: DryRun = False,
) -> CommandResult:
    """Register an API or an MCP server for the organization; it is in no role yet."""
    from mcpist_services.described.overlay_files import load_file  # which no other command of this file needs

    body = given(name=name, description=description, version=version, category=category, author=author, tags=tags)
    body |= {"overwrite": True} if overwrite else {}
    texts = [text_of(file) for file in api or ()]
    body |= {"openapi": texts if len(texts) > 1 else texts[0]} if texts else {}
    body |= {"overlay": load_file(overlay).dump()} if overlay else {}
    body |= {"operations": operations} if operations else {}
    body |= {"server": server} if server else {}
    body |= {"url": mcp, "transport": "sse" if sse else "http"} if mcp else {}
    body |= {"headers": dict(map(_header, header))} if header else {}
    body |= {"tools": {"includeNames": include}} if include else {}
    result = to_result(access.session().change("POST", "/v1/modules", body, dry_run=dry_run))
    return replace(result, drawing=f"{result.drawing}\n{in_words(NEXT.format(name=name))}") if not dry_run else result


@module.command("approve")
def approve_tools(
    access: Access,
    name: ModuleName,
    tools: Annotated[
        list[str] | None, Argument(metavar="TOOL", help="Only these. [default: all except tools with a warning]")
    ] = None,
) -> CommandResult:
    """Let people use tools of a registered MCP server as they are now."""
    session, path = access.session(), f"/v1/modules/{part(name)}"
    # What the person has seen is approved: a tool that changes in between is refused.
    seen = [one["fingerprint"] for one in session.get(path)["tools"] if not tools or one["name"] in tools]
    return to_result(session.change("POST", f"{path}/approve", {"tools": tools or [], "fingerprints": seen}))


@module.command("app")
def set_app(
    access: Access,
    name: ModuleName,
    file: Annotated[
        str, Argument(metavar="FILE", help="JSON of the app; - is standard input. [default: ask the module's server]")
    ] = "",
    show: Annotated[bool, Option("--show", help="Show the app instead.")] = False,
    remove: Annotated[bool, Option("--remove", help="Remove it, and revoke the accounts connected by it.")] = False,
) -> CommandResult:
    """Set the app by which people connect accounts of a registered module, so that they consent in their browser."""
    session, path = access.session(), f"/v1/modules/{part(name)}/app"
    if show:
        return to_result(session.get(path))
    if remove:
        return to_result(session.change("DELETE", path))
    app = parse_app(ModuleAppRequest, text_of(file)).fields() if file else {}
    return to_result(session.change("PUT", path, app))


module.command("enable", help="Switch a module on for the whole organization.")(
    one_request("PATCH", MODULE_PATH, MODULE, "dry_run", body=ON)
)
module.command("disable", help="Switch a module off for the whole organization.")(
    one_request("PATCH", MODULE_PATH, MODULE, "dry_run", body=OFF)
)
module.command("remove", help="Remove a registered module, with the accounts that people connected for it.")(
    one_request("DELETE", MODULE_PATH, MODULE, "dry_run")
)


@tool.command("list")
def list_tools(
    access: Access,
    in_module: Annotated[str | None, Option("--module", metavar="MODULE", help="Only of this module.")] = None,
    category: Category = None,
    tag: Tag = None,
    effect: Annotated[str | None, Option(metavar="EFFECT", help="Only those: reads, writes, asks or destroys.")] = None,
    enabled: Disabled = None,
) -> CommandResult:
    """List the tools that you may use, those that are switched off among them."""
    session, tools, page = access.session(own=True), [], 1
    while True:
        query = {"module": in_module, "category": category, "tag": tag, "effect": effect, "enabled": enabled}
        found = session.get("/v1/tools", **query, page=page, limit=100)
        tools += found["tools"]
        if page >= found["pagination"]["totalPages"]:
            break
        page += 1
    rows = [(one["fullName"], one["effect"], one["version"], _state(one), one["description"]) for one in tools]
    drawing = render_table(("name", "effect", "version", "state", "what it does"), rows)
    return CommandResult(metadata={"tools": tools}, drawing=drawing)


tool.command("show", help="Show a tool with its parameters, examples and the state of its account.")(
    one_request("GET", TOOL_PATH, TOOL, own=True)
)


@tool.command("search")
def search_tools(access: Access, query: Annotated[str, Argument(metavar="TASK")]) -> CommandResult:
    """Find the tools that fit a task, in English or Japanese."""
    found = access.session(own=True).request("POST", "/v1/tools/search", json={"query": query})
    rows = [(f"{one['score']:.2f}", one["fullName"], one["description"]) for one in found["results"]]
    return CommandResult(metadata=found, drawing=render_table(("score", "name", "what it does"), rows))


tool.command("enable", help="Switch a tool on for the whole organization.")(
    one_request("PATCH", TOOL_PATH, TOOL, "dry_run", body=ON)
)
tool.command("disable", help="Switch a tool off for the whole organization.")(
    one_request("PATCH", TOOL_PATH, TOOL, "dry_run", body=OFF)
)


def _state(row: dict[str, Any]) -> str:
    return in_words("on" if row["enabled"] else "off")


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise CommandError("VALIDATION_ERROR", f"--header: {name} has no value.", "Write NAME:VALUE.")
    return name.strip(), value.strip()


def why(
    access: Access,
    tool: Annotated[str, Argument(metavar="MODULE.TOOL", help="The tool.")],
    user: Annotated[str, Option(metavar="USER", help="Another user, for an administrator.")] = "",
) -> CommandResult:
    """Show why a tool can or cannot be used, and who can change it."""
    found = access.session(own=not user).get("/v1/why", tool=tool, user=user)
    # After the first no, what nobody has decided is of no use to the reader.
    decided = [one for one in found["decisions"] if not (found["firstNo"] and one["verdict"] == "open")]
    rows = [[in_words(visible(str(decision[name]))) for name in _COLUMNS] for decision in decided]
    roles = [[visible(str(role[name])) for name in ("role", "rule", "mask")] for role in found["roles"]]
    tables = [render_table([name.replace("changedBy", "changed by") for name in _COLUMNS], rows)]
    tables += [render_table(("role", "refused by", "mask"), roles)] if roles else []
    return CommandResult(metadata=found, drawing="\n\n".join(tables))
