"""The answer of `get_module_schema`: modules with their tools, resources and prompts, in few tokens."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mcpist.errors import InvalidRequest, McpistError
from mcpist.running import broker
from mcpist.running.accounts import labelled_accounts
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.argument_types import LEGENDS
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.index import MARKS_LEGEND, ModuleEntry, PromptEntry, ResourceEntry, ToolEntry
from mcpist.tools.search.translation import Translation

ACCOUNTS_LEGEND = "options.account of call, account of a step"
PAGING = f"limit?: integer = 50 (at most {MAX_ITEMS}), fetch_all?: boolean, cursor?, page_size?: integer"


def describe_modules(
    permissions: Permissions,
    modules: Sequence[str] = (),
    tools: Sequence[str] = (),
    query: str = "",
    *,
    full: bool = False,
) -> list[dict[str, Any]]:
    """Return the named modules; with a query those with matching tools, and whether their accounts are connected.

    Without any of both, return the list of all modules. A named module that cannot answer is `{module, error}` beside
    the others; the error is raised if none can.
    """
    modules = [permissions.module_name(name) for name in modules]
    if not modules and not query:
        modules = list(filter(None, (permissions.split_name(name)[0] for name in tools)))
    if not modules and not query:
        if tools or full:
            raise InvalidRequest(field="modules", problem="name the modules of these tools")
        return [_summarize_module(permissions, entry) for entry in permissions.modules()]
    permissions.load_tools(modules)
    entries, failed = _find_modules(permissions, modules)
    hits = [hit for hit in permissions.search(query) if not entries or hit.module in modules] if query else None
    if hits is not None:
        entries = [permissions.module(name) for name in dict.fromkeys(hit.module for hit in hits)]
    _refuse_unknown(permissions, tools, entries, failed)
    tool_names = {permissions.split_name(name)[1] for name in tools}
    answers = [
        _describe_module(permissions, entry, hits, set(entry.tools) if full else tool_names) for entry in entries
    ]
    answers = _with_connections(permissions, entries, answers, searched=hits is not None)
    answers = _with_own_skills(permissions, answers, query) if query else answers
    locale = permissions.caller.locale
    return answers + [{"module": name, "error": error.as_dict(locale)} for name, error in failed.items()]


def _with_own_skills(permissions: Permissions, answers: list[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    """Return the modules, each with the organization's own skills that fit the task."""
    from mcpist_services.skills import own_skills_for

    by_name = {answer["module"]: answer for answer in answers}
    for module, found in own_skills_for(task, permissions, by_name.keys()).items():
        answer = by_name.setdefault(module, {"module": module})
        answer["skills"] = [*answer.get("skills", ()), *(skill.line for skill in found)]
    return list(by_name.values())


def _summarize_module(permissions: Permissions, entry: ModuleEntry) -> dict[str, Any]:
    """Return a module with the number of its tools, where that is known without asking a server."""
    known = {"tools": len(permissions.tools(entry))} if entry.listed else {}
    description = permissions.translation(entry.name).text(entry.description)
    return {"module": entry.name, "description": description, **known}


def _find_modules(
    permissions: Permissions, names: Sequence[str]
) -> tuple[list[ModuleEntry], Mapping[str, McpistError]]:
    """Return the modules that can answer, and the errors of the others; raise the first error if none can."""
    entries: list[ModuleEntry] = []
    failed: dict[str, McpistError] = {}
    for name in dict.fromkeys(names):
        try:
            entries.append(permissions.module(name))
        except McpistError as error:
            failed[name] = error
    if failed and not entries:
        raise next(iter(failed.values()))
    return entries, failed


def _refuse_unknown(
    permissions: Permissions, tools: Sequence[str], entries: Sequence[ModuleEntry], failed: Collection[str]
) -> None:
    """Raise the error of a tool that is in none of the named modules, or that the caller may not use."""
    for name in tools:
        module, tool = permissions.split_name(name)
        homes = [module] if module else [home.name for home in entries if tool in home.tools]
        for home in homes or [home.name for home in entries[:1] if not failed]:
            if home not in failed:
                permissions.tool(home, tool)


