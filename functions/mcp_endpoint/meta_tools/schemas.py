"""What `get_module_schema` answers: modules with their tools, resources and prompts, in the fewest tokens."""

from collections.abc import Sequence
from typing import Any

from mcpist.errors import InvalidRequest, McpistError
from mcpist.running import broker
from mcpist.tools.index import ModuleEntry, PromptEntry, ToolEntry
from mcpist.tools.paging import MAX_ITEMS
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

PAGING = f"limit?: integer = 50 (at most {MAX_ITEMS}), fetch_all?: boolean, cursor?, page_size?: integer"


def describe_modules(
    permissions: Permissions,
    modules: Sequence[str] = (),
    tools: Sequence[str] = (),
    query: str = "",
    *,
    full: bool = False,
) -> list[dict[str, Any]]:
    """The modules asked for; with a query, those with tools that fit it, and whether their accounts are connected."""
    if not modules and not query:
        known = ", ".join(module.name for module in permissions.modules())
        raise InvalidRequest(field="modules", problem=f"name at least one module ({known}), or give a query")
    permissions.catalogue.load_tools(modules)
    entries = [permissions.module(name) for name in dict.fromkeys(modules)]
    hits = [hit for hit in permissions.search(query) if not entries or hit.module in modules] if query else None
    if hits is not None:
        entries = [permissions.module(name) for name in dict.fromkeys(hit.module for hit in hits)]
    _refuse_unknown(permissions, tools, entries)
    named = {permissions.split_name(name)[1] for name in tools}
    answers = [_describe_module(permissions, entry, hits, set(entry.tools) if full else named) for entry in entries]
    return answers if hits is None else _with_connections(permissions, entries, answers)


def _refuse_unknown(permissions: Permissions, tools: Sequence[str], entries: Sequence[ModuleEntry]) -> None:
    """Raise the sieve's error for a tool that is named but in none of the modules asked for."""
    for name in tools:
        module, tool = permissions.split_name(name)
        homes = [module] if module else [home.name for home in entries if tool in home.tools]
        for home in homes or [home.name for home in entries[:1]]:
            permissions.tool(home, tool)


def _describe_module(
    permissions: Permissions, entry: ModuleEntry, hits: Sequence[ToolEntry] | None, full: set[str]
) -> dict[str, Any]:
    tools = permissions.tools(entry) if hits is None else [hit for hit in hits if hit.module == entry.name]
    answer = {
        "module": entry.name,
        "description": entry.description,
        "api_version": entry.api_version,
        "tools": [
            _full_schema(permissions.tool(entry.name, tool.name)) if tool.name in full else tool.line for tool in tools
        ],
        **entry.notes,
    }
    if any("...paging" in tool.line for tool in tools):
        answer["paging"] = PAGING
    if hits is None:
        answer["resources"] = [f"{one.template}: {one.description}" for one in permissions.resources(entry)]
        answer["prompts"] = [_prompt_line(one) for one in permissions.prompts(entry)]
    return answer


def _prompt_line(prompt: PromptEntry) -> str:
    arguments = [one["name"] if one["required"] else f"{one['name']}?" for one in prompt.arguments]
    return f"{prompt.name}({', '.join(arguments)}): {prompt.description}"


def _full_schema(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnlyHint": tool.reads,
            "destructiveHint": tool.effect == "destroys",
            "idempotentHint": tool.idempotent,
        },
        "examples": tool.examples,
        **tool.about,
    }


def _with_connections(
    permissions: Permissions, entries: Sequence[ModuleEntry], answers: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Say of each module whether its account is connected; where the broker cannot say, nothing is said."""
    services = [entry.service for entry in entries if entry.service]
    try:
        connected = broker.connected(permissions.caller, services) if services else frozenset()
    except McpistError:
        return answers
    return [
        {**answer, "connected": entry.service in connected} if entry.service else answer
        for entry, answer in zip(entries, answers, strict=True)
    ]
