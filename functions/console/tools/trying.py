"""A tool that only reads, tried by a person through the one gate: the compact and the raw answer beside each other."""

from dataclasses import dataclass
from typing import Any

from console.tools.arguments import ArgumentField, arguments_of
from console.visit import Visit
from mcpist.errors import InvalidRequest, McpistError
from mcpist.files.values import readable_json
from mcpist.render.answer import compact, compact_json
from mcpist.render.contents import split_content
from mcpist.render.tokens import estimate_tokens
from mcpist.running import gate
from mcpist.running.gate import ToolUse
from mcpist.tools.tool import Tool

MAX_SHOWN_CHARACTERS = 12_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A text of an answer, as far as the page shows it."""

    text: str
    tokens: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a try: both answers, or the error."""

    compact: Answer | None = None
    raw: Answer | None = None
    account: str = ""
    more: str = ""
    error: McpistError | None = None


def try_tool(visit: Visit, tool: Tool, fields: list[ArgumentField]) -> Trial:
    """Run a reading tool with the arguments of a form; every outcome has its audit row, as a call of a client has."""
    if not tool.reads:
        raise InvalidRequest(field="tool", problem="only tools that read can be tried here")
    if any(field.problem for field in fields):
        return Trial()
    use = ToolUse(tool.module, tool.name, arguments_of(fields), visit.request_id)
    try:
        result = gate.admit(visit.permissions, use).run(visit.remaining)
    except McpistError as error:
        return Trial(error=error)
    text = compact(split_content(result.json)[0], tool.shows)
    return Trial(_answer(text), _raw_answer(result.json), result.account, result.more)


def _raw_answer(value: Any) -> Answer:
    """Return the service's own JSON in lines; its tokens are those of the JSON without spaces."""
    shown = _answer(readable_json(value).decode())
    return Answer(shown.text, estimate_tokens(compact_json(value)), shown.is_cut)


def _answer(text: str) -> Answer:
    return Answer(text[:MAX_SHOWN_CHARACTERS], estimate_tokens(text), len(text) > MAX_SHOWN_CHARACTERS)