def _describe_module(
    permissions: Permissions, entry: ModuleEntry, hits: Sequence[ToolEntry] | None, full: set[str]
) -> dict[str, Any]:
    tools = permissions.tools(entry) if hits is None else [hit for hit in hits if hit.module == entry.name]
    translation = permissions.translation(entry.name)
    answer = {
        "module": entry.name,
        "description": translation.text(entry.description),
        "api_version": entry.api_version,
        "tools": [
            _full_schema(permissions.tool(entry.name, tool.name), translation)
            if tool.name in full
            else tool.line(translation)
            for tool in tools
        ],
        **entry.notes,
    }
    if any("...paging" in tool.signature for tool in tools):
        answer["paging"] = PAGING
    listed = [tool for tool in tools if tool.name not in full]
    if formats := {name: LEGENDS[name] for name in LEGENDS if any(f": {name}" in tool.signature for tool in listed)}:
        answer["formats"] = formats
    if not all(tool.reads for tool in listed):
        answer["marks"] = MARKS_LEGEND
    from mcpist_services.skills import skills_about  # tools/list need not wait for it

    if about := skills_about(entry.name, permissions):
        answer["skills"] = [skill.line for skill in about]
    if hits is None:
        resource, prompt = (
            (_full_resource, _full_prompt) if full >= set(entry.tools) else (_resource_line, _prompt_line)
        )
        answer["resources"] = [resource(one, translation) for one in permissions.resources(entry)]
        answer["prompts"] = [prompt(one, translation) for one in permissions.prompts(entry)]
    return answer


def _resource_line(resource: ResourceEntry, translation: Translation) -> str:
    return f"{resource.template}: {translation.text(resource.description)}"


def _full_resource(resource: ResourceEntry, translation: Translation) -> dict[str, Any]:
    return {
        "name": resource.name,
        "uriTemplate": resource.template,
        "description": translation.text(resource.description),
        "mimeType": resource.mime_type,
    }


def _full_prompt(prompt: PromptEntry, translation: Translation) -> dict[str, Any]:
    described = [
        {**one, "description": translation.text(one["description"])} if "description" in one else one
        for one in prompt.arguments
    ]
    return {"name": prompt.name, "description": translation.text(prompt.description), "arguments": described}


def _prompt_line(prompt: PromptEntry, translation: Translation) -> str:
    arguments = [f"{argument['name']}{'' if argument['required'] else '?'}" for argument in prompt.arguments]
    return f"{prompt.name}({', '.join(arguments)}): {translation.text(prompt.description)}"


def _full_schema(tool: Tool, translation: Translation) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": translation.text(tool.description),
        "inputSchema": translation.schema(tool.input_schema),
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnlyHint": tool.reads,
            "destructiveHint": tool.effect == "destroys",
            "idempotentHint": tool.idempotent,
        },
        "examples": [{**one, "description": translation.text(one["description"])} for one in tool.examples],
        **tool.about,
    }


def _with_connections(
    permissions: Permissions, entries: Sequence[ModuleEntry], answers: list[dict[str, Any]], *, searched: bool
) -> list[dict[str, Any]]:
    """Add to each module the accounts of which a call can name one, if the broker can tell.

    To one that was searched for, also whether an account is connected.
    """
    services = [entry.service for entry in entries if entry.service]
    try:
        rows = broker.known_accounts(permissions.caller, services) if services else []
    except McpistError:
        return answers
    working = {row["service"] for row in rows if row["acts"] and row["usable"]}
    for entry, answer in zip(entries, answers, strict=True):
        if entry.service and searched:
            answer["connected"] = entry.service in working
        if several := labelled_accounts(permissions.caller, (row for row in rows if row["service"] == entry.service)):
            answer["accounts"] = {"labels": several, "named_by": ACCOUNTS_LEGEND}
    return answers
