"""The two proxy tools for clients that want upstream servers' tools, by category and unchanged."""

import json
from itertools import islice
from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent, Tool
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from mcp_endpoint.arguments import JsonObject, Names
from mcp_endpoint.exchange import McpExchange
from mcp_endpoint.meta_tools.declaration import READ_ONLY_ANNOTATIONS, annotations_of, declared
from mcpist.errors import AnswerTooLarge, CategoryNotFound, ModuleNotFound, UpstreamCallError
from mcpist.render.answer import compact_json
from mcpist.running.gate import ToolUse, admit
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema import schema_of
from mcpist.tools.declare.schema_tool import UpstreamTool
from mcpist.tools.declare.tool import Tool as AnyTool
from mcpist.tools.search.index import ModuleEntry
from mcpist.validation import parse_model
from mcpist_services.catalogue import CATALOGUE

MAX_LISTED_CATEGORIES, MAX_CATEGORY_LIST_CHARACTERS = 100, 8_000  # of the list of categories
MAX_CATEGORY_CHARACTERS = 200  # of one description
MAX_RESULT_BYTES = 5_500_000  # in a Lambda response, where quotes are escaped

GET_CATEGORY_TOOLS_DESCRIPTION = (
    "The tools of a category with their JSON Schemas; toolNames gives only these. Read them before call-category-tool. "
    "Categories:\n{categories}"
)
CALL_CATEGORY_TOOL_DESCRIPTION = (
    "Run one tool of a category, in two steps: get-category-tools(category, toolNames) for its schema, then this "
    "with its name and, in args, what the schema asks for. The answer is the server's, unchanged."
)

# The names of our error codes in the answers of the proxy tools.
ERROR_NAMES = {
    "VALIDATION_ERROR": "ValidationError",
    "TOOL_DISABLED": "ToolDisabled",
    "CONFIRMATION_REQUIRED": "ConfirmationRequired",
    "MODULE_NOT_FOUND": "UnknownCategory",
    "TOOL_NOT_FOUND": "UnknownTool",
    "TIMEOUT": "UpstreamCallError",
    "TOOL_EXECUTION_ERROR": "UpstreamCallError",
    "UPSTREAM_UNAVAILABLE": "UpstreamUnavailable",
    "NOT_CONFIGURED": "UpstreamUnavailable",
    "SCHEMA_FETCH_ERROR": "SchemaFetchError",
}


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class GetCategoryToolsArguments(_Arguments):
    """The arguments of `get-category-tools`."""

    category: str
    tool_names: Annotated[Names, Field(alias="toolNames")] = []


class CallCategoryToolArguments(_Arguments):
    """The arguments of `call-category-tool`."""

    category: str
    name: str
    args: Annotated[JsonObject, WithJsonSchema({"type": "object"})] = Field(default_factory=dict)
    confirm: bool = False


REQUEST_MODELS: dict[str, type[BaseModel]] = {
    "get-category-tools": GetCategoryToolsArguments,
    "call-category-tool": CallCategoryToolArguments,
}
INPUT_SCHEMAS = {name: schema_of(model) for name, model in REQUEST_MODELS.items()}


def declare(permissions: Permissions) -> list[Tool]:
    """Return the two tools with the caller's categories, also those whose servers are down."""
    offered = _offered(permissions)
    listing = GET_CATEGORY_TOOLS_DESCRIPTION.format(categories=_format_categories(offered))
    descriptions = {"get-category-tools": (listing, READ_ONLY_ANNOTATIONS)}
    descriptions["call-category-tool"] = CALL_CATEGORY_TOOL_DESCRIPTION, annotations_of(permissions, offered)
    return declared(INPUT_SCHEMAS, descriptions)


def run_category_tool(exchange: McpExchange, name: str, arguments: dict[str, Any]) -> CallToolResult:
    """Call one of the two tools."""
    match parse_model(REQUEST_MODELS[name], arguments, schema=INPUT_SCHEMAS[name]):
        case GetCategoryToolsArguments() as request:
            return json_result(_get_tools(exchange.permissions, request))
        case CallCategoryToolArguments() as request:
            return _run_upstream_tool(exchange, request)
        case other:
            raise TypeError(other)


