"""Render a tool's JSON for the model, and count its tokens before and after."""

from typing import Any

from mcpist.render.answer import compact, compact_json, is_empty, smallest
from mcpist.render.project import project
from mcpist.render.shows import Shows
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import TOKENS_AFTER, TOKENS_BEFORE
from mcpist.telemetry.tracing import span

# An estimate: a tokenizer would cost more than the rendering, and each model has its own.
CHARACTERS_PER_TOKEN = 4


def render(raw: Any, shows: Shows, *, each: bool = False) -> str:
    """Return the compact text of a result, or of a list of the results for `each` element."""
    with span("render"):
        text = _render_each(raw, shows) if each else compact(raw, shows)
    count(TOKENS_BEFORE, _estimate_tokens(compact_json(raw)))
    count(TOKENS_AFTER, _estimate_tokens(text))
    return text


def _render_each(raw: list[Any], shows: Shows) -> str:
    """Return one text for each element, or the rows of all elements as one table."""
    results = [result for result in raw if result is not None]
    if shows.text:
        return "\n".join(compact(result, shows) for result in results)
    rows = [row for result in results for row in project(result, shows)]
    return smallest([{name: value for name, value in row.items() if not is_empty(value)} for row in rows])


def _estimate_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
