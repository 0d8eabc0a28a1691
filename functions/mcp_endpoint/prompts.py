"""Prompts, and the values that their arguments and the variables of resources can take, under the same sieve."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_types import (
    Completion,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

from mcp_endpoint.exchange import Exchange
from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.project import project
from mcpist.running.run import audited, run
from mcpist.tools.index import ModuleEntry, PromptEntry
from mcpist.tools.permissions import Permissions

MAX_COMPLETION_VALUES = 100
COMPLETION_READ_ITEMS = 100


def list_prompts(permissions: Permissions) -> list[Prompt]:
    """The caller's prompts."""
    return [
        Prompt(
            name=f"{module.name}.{prompt.name}",
            description=prompt.description,
            arguments=[PromptArgument(**argument) for argument in prompt.arguments],
        )
        for module, prompt in _offered(permissions)
    ]


def get(exchange: Exchange, permissions: Permissions, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """What a prompt says to the model."""
    module, entry = _find(permissions, name)
    home = permissions.catalogue.module(module.name)
    if home.upstream:
        with audited(exchange.caller, module.name, "prompts/get", exchange.request_id):
            deadline = time.monotonic() + exchange.remaining
            return home.upstream.get_prompt(exchange.caller, entry.name, arguments, deadline=deadline)
    prompt = home.prompts[entry.name]
    message = PromptMessage(role="user", content=TextContent(type="text", text=prompt.render(arguments)))
    return GetPromptResult(description=prompt.description, messages=[message])


def complete(
    exchange: Exchange,
    permissions: Permissions,
    reference: PromptReference | ResourceTemplateReference,
    name: str,
    value: str,
    known: Mapping[str, str],
) -> Completion:
    """The values of an argument that contain what is typed already, those that begin with it first.

    An argument with fixed values has those; else its module may name a list whose column they are. A list that cannot
    be read now completes nothing: completion is a convenience.
    """
    module, fixed = _resolve_argument(permissions, reference, name)
    values = fixed or _column_values(exchange, permissions, module, name, known)
    typed = value.casefold()
    found = [one for one in dict.fromkeys(values) if typed in one.casefold()]
    found.sort(key=lambda one: not one.casefold().startswith(typed))
    return Completion(
        values=found[:MAX_COMPLETION_VALUES], total=len(found), has_more=len(found) > MAX_COMPLETION_VALUES
    )


def _resolve_argument(
    permissions: Permissions, reference: PromptReference | ResourceTemplateReference, name: str
) -> tuple[ModuleEntry, list[str]]:
    """The module that an argument belongs to, and its values if they are fixed."""
    if isinstance(reference, PromptReference):
        module, entry = _find(permissions, reference.name)
        prompt = permissions.catalogue.module(module.name).prompts.get(entry.name)
        properties = prompt.input_schema["properties"] if prompt else {}
        return module, properties.get(name, {}).get("enum", [])
    for module in permissions.modules():
        if any(one.template == reference.uri for one in permissions.resources(module)):
            return module, []
    raise InvalidRequest(field="ref", problem=f'there is no resource template "{reference.uri}"')


def _column_values(
    exchange: Exchange, permissions: Permissions, module: ModuleEntry, name: str, known: Mapping[str, str]
) -> list[str]:
    home = permissions.catalogue.module(module.name)
    if name not in home.completions:
        return []
    tool, column = home.completions[name]
    if not permissions.allows(tool):
        return []
    takes = tool.input_schema["properties"]
    arguments: dict[str, Any] = {argument: value for argument, value in known.items() if argument in takes}
    arguments |= {"limit": COMPLETION_READ_ITEMS} if "limit" in takes else {}
    try:
        left = exchange.remaining
        brought = run(exchange.caller, home, tool, arguments, request=exchange.request_id, seconds=left)
    except McpistError:
        return []
    return [str(row[column]) for row in project(brought.json, tool.shows) if row[column] is not None]


def _find(permissions: Permissions, name: str) -> tuple[ModuleEntry, PromptEntry]:
    for module, prompt in _offered(permissions):
        if name == f"{module.name}.{prompt.name}":
            return module, prompt
    raise InvalidRequest(field="name", problem=f'there is no prompt "{name}"')


def _offered(permissions: Permissions) -> Iterator[tuple[ModuleEntry, PromptEntry]]:
    for module in permissions.modules():
        for prompt in permissions.prompts(module):
            yield module, prompt
