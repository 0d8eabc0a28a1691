"""The two proxy tools for clients that only want upstream servers' tools, by category, as they are."""

import json
from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent, Tool
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from mcp_endpoint.exchange import Exchange
from mcp_endpoint.meta_tools import READING, hints_of, lines
from mcpist.caller import Caller
from mcpist.errors import AnswerTooLarge, InvalidRequest, McpistError, ModuleNotFound, UpstreamCallError
from mcpist.render.answer import minified
from mcpist.running.run import run
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import ERRORS
from mcpist.tools.catalogue import nearest
from mcpist.tools.index import ModuleEntry
from mcpist.tools.module import Module
from mcpist.tools.permissions import Sieve
from mcpist.tools.proxied import GivenTool
from mcpist.tools.schema import schema_of
from mcpist.tools.tool import Tool as AnyTool
from mcpist.validation import parsed
from mcpist_services import CATALOGUE

MOST_LINES, MOST_CHARACTERS = 100, 8_000  # of the list of categories
MOST_RESULT_BYTES = 5_500_000  # as an invocation answers it, where quotes are escaped

GET = (
    "The tools of a category with their JSON Schemas; toolNames gives only these. Read them before call-category-tool. "
    "Categories:\n{categories}"
)
CALL = "Run one tool of a category with the arguments that its schema asks for; the answer is the server's own."

# What the errors of the proxy tools are called.
NAMES = {
    "VALIDATION_ERROR": "ValidationError",
    "TOOL_DISABLED": "ToolDisabled",
    "MODULE_NOT_FOUND": "UnknownCategory",
    "TOOL_NOT_FOUND": "UnknownTool",
    "TIMEOUT": "UpstreamCallError",
    "TOOL_EXECUTION_ERROR": "UpstreamCallError",
    "UPSTREAM_UNAVAILABLE": "UpstreamUnavailable",
    "SCHEMA_FETCH_ERROR": "SchemaFetchError",
}


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class GetCategoryTools(_Arguments):
    """The arguments of `get-category-tools`."""

    category: str
    tool_names: Annotated[list[str], Field(alias="toolNames")] = []


class CallCategoryTool(_Arguments):
    """The arguments of `call-category-tool`; some clients write `args` as a text of JSON."""

    category: str
    name: str
    args: Annotated[dict[str, Any] | str, WithJsonSchema({"type": "object"})] = Field(default_factory=dict)


ARGUMENTS: dict[str, type[BaseModel]] = {
    "get-category-tools": GetCategoryTools,
    "call-category-tool": CallCategoryTool,
}
SCHEMAS = {name: schema_of(model) for name, model in ARGUMENTS.items()}


def declare(caller: Caller) -> list[Tool]:
    """The two tools, with the caller's categories named: also those whose servers are down."""
    sieve = Sieve(caller, CATALOGUE)
    offered = _offered(sieve)
    hints = {"get-category-tools": READING, "call-category-tool": hints_of(sieve, offered)}
    said = {"get-category-tools": GET.format(categories=_bounded(offered)), "call-category-tool": CALL}
    return [
        Tool(name=name, description=said[name], input_schema=SCHEMAS[name], annotations=hints[name]) for name in SCHEMAS
    ]


def answer(exchange: Exchange, name: str, arguments: dict[str, Any]) -> CallToolResult:
    """What one of the two tools answers; an error has the name that it has here."""
    try:
        sieve = Sieve(exchange.caller, CATALOGUE)
        match parsed(ARGUMENTS[name], arguments, schema=SCHEMAS[name]):
            case GetCategoryTools() as asked:
                return _result(_tools(sieve, asked))
            case CallCategoryTool() as asked:
                return _call(exchange, sieve, asked)
            case other:
                raise TypeError(other)
    except McpistError as error:
        return failure(exchange, error)


