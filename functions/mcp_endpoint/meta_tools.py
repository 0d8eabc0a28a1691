"""The three meta-tools: their declarations, and what each answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import Tool, ToolAnnotations

from mcp_endpoint.arguments import ARGUMENTS, SCHEMAS, Batch, Call, GetModuleSchema
from mcp_endpoint.blocks import Part, shown
from mcp_endpoint.exchange import MOST_CHARACTERS, Exchange
from mcp_endpoint.rendering import rendered
from mcp_endpoint.schemas import schemas
from mcpist.caller import Caller
from mcpist.files.storage import fit
from mcpist.render.answer import minified
from mcpist.render.contents import parted
from mcpist.running.run import Brought, run
from mcpist.tools.index import ModuleEntry
from mcpist.tools.permissions import Sieve
from mcpist.validation import parsed
from mcpist_services import CATALOGUE

if TYPE_CHECKING:
    from mcp_endpoint.batches import Shown
    from mcp_endpoint.confirmation import Question
    from mcp_endpoint.connecting import Invitation


@dataclass(frozen=True, slots=True)
class Told:
    """A tool's answer: its parts, one a content block, and the name of the account that acted."""

    parts: Sequence[Part]
    account: str


GET_MODULE_SCHEMA = (
    "First step: what modules offer. Tools come as one-line signatures (-> fields of the answer); "
    "name `tools`, or set full, for JSON Schemas; `query` finds tools for a task. Modules:\n{modules}"
)
CALL = "Run one tool of a module. The answer is compact; raw_output gives the service's own JSON."
BATCH = (
    "Run many tool calls at once. commands: JSONL, one step a line: "
    '{"id":"find","module":"m","tool":"t","params":{},"after":["id"],"output":true}. '
    "`${find.items[0].field}` in params takes a field of another step's rows and waits for it (${find.raw.path}: its "
    'own JSON); all else runs in parallel. "each":"${find.items}" runs a step per element, ${each.field}; '
    '"when":"${find.items}" only if not empty. A failed step skips what needs it, unless '
    '"on_error":"continue". Only steps with output (compact) or raw_output (JSON) come back. '
    "dry_run checks and shows the plan."
)


READING = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
MOST_LINE = 200


def declare(caller: Caller) -> list[Tool]:
    """The meta-tools as this caller has them: the modules named, and hints as honest as the sieve allows."""
    sieve = Sieve(caller, CATALOGUE)
    modules = list(sieve.modules())
    running = hints_of(sieve, modules)
    return [
        _declaration("get_module_schema", GET_MODULE_SCHEMA.format(modules=lines(modules)), READING),
        _declaration("call", CALL, running),
        _declaration("batch", BATCH, running),
    ]


def lines(modules: Iterable[ModuleEntry]) -> str:
    """Modules with their descriptions, a line each."""
    said = [(module.name, module.description) for module in modules]
    texts = [f"- {name}: {text if len(text) <= MOST_LINE else f'{text[: MOST_LINE - 1]}…'}" for name, text in said]
    return "\n".join(texts) or "none"


def hints_of(sieve: Sieve, modules: Iterable[ModuleEntry]) -> ToolAnnotations:
    """What running any of the caller's tools may do; of a module whose tools nobody knows yet, the worst."""
    effects: set[str] = set()
    for module in modules:
        effects |= {tool.effect for tool in sieve.tools(module)} if module.listed else {"destroys"}
    return ToolAnnotations(
        read_only_hint=effects <= {"reads"},
        destructive_hint="destroys" in effects,
        idempotent_hint=effects <= {"reads"},
        open_world_hint=True,
    )


def answer(
    exchange: Exchange, name: str, arguments: dict[str, Any]
) -> "Sequence[Part] | Told | Shown | Question | Invitation":
    """The parts that a meta-tool answers, one a content block, or what a batch has instead of them.

    A McpistError says why it cannot.
    """
    sieve = Sieve(exchange.caller, CATALOGUE)
    match parsed(ARGUMENTS[name], arguments, schema=SCHEMAS[name]):
        case GetModuleSchema() as asked:
            found = schemas(sieve, asked.modules, asked.tools, asked.query, full=asked.full)
            return [minified({"modules": found})]
        case Call() as asked:
            return _call(exchange, sieve, asked)
        case Batch() as asked:
            from mcp_endpoint import batches  # only a batch waits for what plans and starts it

            return batches.answer(exchange, sieve, asked)
        case other:
            raise TypeError(other)


def _call(exchange: Exchange, sieve: Sieve, asked: Call) -> "Told | Invitation":
    """The answer, of a list that was cut a second text on how to go on, and what a server brought besides text."""
    from mcp_endpoint.connecting import Invitation, connected  # a list of the tools does not wait for it

    tool = sieve.tool(asked.module, asked.tool)
    module = sieve.catalogue.module(asked.module)
    caller, request, options = exchange.caller, exchange.request, asked.options

    def bring() -> Brought:
        seconds = exchange.remaining
        return run(caller, module, tool, asked.params, request=request, seconds=seconds, options=options)

    brought = connected(exchange, [asked.module, asked.tool, asked.params], bring)
    if isinstance(brought, Invitation):
        return brought
    value, blocks = parted(brought.json)
    text = minified(value) if asked.raw_output else rendered(value, tool.shows)
    texts = [] if value is None and blocks else [fit(caller.organization, text, MOST_CHARACTERS - len(brought.more))]
    return Told([*texts, *filter(None, [brought.more]), *shown(caller.organization, blocks)], brought.account)


def _declaration(name: str, description: str, annotations: ToolAnnotations) -> Tool:
    return Tool(name=name, description=description, input_schema=SCHEMAS[name], annotations=annotations)
