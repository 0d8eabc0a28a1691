"""The three meta-tools: their declarations and their answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import InputRequiredResult, Tool, ToolAnnotations

from mcp_endpoint.arguments import (
    INPUT_SCHEMAS,
    REQUEST_MODELS,
    BatchArguments,
    CallArguments,
    GetModuleSchemaArguments,
)
from mcp_endpoint.blocks import Part, file_link, render, to_parts, tokens_of
from mcp_endpoint.exchange import McpExchange, RanCall
from mcp_endpoint.meta_tools.schemas import describe_modules
from mcpist.caller import Caller
from mcpist.files.answers import content_of, describe_file
from mcpist.render.answer import compact_json, estimate_tokens, fitting_characters
from mcpist.render.contents import split_content
from mcpist.render.shows import Shows
from mcpist.running.gate import ToolUse, answering
from mcpist.running.options import UNDO_TOOL
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.index import ModuleEntry
from mcpist.validation import parse_model

if TYPE_CHECKING:
    from mcp_endpoint.batch import BatchAnswer


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool that `call` ran."""

    parts: Sequence[Part]
    """One for each content block."""
    account: str
    """The name of the account that acted; empty if none was needed."""


type MetaAnswer = Sequence[Part] | ToolAnswer | BatchAnswer | InputRequiredResult
"""The parts of an answer, the state of a batch, or an address to open first."""

GET_MODULE_SCHEMA_DESCRIPTION = (
    "First: what modules offer. Tools come as one-line signatures (-> fields of the answer); name `tools`, or "
    "set full, for JSON Schemas; `query` finds tools for a task. Without arguments it lists the {modules}"
)
NOTHING_FOUND = (
    "No tool has these words. Use others, or name modules to see their tools; without arguments all are listed."
)
CALL_DESCRIPTION = "Run one tool. The answer is compact; raw_output: the service's own JSON."
BATCH_DESCRIPTION = (
    "Run many tool calls at once. commands: JSONL, one step a line: "
    '{"id":"find","module":"m","tool":"t","params":{},"after":["id"],"output":true}. '
    "`${find.items[0].field}` in params takes a field of another step's rows and waits for it (${find.raw.path}: its "
    'own JSON); all else runs in parallel. "each":"${find.items}" runs a step per element, ${each.field}; '
    '"when":"${find.items}" only if not empty. A failed step skips what needs it, unless '
    '"on_error":"continue". Only steps with output (compact) or raw_output (JSON) come back. '
    "dry_run shows the plan."
)


READ_ONLY_ANNOTATIONS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MAX_NAMES_CHARACTERS = 240  # of the names that the description of a meta-tool has, whatever number of modules there is


def declare(permissions: Permissions) -> list[Tool]:
    """Return the meta-tools for a caller, with its modules and with hints for the tools that it may run."""
    modules = list(permissions.modules())
    running = annotations_of(permissions, modules)
    listing = GET_MODULE_SCHEMA_DESCRIPTION.format(modules=count_modules(modules))
    descriptions = {"get_module_schema": (listing, READ_ONLY_ANNOTATIONS), "call": (CALL_DESCRIPTION, running)}
    return declared(INPUT_SCHEMAS, descriptions | {"batch": (BATCH_DESCRIPTION, running)})


def declared(schemas: Mapping[str, Any], described: Mapping[str, tuple[str, ToolAnnotations]]) -> list[Tool]:
    """Return tools by their names, with their descriptions and hints."""
    return [
        Tool(name=name, description=text, input_schema=schemas[name], annotations=hints)
        for name, (text, hints) in described.items()
    ]


def count_modules(modules: Sequence[ModuleEntry]) -> str:
    """Return e.g. `40 modules: files, ... and 39 more`, with as many names as a description has room for."""
    names = [module.name for module in modules]
    while len(", ".join(names)) > MAX_NAMES_CHARACTERS:
        names.pop()
    more = len(modules) - len(names)
    named = f": {', '.join(names)}" if names else ""
    return f"{len(modules)} modules{named}" + (f" and {more} more" if more else "")


def annotations_of(permissions: Permissions, modules: Iterable[ModuleEntry]) -> ToolAnnotations:
    """Return hints for running any tool of the modules; a module whose tools are not known yet may destroy.

    A request that may only read cannot, whatever tools a server will list.
    """
    effects: set[str] = set()
    modules = () if permissions.caller.reading_only else modules
    # A saved batch does no more than the caller's other tools.
    modules = [module for module in modules if module.kind != "saved"]
    for module in modules:
        effects |= {tool.effect for tool in permissions.tools(module)} if module.listed else {"destroys"}
    return ToolAnnotations(
        read_only_hint=effects <= {"reads"},
        destructive_hint="destroys" in effects,
        idempotent_hint=effects <= {"reads"},
        open_world_hint=True,
    )


