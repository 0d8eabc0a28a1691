"""Translations: the descriptions of a module's tools in another language than English, as `words.py` reads them.

An example at a description's end (`..., e.g. 42`) is the same in all languages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpist.errors import Locale

EXAMPLE_MARK = "e.g. "
EXAMPLE_MARKS: Mapping[Locale, str] = {"en": EXAMPLE_MARK, "ja": "例: "}
_DATA_KEYWORDS = frozenset(("default", "const", "enum", "examples"))


@dataclass(frozen=True, slots=True)
class Translation:
    """Descriptions in one language; one that has no line stays English."""

    locale: Locale = "en"
    texts: Mapping[str, str] = field(default_factory=dict)
    """By the English text."""

    def text(self, english: str) -> str:
        """Return a description; each of its paragraphs has its own line."""
        return "\n\n".join(map(self._paragraph, english.split("\n\n"))) if self.texts else english

    def schema(self, schema: Any) -> Any:
        """Return a JSON Schema with its descriptions translated, at any depth."""
        if not self.texts:
            return schema
        if isinstance(schema, list | tuple):
            return [self.schema(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        return {keyword: self._keyword(keyword, value) for keyword, value in schema.items()}

    def _keyword(self, keyword: str, value: Any) -> Any:
        if keyword == "description":
            return self.text(value)
        if keyword in _DATA_KEYWORDS:
            return value
        return (
            {name: self.schema(spec) for name, spec in value.items()} if keyword == "properties" else self.schema(value)
        )

    def _paragraph(self, english: str) -> str:
        text, example = split_example(english)
        translated = self.texts.get(text, "")
        if text and not translated:
            return english
        return "、".join(filter(None, [translated, example and f"{EXAMPLE_MARKS[self.locale]}{example}"]))


UNTRANSLATED = Translation()


def split_example(english: str) -> tuple[str, str]:
    """Return a description without its example, in one line, and the example."""
    text, _, example = english.rpartition(EXAMPLE_MARK) if EXAMPLE_MARK in english else (english, "", "")
    return " ".join(text.split()).rstrip(" ,"), example


def read_translation(folder: Path, locale: Locale) -> Translation:
    """Return the translation in a module's folder, with the parameters of all lists; none where it has no file."""
    from mcpist.tools.search.words import SHARED, read_words  # readers of English need not wait for it

    own = read_words(folder, locale)
    if not own:
        return UNTRANSLATED
    return Translation(locale, {**read_words(SHARED, locale)["descriptions"], **own.get("descriptions", {})})
