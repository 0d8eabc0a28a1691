"""Words beside the tools, in a file for each language: descriptions, synonyms, and how people ask for each tool.

`en.toml` and `ja.toml` of a module's folder have tables of these:
- `[descriptions]`, not in English: `"Read one event" = "予定を 1 件読む"`, by the English text without its example.
- `[synonyms]`: `"what people say, or that" = "the catalogue's words for it"`.
- `[phrases]`: `trash_page = ["delete the note"]`, how people ask for a tool in other words than its own texts.
The same files in this folder hold what is true of the tools of all modules. No model reads synonyms and phrases.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

from mcpist.errors import Locale
from mcpist.tools.declare.tool import SearchField

SHARED = Path(__file__).parent
LOCALES: tuple[Locale, ...] = get_args(Locale.__value__)
PHRASE_FIELDS: Mapping[Locale, SearchField] = {"en": "phrases", "ja": "japanese_phrases"}

type Phrases = Mapping[str, dict[SearchField, str]]
"""By the name of the tool."""


@dataclass(frozen=True, slots=True)
class SearchWords:
    """The words of a module that only the search reads."""

    synonyms: str = ""
    """Lines like `what people say, or that: the catalogue's words`."""
    phrases: Phrases = field(default_factory=dict)


def read_words(folder: Path, locale: Locale) -> Mapping[str, Any]:
    """Return the tables of a folder's file in one language; none where it has no file."""
    file = folder / f"{locale}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def search_words(folder: Path) -> SearchWords:
    """Return the words of a folder's files in all languages, for the search."""
    lines: list[str] = []
    phrases: dict[str, dict[SearchField, str]] = {}
    for locale in LOCALES:
        words = read_words(folder, locale)
        lines += [f"{said}: {meant}\n" for said, meant in words.get("synonyms", {}).items()]
        for tool, texts in words.get("phrases", {}).items():
            phrases.setdefault(tool, {})[PHRASE_FIELDS[locale]] = " ".join(texts)
    return SearchWords("".join(lines), phrases)


@cache
def shared_synonyms() -> str:
    """Return the lines of synonyms that hold for all modules; the first search reads them."""
    return search_words(SHARED).synonyms
