"""Render a tool's JSON for the model, and count its tokens before and after."""

from typing import Any

from mcpist.render.answer import compact, compact_each, compact_json
from mcpist.render.shows import Shows
from mcpist.render.tokens import estimate_tokens
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import TOKENS_AFTER, TOKENS_BEFORE
from mcpist.telemetry.tracing import span


def render(raw: Any, shows: Shows, *, each: bool = False) -> str:
    """Return the compact text of a result, or of a list of the results for `each` element."""
    with span("render"):
        text = compact_each(raw, shows) if each else compact(raw, shows)
    count(TOKENS_BEFORE, estimate_tokens(compact_json(raw)))
    count(TOKENS_AFTER, estimate_tokens(text))
    return text
