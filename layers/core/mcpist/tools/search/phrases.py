"""Phrases: how people ask for a tool, in other words than its own texts. Only the search reads them, no model does.

A file beside the tools has a list for each: `trash_page = ["delete the note", "ページを消して"]`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpist.tools.declare.tool import SearchField

PHRASES_FILE = "phrases.toml"

type Phrases = Mapping[str, Sequence[str]]
"""By the name of the tool."""


def read_phrases(folder: Path) -> Phrases:
    """Return the phrases in a module's folder; none where it has no file."""
    file = folder / PHRASES_FILE
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


def phrase_words(phrases: Sequence[str]) -> "dict[SearchField, str]":
    """Return a tool's phrases as fields of the search."""
    return {
        "phrases": " ".join(filter(str.isascii, phrases)),
        "japanese_phrases": " ".join(phrase for phrase in phrases if not phrase.isascii()),
    }