def failure(exchange: Exchange, error: McpistError) -> CallToolResult:
    """An error as the two tools tell it."""
    count(ERRORS, by=error.code)
    told = error.as_dict(exchange.caller.locale)
    return _result({**told, "code": NAMES.get(error.code, error.code)}, is_error=True)


def _tools(sieve: Sieve, asked: GetCategoryTools) -> dict[str, Any]:
    """`{tools: {name: schema}, meta: {category, sourceServer, unavailableTools?}}`, of what the caller may run."""
    entry = _category(sieve, asked.category)
    home = sieve.catalogue.module(entry.name)
    mine = [tool.name for tool in sieve.tools(entry)]
    named = [_own_name(home, name) for name in asked.tool_names] or mine
    notes = dict(entry.notes)
    missing = notes.pop("unavailable", [])
    if asked.tool_names:
        missing = [name for name in named if name not in mine]
    meta = {"category": entry.name, "sourceServer": notes.pop("source_server"), **notes}
    tools = {name: _schema(home.tools[name]) for name in named if name in mine}
    return {"tools": tools, "meta": meta | ({"unavailableTools": missing} if missing else {})}


def _schema(tool: AnyTool) -> dict[str, Any]:
    """A tool as its server declares it, with the description that the configuration gives it."""
    if not isinstance(tool, GivenTool):
        raise TypeError(f"{tool.module}.{tool.name} is no server's")
    told = tool.given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: told[key] for key in ("description", "inputSchema", "outputSchema", "annotations") if key in told}


def _own_name(home: Module, name: str) -> str:
    """A tool's name in its category, also where it is written as clients show it: `mcp__serena__read_file`."""
    from mcpist_services.upstream.categories import shown

    written = {shown(tool.server, own): own for own, tool in home.tools.items() if isinstance(tool, GivenTool)}
    return name if name in home.tools else written.get(name, name)


def _call(exchange: Exchange, sieve: Sieve, asked: CallCategoryTool) -> CallToolResult:
    """The server's own result, also one that says that the tool failed."""
    entry = _category(sieve, asked.category)
    module = sieve.catalogue.module(entry.name)
    tool = sieve.tool(entry.name, _own_name(module, asked.name))
    arguments = _arguments(asked.args)
    try:
        brought = run(exchange.caller, module, tool, arguments, request=exchange.request, seconds=exchange.remaining)
        result = brought.result
    except UpstreamCallError as error:
        if error.result is None:
            raise
        result = error.result
    if len(json.dumps(minified(result))) > MOST_RESULT_BYTES:
        raise AnswerTooLarge(service=asked.category, limit_bytes=MOST_RESULT_BYTES)
    return CallToolResult.model_validate(result)


def _arguments(args: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(args, dict):
        return args
    try:
        found = json.loads(args or "{}")
    except ValueError as error:
        raise InvalidRequest(field="args", problem=f"it is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise InvalidRequest(field="args", problem="it is no JSON object")
    return found


def _category(sieve: Sieve, name: str) -> ModuleEntry:
    """A category by its name: our own modules are none."""
    known = nearest(name, (one.name for one in _offered(sieve)))
    if name in CATALOGUE.names:
        raise ModuleNotFound(module=name, known=known)
    try:
        return sieve.module(name)
    except ModuleNotFound:
        raise ModuleNotFound(module=name, known=known) from None


def _offered(sieve: Sieve) -> list[ModuleEntry]:
    return [module for module in sieve.modules() if module.name not in CATALOGUE.names]


def _bounded(offered: list[ModuleEntry]) -> str:
    """The categories, a line each, as many as a description may hold."""
    shown = lines(offered).split("\n")[:MOST_LINES]
    while len("\n".join(shown)) > MOST_CHARACTERS:
        shown.pop()
    more = len(offered) - len(shown)
    return "\n".join([*shown, *([f"and {more} more"] if offered and more else [])])


def _result(found: Any, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=minified(found))], is_error=is_error)
