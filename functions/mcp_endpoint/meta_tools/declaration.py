"""The three meta-tools: their declarations, and what each answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import Tool, ToolAnnotations

from mcp_endpoint.arguments import (
    INPUT_SCHEMAS,
    REQUEST_MODELS,
    BatchRequest,
    CallRequest,
    GetModuleSchemaRequest,
)
from mcp_endpoint.content.blocks import Part, to_parts
from mcp_endpoint.content.rendering import render
from mcp_endpoint.exchange import MAX_ANSWER_CHARACTERS, Exchange
from mcp_endpoint.meta_tools.schemas import describe_modules
from mcpist.caller import Caller
from mcpist.files.storage import truncate
from mcpist.render.answer import compact_json
from mcpist.render.contents import split_content
from mcpist.running.run import ToolResult, run
from mcpist.tools.index import ModuleEntry
from mcpist.tools.permissions import Permissions
from mcpist.validation import parse_model
from mcpist_services.catalogue import CATALOGUE

if TYPE_CHECKING:
    from mcp_endpoint.batches.batch import BatchView
    from mcp_endpoint.elicitation.confirmation import FormElicitation
    from mcp_endpoint.elicitation.connecting import UrlElicitation


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer: its parts, one a content block, and the name of the account that acted."""

    parts: Sequence[Part]
    account: str


GET_MODULE_SCHEMA_DESCRIPTION = (
    "First step: what modules offer. Tools come as one-line signatures (-> fields of the answer); "
    "name `tools`, or set full, for JSON Schemas; `query` finds tools for a task. Modules:\n{modules}"
)
CALL_DESCRIPTION = "Run one tool of a module. The answer is compact; raw_output gives the service's own JSON."
BATCH_DESCRIPTION = (
    "Run many tool calls at once. commands: JSONL, one step a line: "
    '{"id":"find","module":"m","tool":"t","params":{},"after":["id"],"output":true}. '
    "`${find.items[0].field}` in params takes a field of another step's rows and waits for it (${find.raw.path}: its "
    'own JSON); all else runs in parallel. "each":"${find.items}" runs a step per element, ${each.field}; '
    '"when":"${find.items}" only if not empty. A failed step skips what needs it, unless '
    '"on_error":"continue". Only steps with output (compact) or raw_output (JSON) come back. '
    "dry_run checks and shows the plan."
)


READ_ONLY_ANNOTATIONS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MAX_LINE_CHARACTERS = 200


def declare(caller: Caller) -> list[Tool]:
    """The meta-tools as this caller has them: the modules named, and hints as honest as the sieve allows."""
    permissions = Permissions(caller, CATALOGUE)
    modules = list(permissions.modules())
    running = annotations_of(permissions, modules)
    return [
        _declaration(
            "get_module_schema",
            GET_MODULE_SCHEMA_DESCRIPTION.format(modules=format_modules(modules)),
            READ_ONLY_ANNOTATIONS,
        ),
        _declaration("call", CALL_DESCRIPTION, running),
        _declaration("batch", BATCH_DESCRIPTION, running),
    ]


def format_modules(modules: Iterable[ModuleEntry]) -> str:
    """Modules with their descriptions, a line each."""
    said = [(module.name, module.description) for module in modules]
    texts = [
        f"- {name}: {text if len(text) <= MAX_LINE_CHARACTERS else f'{text[: MAX_LINE_CHARACTERS - 1]}…'}"
        for name, text in said
    ]
    return "\n".join(texts) or "none"


def annotations_of(permissions: Permissions, modules: Iterable[ModuleEntry]) -> ToolAnnotations:
    """What running any of the caller's tools may do; of a module whose tools nobody knows yet, the worst."""
    effects: set[str] = set()
    for module in modules:
        effects |= {tool.effect for tool in permissions.tools(module)} if module.listed else {"destroys"}
    return ToolAnnotations(
        read_only_hint=effects <= {"reads"},
        destructive_hint="destroys" in effects,
        idempotent_hint=effects <= {"reads"},
        open_world_hint=True,
    )


def call_tool(
    exchange: Exchange, name: str, arguments: dict[str, Any]
) -> "Sequence[Part] | ToolAnswer | BatchView | FormElicitation | UrlElicitation":
    """The parts that a meta-tool answers, one a content block, or what a batch has instead of them.

    A McpistError says why it cannot.
    """
    permissions = Permissions(exchange.caller, CATALOGUE)
    match parse_model(REQUEST_MODELS[name], arguments, schema=INPUT_SCHEMAS[name]):
        case GetModuleSchemaRequest() as request:
            found = describe_modules(permissions, request.modules, request.tools, request.query, full=request.full)
            return [compact_json({"modules": found})]
        case CallRequest() as request:
            return _call(exchange, permissions, request)
        case BatchRequest() as request:
            from mcp_endpoint.batches import batch  # only a batch waits for what plans and starts it

            return batch.run_batch(exchange, permissions, request)
        case other:
            raise TypeError(other)


def _call(exchange: Exchange, permissions: Permissions, request: CallRequest) -> "ToolAnswer | UrlElicitation":
    """The answer, of a list that was cut a second text on how to go on, and what a server brought besides text."""
    from mcp_endpoint.elicitation.connecting import (  # a list of the tools does not wait for it
        UrlElicitation,
        run_or_elicit,
    )

    tool = permissions.tool(request.module, request.tool)
    module = permissions.catalogue.module(request.module)
    caller, request_id, options = exchange.caller, exchange.request_id, request.options

    def bring() -> ToolResult:
        seconds = exchange.remaining
        return run(caller, module, tool, request.params, request=request_id, seconds=seconds, options=options)

    brought = run_or_elicit(exchange, [request.module, request.tool, request.params], bring)
    if isinstance(brought, UrlElicitation):
        return brought
    value, blocks = split_content(brought.json)
    text = compact_json(value) if request.raw_output else render(value, tool.shows)
    texts = (
        []
        if value is None and blocks
        else [truncate(caller.organization, text, MAX_ANSWER_CHARACTERS - len(brought.more))]
    )
    return ToolAnswer([*texts, *filter(None, [brought.more]), *to_parts(caller.organization, blocks)], brought.account)


def _declaration(name: str, description: str, annotations: ToolAnnotations) -> Tool:
    return Tool(name=name, description=description, input_schema=INPUT_SCHEMAS[name], annotations=annotations)
