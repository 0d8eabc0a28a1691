"""The text of an answer: the shorter of compact JSON and TOON with additions, Markdown, or what was asked for."""

import re
from typing import Any

from mcpist.caller import AnswerFormat
from mcpist.render.pruning import SILENCE, Noise, is_empty, prune
from mcpist.render.shows import ANY_COLUMN, Row, Shows, project
from mcpist.render.toon import compact_toon, toon
from mcpist.render.toon_texts import encode

_ZERO_FRACTION = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.0+(?=Z?$|[+-]\d\d:?\d\d$)")
# An estimate: a tokenizer would cost more than the rendering, and each model has its own.
BYTES_PER_TOKEN = 4
# Of an answer over all its parts; what is larger becomes a file with a preview.
MIN_ANSWER_TOKENS, DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 500, 8_000, 25_000
# The punctuation of JSON shares tokens: a text that is shorter than JSON by less may have more tokens, the more so a
# short one, where a single quoted number decides.
SHORTER, SHORTER_THAN_SHORT = 0.95, 0.92
MAX_SHORT_CHARACTERS = 100  # of JSON
LINE_COST = 4  # characters: a line and its margin have tokens of their own
_DOCUMENT_FORMATS = frozenset({"compact", "markdown"})

compact_json = encode
"""Returns JSON without spaces and without escaped characters."""


def compact(raw: Any, shows: Shows, form: AnswerFormat = "compact") -> str:
    """Render a tool's JSON, without null and empty values; a text of unknown columns stays as it is.

    The compact form is the shortest one. A document is Markdown in it, and where that is asked for.
    """
    if isinstance(raw, str) and ANY_COLUMN in shows.fields:
        return raw if form in _DOCUMENT_FORMATS else smallest(raw, form=form)
    rows = project(raw, shows)
    single = len(rows) == 1 and not isinstance(raw, list) and not shows.rows
    if shows.text and single and form in _DOCUMENT_FORMATS:
        return document(rows[0], shows.text)
    rows = [_trim_fractions(row) for row in rows]
    return smallest(rows[0] if single else rows, shows.noise, form)


def compact_each(raw: list[Any], shows: Shows, form: AnswerFormat = "compact") -> str:
    """Render the results for the elements of a list: one text after the other, or the rows of all as one table."""
    results = [result for result in raw if result is not None]
    if shows.text and form in _DOCUMENT_FORMATS:
        return "\n".join(compact(result, shows) for result in results)
    return smallest([row for result in results for row in project(result, shows)], shows.noise, form)


def document(row: Row, text: str) -> str:
    """Render a row as its Markdown text, with one line for each of the other columns above it.

    A value with a line break is JSON there: its next line would read as another column.
    """
    lines = [f"{name}: {_in_line(value)}" for name, value in row.items() if name != text and not is_empty(value)]
    body = "" if row[text] is None else _inline(row[text])
    return "\n".join([*lines, "", body]) if lines and body else "\n".join(lines) or body


def smallest(value: Any, noise: Noise = SILENCE, form: AnswerFormat = "compact") -> str:
    """Return a value in a form, without what pruning removes; in the compact one as JSON, if that has fewer tokens.

    A value that is nested deeper than others can read is its JSON as it is.
    """
    try:
        pruned = prune(value, noise)
        if not pruned:
            return _empty(value)
        if form == "toon":
            return toon(pruned)
        as_json = compact_json(pruned)
        text = as_json if form == "json" else compact_toon(pruned)
    except RecursionError:
        return compact_json(value)
    share = SHORTER if len(as_json) > MAX_SHORT_CHARACTERS else SHORTER_THAN_SHORT
    return text if len(text) + LINE_COST * text.count("\n") < share * len(as_json) else as_json


def _empty(value: Any) -> str:
    """Return an answer without any value: `{"items":[]}` says more than `{}`."""
    lists = [name for name, inner in value.items() if isinstance(inner, list)] if isinstance(value, dict) else []
    return compact_json({name: [] for name in lists} or prune(value))


def _trim_fractions(row: Row) -> Row:
    """Remove fractions of zeros from timestamps: several services write seven of them."""
    return {
        name: _ZERO_FRACTION.sub(r"\1", value) if isinstance(value, str) and ".0" in value else value
        for name, value in row.items()
    }


def _in_line(value: Any) -> str:
    """Return a value as text on one line."""
    text = _inline(value)
    return text if text.splitlines() in ([], [text]) else compact_json(value)


def _inline(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(item if isinstance(item, str) else compact_json(item) for item in value)
    return value if isinstance(value, str) else compact_json(value)


def fitting_characters(text: str, max_tokens: int) -> int:
    """Return about how many characters of a text have so many tokens."""
    return len(text) * max_tokens // max(1, estimate_tokens(text))


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads for a text: a Japanese character has three bytes of UTF-8."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)
