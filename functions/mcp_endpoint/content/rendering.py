"""Rendering: a tool's JSON as the model reads it, counted in tokens before and after."""

from typing import Any

from mcpist.render.answer import compact, compact_json, is_empty, smallest
from mcpist.render.project import project
from mcpist.render.shows import Shows
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import TOKENS_AFTER, TOKENS_BEFORE
from mcpist.telemetry.tracing import span

CHARACTERS_PER_TOKEN = 4
"""As the bound of an answer is reckoned; a tokenizer would cost more than the rendering, and each model has its own."""


def render(raw: Any, shows: Shows, *, each: bool = False) -> str:
    """The compact text of what a tool brought, or of what it brought for `each` element."""
    with span("render"):
        text = _render_each(raw, shows) if each else compact(raw, shows)
    count(TOKENS_BEFORE, _estimate_tokens(compact_json(raw)))
    count(TOKENS_AFTER, _estimate_tokens(text))
    return text


def _render_each(raw: list[Any], shows: Shows) -> str:
    """One text for each element, or the rows of all as one table."""
    found = [one for one in raw if one is not None]
    if shows.text:
        return "\n".join(compact(one, shows) for one in found)
    rows = [row for one in found for row in project(one, shows)]
    return smallest([{name: value for name, value in row.items() if not is_empty(value)} for row in rows])


def _estimate_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
