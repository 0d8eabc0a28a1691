"""Prompts that a caller may use, and completions for their arguments and for variables of resources."""

from collections.abc import Mapping
from typing import Any

from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

from mcp_endpoint.exchange import McpExchange
from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import project
from mcpist.running.gate import ToolUse, admit, get_upstream_prompt, require
from mcpist.tools.search.index import ModuleEntry, PromptEntry

MAX_COMPLETION_VALUES = 100
COMPLETION_READ_ITEMS = 100


def list_prompts(exchange: McpExchange, _: PaginatedRequestParams | None) -> ListPromptsResult:
    """List the caller's prompts."""
    permissions = exchange.permissions
    found = [
        Prompt(
            name=f"{module.name}.{prompt.name}",
            description=permissions.translation(module.name).text(prompt.description),
            arguments=[PromptArgument(**one) for one in permissions.translation(module.name).schema(prompt.arguments)],
        )
        for module in permissions.modules()
        for prompt in permissions.prompts(module)
    ]
    return ListPromptsResult(prompts=found)


def get(exchange: McpExchange, params: GetPromptRequestParams) -> GetPromptResult:
    """Return a prompt with its arguments filled in."""
    (module, entry), arguments = _find(exchange, params.name), params.arguments or {}
    home = exchange.permissions.catalogue.module(module.name)
    if home.upstream:
        request, seconds = exchange.request_id, exchange.remaining
        return get_upstream_prompt(exchange.permissions, module.name, entry.name, arguments, request, seconds)
    prompt = home.prompts[entry.name]
    message = PromptMessage(role="user", content=TextContent(type="text", text=prompt.render(arguments)))
    return GetPromptResult(description=prompt.description, messages=[message])


def complete(exchange: McpExchange, params: CompleteRequestParams) -> CompleteResult:
    """Return the values of an argument that contain the typed text, those that begin with it first.

    Values are those that the argument's schema lists, or a column of a list that its module names. If the list cannot
    be read there are no completions, and no error.
    """
    name, typed = params.argument.name, params.argument.value.casefold()
    module, fixed = _resolve_argument(exchange, params.ref, name)
    values = fixed or _column_values(exchange, module, name, (params.context and params.context.arguments) or {})
    matches = [match for match in dict.fromkeys(values) if typed in match.casefold()]
    matches.sort(key=lambda match: not match.casefold().startswith(typed))
    shown, has_more = matches[:MAX_COMPLETION_VALUES], len(matches) > MAX_COMPLETION_VALUES
    return CompleteResult(completion=Completion(values=shown, total=len(matches), has_more=has_more))


def _resolve_argument(
    exchange: McpExchange, reference: PromptReference | ResourceTemplateReference, name: str
) -> tuple[ModuleEntry, list[str]]:
    """Return the module that an argument belongs to, and the values that its schema lists."""
    if isinstance(reference, PromptReference):
        module, entry = _find(exchange, reference.name)
        prompt = exchange.permissions.catalogue.module(module.name).prompts.get(entry.name)
        properties = prompt.input_schema["properties"] if prompt else {}
        return module, properties.get(name, {}).get("enum", [])
    for module in exchange.permissions.modules():
        if any(resource.template == reference.uri for resource in exchange.permissions.resources(module)):
            return module, []
    raise InvalidRequest(field="ref", problem=f'there is no resource template "{reference.uri}"')


def _column_values(
    exchange: McpExchange, module: ModuleEntry, name: str, other_arguments: Mapping[str, str]
) -> list[str]:
    permissions = exchange.permissions
    home = permissions.catalogue.module(module.name)
    if name not in home.completions:
        return []
    tool, column = home.completions[name]
    if not permissions.allows(tool):
        return []
    properties = tool.input_schema["properties"]
    arguments: dict[str, Any] = {key: text for key, text in other_arguments.items() if key in properties}
    arguments |= {"limit": COMPLETION_READ_ITEMS} if "limit" in properties else {}
    try:
        use = ToolUse(module.name, tool.name, arguments, exchange.request_id)
        result = admit(permissions, use).run(exchange.remaining)
    except McpistError:
        return []
    return [str(row[column]) for row in project(result.json, tool.shows) if row[column] is not None]


def _find(exchange: McpExchange, name: str) -> tuple[ModuleEntry, PromptEntry]:
    for module in exchange.permissions.catalogue.index.modules.values():
        for prompt in module.prompts.values():
            if name == f"{module.name}.{prompt.name}":
                require(exchange.permissions, module.name, prompt, exchange.request_id)
                return module, prompt
    raise InvalidRequest(field="name", problem=f'there is no prompt "{name}"')