def run_meta_tool(exchange: McpExchange, name: str, arguments: dict[str, Any]) -> MetaAnswer:
    """Call a meta-tool."""
    match parse_model(REQUEST_MODELS[name], arguments, schema=INPUT_SCHEMAS[name]):
        case GetModuleSchemaArguments() as request:
            asked = request.modules, request.tools, request.query
            modules = describe_modules(exchange.permissions, *asked, full=request.full)
            unfound = {} if modules or not request.query else {"note": NOTHING_FOUND}
            return [compact_json({"modules": modules, **unfound})]
        case CallArguments() as request:
            return _run_tool(exchange, request)
        case BatchArguments() as request:
            from mcp_endpoint import batch

            ran = batch.run_batch(exchange, request)
            return answer_of(exchange.caller, ran) if isinstance(ran, RanCall) else ran
        case other:
            raise TypeError(other)


def _run_tool(exchange: McpExchange, request: CallArguments) -> MetaAnswer:
    """Run one tool, or show what it would do; a truncated list has a second part, and other blocks follow."""
    # `tools/list` need not wait for it.
    from mcp_endpoint.elicitation import consent_of, run_or_elicit
    from mcpist.running.preview import preview

    permissions, consent = exchange.permissions, consent_of(exchange.client, claimed=request.confirm)
    module, tool = permissions.names(request.module, request.tool)
    entry = permissions.catalogue.index.modules.get(module)
    runs_as_batch = entry and (entry.kind == "saved" or (module, tool) == UNDO_TOOL)
    if runs_as_batch and (ran := _run_as_batch(exchange, module, tool, request)):
        return ran
    use = ToolUse(
        module,
        tool,
        request.params,
        exchange.request_id,
        options=request.options,
        raw_output=request.raw_output,
    )

    if request.dry_run:
        return [compact_json(preview(permissions, use, exchange.remaining))]
    called = run_or_elicit(exchange, use.subject, lambda: RanCall.of(exchange, use, consent))
    return answer_of(exchange.caller, called) if isinstance(called, RanCall) else called


def _run_as_batch(exchange: McpExchange, module: str, tool: str, request: CallArguments) -> MetaAnswer | None:
    """Run a saved batch as a batch of one step, or an undo; None for a tool that is neither."""
    from mcp_endpoint import batch
    from mcpist.batch.execution.undo import asked_undo
    from mcpist.batch.saved.expansion import call_line

    permissions = exchange.permissions
    undo = asked_undo(permissions, module, tool, request.params, exchange.request_id)
    line = None if undo else call_line(permissions, module, tool, request.params, request.options)
    if line:
        line["raw_output"] = request.raw_output
    elif not undo:
        return None
    said = request.options.model_dump(include={"max_tokens", "format", "undoable"}) | {"dry_run": request.dry_run}
    described: dict[str, Any] = undo or {"commands": [line]}
    ran = batch.run_batch(exchange, BatchArguments(**described, confirm=request.confirm, **said))
    return None if isinstance(ran, RanCall) else ran


def answer_of(caller: Caller, ran: RanCall) -> ToolAnswer:
    """Return the answer to a call that has run."""
    use, result, (value, blocks) = ran.use, ran.result, split_content(ran.result.json)
    with answering(ran.tool):
        left = use.options.max_tokens - estimate_tokens(result.more)
        shown = [] if value is None and (blocks or result.more) else _shown(caller, ran.tool.shows, value, use, left)
        parts = to_parts(caller, blocks, max_tokens=left - tokens_of(shown))
        return ToolAnswer([*shown, *filter(None, [result.more]), *parts], result.account)


def _shown(caller: Caller, shows: Shows, value: Any, use: ToolUse, max_tokens: int) -> list[Part]:
    """Return a result as the model reads it: compact or raw, or a file where it is too large or is asked for.

    A tool that stores a file has named it already.
    """
    text = compact_json(value) if use.raw_output else render(value, shows, use.options.format or caller.answer_format)
    if stored := shows.stored_file(value):
        return [text, file_link(stored)]
    if estimate_tokens(text) <= max_tokens and not use.options.as_file:
        return [text]
    made = content_of(value, shows, use.tool, raw_output=use.raw_output)
    shown, file = describe_file(caller, made, fitting_characters(text, max_tokens))
    return [shown, file_link(file.reference.model_dump())]
