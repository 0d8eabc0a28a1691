"""Search over tools by the words of a task."""

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache
from heapq import nlargest
from operator import itemgetter

from mcpist.tools.tool import Tool

_WORD = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")


def search(query: str, tools: Iterable[Tool], most: int = 10) -> list[Tool]:
    """The tools whose names, descriptions and parameters have most of the query's words, best first."""
    words = _words(query)
    hits = [(score, tool) for tool in tools if (score := _score(words, _weights(tool)))]
    return [tool for _, tool in nlargest(most, hits, key=itemgetter(0))]


def _score(words: set[str], weights: Mapping[str, int]) -> int:
    return sum([weights[word] for word in words if word in weights])  # a list: half the time of a generator


@cache
def _weights(tool: Tool) -> Mapping[str, int]:
    """What each word of a tool counts: three in its name, one elsewhere."""
    name = _words(f"{tool.module} {tool.name}")
    text = _words(f"{tool.description} {' '.join(inspect.signature(tool.function).parameters)}")
    return {word: 3 * (word in name) + (word in text) for word in {*name, *text}}


def _words(text: str) -> set[str]:
    """The words of a text, by their stems: an s at the end does not count."""
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())}