def _get_tools(permissions: Permissions, request: GetCategoryToolsArguments) -> dict[str, Any]:
    """Return `{tools: {name: schema}, meta: {category, sourceServer, unavailableTools?}}` for the caller."""
    entry = _category(permissions, request.category)
    home = permissions.catalogue.module(entry.name)
    allowed = [tool.name for tool in permissions.tools(entry)]
    requested = [_own_name(home, name) for name in request.tool_names] or allowed
    notes = dict(entry.notes)
    missing = notes.pop("unavailable", [])
    if request.tool_names:
        missing = [name for name in requested if name not in allowed]
    meta = {"category": entry.name, "sourceServer": notes.pop("source_server"), **notes}
    tools = {name: _schema(home.tools[name]) for name in requested if name in allowed}
    return {"tools": tools, "meta": meta | ({"unavailableTools": missing} if missing else {})}


def _schema(tool: AnyTool) -> dict[str, Any]:
    """Return a tool as its server declares it, with the configured description."""
    if not isinstance(tool, UpstreamTool):
        raise TypeError(f"{tool.module}.{tool.name} is not an upstream tool")
    fields = tool.given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: fields[key] for key in ("description", "inputSchema", "outputSchema", "annotations") if key in fields}


def _own_name(home: Module, name: str) -> str:
    """Return a tool's name in its category; clients may write it as they show it: `mcp__serena__read_file`."""
    from mcpist_services.upstream.categories import client_tool_name
    from mcpist_services.upstream.registered import label

    written = {
        client_tool_name(label(tool.server), own): own
        for own, tool in home.tools.items()
        if isinstance(tool, UpstreamTool)
    }
    return name if name in home.tools else written.get(name, name)


def _run_upstream_tool(exchange: McpExchange, request: CallCategoryToolArguments) -> CallToolResult:
    """Return the server's result unchanged, also one that says that the tool failed."""
    from mcp_endpoint.elicitation import consent_of  # `tools/list` need not wait for it

    permissions, entry = exchange.permissions, _category(exchange.permissions, request.category)
    module = permissions.catalogue.module(entry.name)
    tool, arguments = _own_name(module, request.name), request.args
    use = ToolUse(entry.name, tool, arguments, exchange.request_id)
    admitted = admit(permissions, use, consent_of(exchange.client, claimed=request.confirm))
    try:
        result = admitted.run(exchange.remaining).result
    except UpstreamCallError as error:
        if error.result is None:
            raise
        result = error.result
    if len(json.dumps(compact_json(result))) > MAX_RESULT_BYTES:
        raise AnswerTooLarge(service=request.category, limit_bytes=MAX_RESULT_BYTES)
    return CallToolResult.model_validate(result)


def _category(permissions: Permissions, name: str) -> ModuleEntry:
    """Return a category by its name; our own modules are not categories."""
    name = permissions.module_name(name)
    known = nearest(name, (category.name for category in _offered(permissions)))
    if name in CATALOGUE.names:
        raise CategoryNotFound(module=name, known=known)
    try:
        return permissions.module(name)
    except ModuleNotFound:
        raise CategoryNotFound(module=name, known=known) from None


def _offered(permissions: Permissions) -> list[ModuleEntry]:
    return [module for module in permissions.modules() if module.name not in CATALOGUE.names]


def _format_categories(offered: list[ModuleEntry]) -> str:
    """Return as many categories as fit into a description, one a line."""
    described = (f"- {one.name}: {_cut(one.description)}" for one in offered)
    lines = list(islice(described, MAX_LISTED_CATEGORIES)) or ["none"]
    while len("\n".join(lines)) > MAX_CATEGORY_LIST_CHARACTERS:
        lines.pop()
    more = len(offered) - len(lines)
    return "\n".join([*lines, *([f"and {more} more"] if offered and more else [])])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CATEGORY_CHARACTERS else f"{text[: MAX_CATEGORY_CHARACTERS - 1]}…"


def json_result(value: Any, *, is_error: bool = False) -> CallToolResult:
    """Return a value as the text of a result."""
    return CallToolResult(content=[TextContent(type="text", text=compact_json(value))], is_error=is_error)
