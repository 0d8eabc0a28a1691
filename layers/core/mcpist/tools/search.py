"""Search over tools by the words of a task."""

import re
from collections.abc import Iterable

from mcpist.tools.tool import Tool

_WORD = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")


def search(query: str, tools: Iterable[Tool], most: int = 10) -> list[Tool]:
    """The tools whose names, descriptions and parameters have most of the query's words, best first."""
    words = set(_words(query))
    scored = [(_score(words, tool), tool) for tool in tools]
    hits = [(score, tool) for score, tool in scored if score]
    return [tool for _, tool in sorted(hits, key=lambda hit: -hit[0])[:most]]


def _score(words: set[str], tool: Tool) -> float:
    """A word in the name counts three, elsewhere one; a shared stem counts as the word."""
    name = set(_words(f"{tool.module} {tool.name}"))
    text = set(_words(f"{tool.description} {' '.join(tool.input_schema.get('properties', ()))}"))
    return sum(3.0 * (word in name) + (word in text) for word in words)


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") for word in _WORD.findall(text.lower())]
