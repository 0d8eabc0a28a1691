"""Search over tools by the words of a task."""

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache
from heapq import nlargest
from math import log
from operator import itemgetter

from mcpist.tools.tool import Tool

ENOUGH = 0.3

_WORD = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")


def search(query: str, tools: Iterable[Tool], most: int = 10) -> list[Tool]:
    """The tools that fit a task, best first: rare words count more than common ones, words of names most.

    What fits less than a third as well as the best is left out.
    """
    known = [(tool, _weights(tool)) for tool in tools]
    rarity = {word: _rarity(word, [weights for _, weights in known]) for word in _words(query)}
    scored = [(score, tool) for tool, weights in known if (score := _score(rarity, weights))]
    best = nlargest(most, scored, key=itemgetter(0))
    return [tool for score, tool in best if score >= best[0][0] * ENOUGH]


def _rarity(word: str, all_weights: list[Mapping[str, int]]) -> float:
    found = sum([word in weights for weights in all_weights])
    return log(1 + len(all_weights) / found) if found else 0.0


def _score(rarity: Mapping[str, float], weights: Mapping[str, int]) -> float:
    return sum([count * weights[word] for word, count in rarity.items() if word in weights])


@cache
def _weights(tool: Tool) -> Mapping[str, int]:
    """What each word of a tool counts: three in its name, one elsewhere."""
    name = _words(f"{tool.module} {tool.name}")
    text = _words(f"{tool.description} {' '.join(inspect.signature(tool.function).parameters)}")
    return {word: 3 * (word in name) + (word in text) for word in {*name, *text}}


def _words(text: str) -> set[str]:
    """The words of a text, by their stems: an s at the end does not count."""
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())}
