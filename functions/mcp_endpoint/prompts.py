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
from mcpist.running.run import recorded, run
from mcpist.tools.index import ModuleEntry, PromptEntry
from mcpist.tools.permissions import Sieve

MOST_VALUES = 100
READ_ITEMS = 100


def listed(sieve: Sieve) -> list[Prompt]:
    """The caller's prompts."""
    return [
        Prompt(
            name=f"{module.name}.{prompt.name}",
            description=prompt.description,
            arguments=[PromptArgument(**argument) for argument in prompt.arguments],
        )
        for module, prompt in _offered(sieve)
    ]


def get(exchange: Exchange, sieve: Sieve, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """What a prompt says to the model."""
    module, entry = _find(sieve, name)
    home = sieve.catalogue.module(module.name)
    if home.peers:
        with recorded(exchange.caller, module.name, "prompts/get", exchange.request):
            until = time.monotonic() + exchange.remaining
            return home.peers.say(exchange.caller, entry.name, arguments, until=until)
    prompt = home.prompts[entry.name]
    message = PromptMessage(role="user", content=TextContent(type="text", text=prompt.say(arguments)))
    return GetPromptResult(description=prompt.description, messages=[message])


def complete(
    exchange: Exchange,
    sieve: Sieve,
    reference: PromptReference | ResourceTemplateReference,
    name: str,
    value: str,
    known: Mapping[str, str],
) -> Completion:
    """The values of an argument that contain what is typed already, those that begin with it first.

    An argument with fixed values has those; else its module may name a list whose column they are. A list that cannot
    be read now completes nothing: completion is a convenience.
    """
    module, fixed = _argument(sieve, reference, name)
    values = fixed or _column(exchange, sieve, module, name, known)
    typed = value.casefold()
    found = [one for one in dict.fromkeys(values) if typed in one.casefold()]
    found.sort(key=lambda one: not one.casefold().startswith(typed))
    return Completion(values=found[:MOST_VALUES], total=len(found), has_more=len(found) > MOST_VALUES)


def _argument(
    sieve: Sieve, reference: PromptReference | ResourceTemplateReference, name: str
) -> tuple[ModuleEntry, list[str]]:
    """The module that an argument belongs to, and its values if they are fixed."""
    if isinstance(reference, PromptReference):
        module, entry = _find(sieve, reference.name)
        prompt = sieve.catalogue.module(module.name).prompts.get(entry.name)
        properties = prompt.input_schema["properties"] if prompt else {}
        return module, properties.get(name, {}).get("enum", [])
    for module in sieve.modules():
        if any(one.template == reference.uri for one in sieve.resources(module)):
            return module, []
    raise InvalidRequest(field="ref", problem=f'there is no resource template "{reference.uri}"')


def _column(exchange: Exchange, sieve: Sieve, module: ModuleEntry, name: str, known: Mapping[str, str]) -> list[str]:
    home = sieve.catalogue.module(module.name)
    if name not in home.completions:
        return []
    tool, column = home.completions[name]
    if not sieve.allows(tool):
        return []
    takes = tool.input_schema["properties"]
    arguments: dict[str, Any] = {argument: value for argument, value in known.items() if argument in takes}
    arguments |= {"limit": READ_ITEMS} if "limit" in takes else {}
    try:
        left = exchange.remaining
        brought = run(exchange.caller, home, tool, arguments, request=exchange.request, seconds=left)
    except McpistError:
        return []
    return [str(row[column]) for row in project(brought.json, tool.shows) if row[column] is not None]


def _find(sieve: Sieve, name: str) -> tuple[ModuleEntry, PromptEntry]:
    for module, prompt in _offered(sieve):
        if name == f"{module.name}.{prompt.name}":
            return module, prompt
    raise InvalidRequest(field="name", problem=f'there is no prompt "{name}"')


def _offered(sieve: Sieve) -> Iterator[tuple[ModuleEntry, PromptEntry]]:
    for module in sieve.modules():
        for prompt in sieve.prompts(module):
            yield module, prompt
