"""Problems in the reader's language: a table translates the English ones, where they are shown.

A problem is English in our code, between our functions and in the ledger; pydantic's messages are problems as well.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

TEXTS_FOLDER = Path(__file__).with_name("error_texts")
PLACEHOLDER = re.compile(r"\{(\w*)\}")
# Longer ones hold a document; what is searched in it is bounded.
MAX_PROBLEM_CHARACTERS = 4_000


class _Template(NamedTuple):
    fixed: Sequence[str]
    """The English text between the placeholders."""
    names: Sequence[str]
    translation: str


def translated(problem: str, locale: str) -> str:
    """Return a problem in a language, its values as well; unchanged if the table has no template for it."""
    if locale == "en" or len(problem) > MAX_PROBLEM_CHARACTERS:
        return problem
    plain, templates = _templates(locale)
    if problem in plain:
        return plain[problem]
    for template in templates:
        if values := _values(problem, template.fixed):
            inner = (translated(value, locale) for value in values)
            return template.translation.format_map(dict(zip(template.names, inner, strict=True)))
    return problem


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
def _templates(locale: str) -> tuple[Mapping[str, str], Sequence[_Template]]:
    """Return the problems without a placeholder, and the others, those with the most fixed text first."""
    import tomllib  # with the file, 4 ms that a start without an error need not wait for

    texts: dict[str, str] = tomllib.loads((TEXTS_FOLDER / f"{locale}_problems.toml").read_text("utf-8"))
    parts = {english: PLACEHOLDER.split(english) for english in texts}
    templates = [_Template(one[::2], one[1::2], texts[english]) for english, one in parts.items() if len(one) > 1]
    plain = {english: text for english, text in texts.items() if len(parts[english]) == 1}
    return plain, sorted(templates, key=lambda template: -sum(map(len, template.fixed)))
