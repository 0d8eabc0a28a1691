"""Texts in the reader's language: a table translates the English ones, where they are shown.

A problem of an error is English in our code, between our functions and in the ledger; so are pydantic's messages.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mcpist.toml_table import read_toml

PLACEHOLDER = re.compile(r"\{(\w*)\}")
# Longer ones hold a document; the search in a text is bounded.
MAX_TRANSLATED_CHARACTERS = 4_000


class _Template(NamedTuple):
    fixed: Sequence[str]
    """The English text between the placeholders."""
    names: Sequence[str]
    translation: str


def translated(text: str, table: Path) -> str:
    """Return a text in the language of a table, its values as well; unchanged if the table has no template for it."""
    if len(text) > MAX_TRANSLATED_CHARACTERS:
        return text
    plain, templates = _templates(table)
    if text in plain:
        return plain[text]
    for template in templates:
        if values := _values(text, template.fixed):
            inner = (translated(value, table) for value in values)
            return template.translation.format_map(dict(zip(template.names, inner, strict=True)))
    return text


def _values(text: str, fixed: Sequence[str]) -> list[str]:
    """Return the text at each placeholder, the shortest that fits; empty if the text is not of this template."""
    first, *others = fixed
    if not text.startswith(first) or not text.endswith(others[-1]):
        return []
    starts, ends = [len(first)], []
    for part in others[:-1]:
        if (found := text.find(part, starts[-1])) < 0:
            return []
        ends.append(found)
        starts.append(found + len(part))
    ends.append(len(text) - len(others[-1]))
    return [text[start:end] for start, end in zip(starts, ends, strict=True)] if ends[-1] >= starts[-1] else []


@cache
def _templates(table: Path) -> tuple[Mapping[str, str], Sequence[_Template]]:
    """Return the texts without a placeholder, and the others, those with the most fixed text first."""
    texts: Mapping[str, str] = read_toml(table)
    parts = {english: PLACEHOLDER.split(english) for english in texts}
    templates = [_Template(one[::2], one[1::2], texts[english]) for english, one in parts.items() if len(one) > 1]
    plain = {english: text for english, text in texts.items() if len(parts[english]) == 1}
    return plain, sorted(templates, key=lambda template: -sum(map(len, template.fixed)))
