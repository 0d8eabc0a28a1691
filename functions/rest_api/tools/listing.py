"""The routes that list, describe and search tools, also as the platforms of models want them defined.

OpenAI: https://platform.openai.com/docs/guides/function-calling (chat completions, which other servers take as well)
Anthropic: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
Gemini: https://ai.google.dev/gemini-api/docs/function-calling
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from mcpist.errors import InvalidRequest
from mcpist.registry.entries import Filter, Registry, RegistryEntry
from mcpist.running.accounts import is_connected, working_services
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.parameters import parameters_of
from mcpist.tools.declare.tool import Effect, Tool
from rest_api.exchange import current
from rest_api.router import Operations, body_of
from rest_api.tools import names
from rest_api.tools.models import (
    MAX_PAGE_SIZE,
    Pagination,
    SearchHit,
    SearchRequest,
    SearchResponse,
    ToolDetail,
    ToolList,
    ToolSummary,
    ToolWithParameters,
)

router = Operations("tools")
type Platform = Literal["openai", "anthropic", "gemini"]
SCHEMA_FIELDS: Mapping[Platform, str] = {
    "openai": "parameters",
    "anthropic": "input_schema",
    "gemini": "parametersJsonSchema",
}


@router.operation("GET", "/v1/tools", "List the tools")
def list_tools(
    category: Annotated[str, Query(description="Only tools of this category")] = "",
    tag: Annotated[str, Query(description="Only tools with this tag")] = "",
    module: Annotated[str, Query(description="Only tools of this module")] = "",
    effect: Annotated[Effect | None, Query(description="Only tools with this effect")] = None,
    connected: Annotated[bool | None, Query(description="Only tools whose account works, or does not")] = None,
    enabled: Annotated[bool | None, Query(description="Only tools that are switched on, or off")] = None,
    format_: Annotated[
        Platform | None, Query(alias="format", description="Answer with this platform's own tool definitions")
    ] = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE)] = 50,
) -> ToolList:
    """List the tools that the caller may see, switched off ones among them; a format has only those switched on."""
    permissions = current().permissions
    if module:
        permissions.load_tools((module,))
    wanted = Filter(module=module, category=category, tag=tag, effect=effect, enabled=True if format_ else enabled)
    entries = list(Registry(permissions).list(wanted))
    working = working_services(permissions, entries)
    if connected is not None:
        entries = [entry for entry in entries if is_connected(entry, working) in {connected, None}]
    shown = entries[(page - 1) * limit : page * limit]
    total_pages = math.ceil(len(entries) / limit)
    return ToolList(
        tools=_definitions(permissions, format_, shown)
        if format_
        else [_listed(permissions, entry, working) for entry in shown],
        pagination=Pagination(page=page, limit=limit, total=len(entries), total_pages=total_pages),
    )


@router.operation("GET", "/v1/tools/<name>", "Describe a tool")
def get_tool(name: str) -> ToolDetail:
    """Describe a tool with its parameters, its examples and the state of its account."""
    permissions = current().permissions
    module, own_name = names.find(permissions, name)
    entry = Registry(permissions).get(f"{module}.{own_name}")
    tool = permissions.catalogue.module(module).tools[own_name]
    description, schema = _texts(permissions, tool)
    return _summary(
        ToolDetail,
        permissions,
        entry,
        working_services(permissions, [entry]),
        description=description,
        parameters=parameters_of(schema),
        input_schema=schema,
        output_fields=list(tool.shows.fields),
        examples=tool.examples,
    )


@router.operation("POST", "/v1/tools/search", "Search tools by a task")
def search_tools(body: SearchRequest) -> SearchResponse:
    """Find the tools that fit a task in words, in English or Japanese, best first."""
    if not body.query.strip():
        raise InvalidRequest(field="query", problem="Query is required")
    permissions, filters = current().permissions, body.filters
    wanted = Filter(category=filters.category, effect=filters.effect)
    found = Registry(permissions).search(body.query, wanted)
    tags = {tag.casefold() for tag in filters.tags}
    found = [(entry, score) for entry, score in found if tags <= set(map(str.casefold, entry.tags))]
    shown = found[: body.limit]
    working = working_services(permissions, [entry for entry, _ in shown])
    results = [_summary(SearchHit, permissions, entry, working, score=score) for entry, score in shown]
    return SearchResponse(query=body.query, results=results, total=len(found))


def _summary[Summary: ToolSummary](
    model: type[Summary], permissions: Permissions, entry: RegistryEntry, working: frozenset[str] | None, **more: Any
) -> Summary:
    caller = permissions.caller
    service = next(iter(entry.dependencies), "")
    return body_of(
        model,
        entry,
        name=names.rest_name(permissions, entry.module, entry.tool),
        full_name=entry.name,
        connected=is_connected(entry, working),
        connect_url=settings().connect_url(service, caller.organization, caller.user) if service else None,
        **more,
    )


def _texts(permissions: Permissions, tool: Tool) -> tuple[str, dict[str, Any]]:
    """Return a tool's description and the JSON Schema of its arguments, in the caller's language."""
    texts = permissions.translation(tool.module)
    return texts.text(tool.description), texts.schema(tool.input_schema)


def _listed(permissions: Permissions, entry: RegistryEntry, working: frozenset[str] | None) -> ToolWithParameters:
    _, schema = _texts(permissions, permissions.catalogue.module(entry.module).tools[entry.tool])
    return _summary(ToolWithParameters, permissions, entry, working, parameters=parameters_of(schema))


def _definitions(
    permissions: Permissions, platform: Platform, entries: Iterable[RegistryEntry]
) -> list[dict[str, Any]]:
    """Return tools as a request to a platform has them."""
    declared: list[dict[str, Any]] = []
    for entry in entries:
        description, schema = _texts(permissions, permissions.catalogue.module(entry.module).tools[entry.tool])
        name = names.rest_name(permissions, entry.module, entry.tool)
        declared.append({"name": name, "description": description, SCHEMA_FIELDS[platform]: schema})
    match platform:
        case "openai":
            return [{"type": "function", "function": function} for function in declared]
        case "anthropic":
            return declared
        case "gemini":  # one object holds all of them; it refuses an empty one
            return [{"functionDeclarations": declared}] if declared else []
