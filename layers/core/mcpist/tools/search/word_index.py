"""Search over tools by the words of a task: BM25F, on stems, with synonyms in English and Japanese, and word vectors.

The vectors tell how close the words of a task and of a tool are in meaning, whether or not they are the same words.
Source of the formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import re
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from heapq import nlargest
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Self

from mcpist.tools.declare.tool import SearchField
from mcpist.tools.search.postings import Postings, add_weights, length, packed

if TYPE_CHECKING:
    from mcpist.tools.search.word_vectors import ToolVectors, WordVectors

WEIGHTS: Mapping[SearchField, float] = {
    "name": 2.5,
    "service": 2.0,
    "description": 1.5,
    "parameters": 0.75,
    "phrases": 0.5,
    "japanese_phrases": 0.05,  # pairs of characters: most are in few tools by chance
}
SATURATION = 1.6
LENGTH_NORMALIZATION = 0.6
NAME_WEIGHT = 0.15  # how much better a tool is whose whole name is asked for
MIN_NAME_WORDS = 2  # a name of one word is no better than half of one of two
SERVICE_WEIGHT = 3.0  # a query that names a service asks for that one,
MIN_SERVICE_SHARE = 0.8  # if the name is no general word: this share of the tools that have the word are the service's
MEANING_WEIGHT = 1.25  # how much a tool's closeness in meaning counts, where the best tool's words count 1
EXPECTED_WORD_SCORE = 1.6  # of each word in a tool that fits; where the best tool has less, its words count less
MAX_EXPECTED_WORDS = 5  # a long query says much that no tool has
MEANING_FIELDS: Collection[SearchField] = ("name", "service", "description", "phrases")
MAX_TOOLS_BY_WORDS = 2000  # so many are found by the rarer words; the common ones then only add to their scores
MIN_CLOSENESS = 0.3  # so much it must count for a tool that has none of the words
MIN_RELATIVE_SCORE = 0.3

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=。)|\n\s*\n")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


class WordIndex:
    """The stems of all tools' words and of their names, and the vectors of the tools.

    A stem's weight in a tool says how often and where the tool has it, and in a name which share of the name it is.
    """

    def __init__(self, count: int, words: Postings, names: Postings, synonyms: str = "", vectors: str = "") -> None:
        self.count = count
        """The number of tools."""
        self.words = words
        self.names = names
        self.synonyms = synonyms
        self.vectors = vectors

    @classmethod
    def of(cls, texts: Iterable[Mapping[SearchField, str]], synonyms: str = "") -> Self:
        """Count the words of tools, each given by its fields; `synonyms` are lines of what their services add."""
        from mcpist.tools.search.query import stems  # which readers of an index do not need

        counted = [
            {field: Counter(stems(_CAMEL_CASE.sub(" ", fields.get(field, "")))) for field in WEIGHTS}
            for fields in map(_divided, texts)
        ]
        count = max(len(counted), 1)
        mean_lengths = {field: sum(fields[field].total() for fields in counted) / count or 1.0 for field in WEIGHTS}
        named = Counter(stem for fields in counted for stem in fields["service"])
        known = Counter(stem for fields in counted for stem in set().union(*fields.values()))
        services = {stem for stem, count in named.items() if count >= MIN_SERVICE_SHARE * known[stem]}
        words: dict[str, dict[int, float]] = defaultdict(dict)
        for number, fields in enumerate(counted):
            for stem, frequency in _frequencies(fields, mean_lengths).items():
                factor = SERVICE_WEIGHT if stem in fields["service"] and stem in services else 1.0
                words[stem][number] = factor * frequency / (SATURATION + frequency)
        meant = (sum((fields[field] for field in MEANING_FIELDS), Counter()) for fields in counted)
        vectors = b64encode(b"".join(map(_word_vectors().vector, meant))).decode()
        names = _name_shares(fields["name"] for fields in counted)
        return cls(len(counted), packed(words), packed(names), synonyms, vectors)

    def rank(self, query: str, allowed: Collection[int], limit: int = 10) -> list[tuple[int, float]]:
        """Return the numbers of the tools that fit a task and their scores, best first, without what fits much less.

        The best score is 1.
        """
        from mcpist.tools.search.query import needs  # which only a search needs

        allowed = frozenset(allowed)
        fits = self._fits(query, allowed, limit)
        # A tool that fits one of several needs has few of the query's words, but most of that need's.
        best_part: dict[int, float] = {}
        for need in needs(query):
            for number, fit in self._fits(need, allowed, limit).items():
                best_part[number] = max(fit, best_part.get(number, 0.0))
        for number, fit in best_part.items():
            fits[number] = fit + fits.get(number, 0.0)
        # In the order of the index, so that equal tools keep it.
        best = nlargest(limit, sorted(fits), key=fits.__getitem__)
        highest = fits[best[0]] if best else 1.0
        return [(number, fits[number] / highest) for number in best if fits[number] >= MIN_RELATIVE_SCORE * highest]

    def _fits(self, query: str, allowed: AbstractSet[int], limit: int) -> dict[int, float]:
        """Return how well tools fit a task, the best of them 1: those with its words, and those of near meaning.

        Of the latter only the nearest, up to `limit`.
        """
        from mcpist.tools.search.query import OWN_WEIGHT, query_weights  # which only a search needs

        weights = self._respelt(query_weights(query, self.synonyms))
        known = _word_vectors().known(weights)
        factors = {stem: weight * self.rarity(stem) for stem, weight in weights.items()}
        scores = self.scores(factors, allowed, max(limit, MAX_TOOLS_BY_WORDS))
        # Where even the best tool has few of the words, these say less than the meaning: without a floor, one common
        # word that is in one tool by chance would count as much as a perfect match.
        expected = EXPECTED_WORD_SCORE * min(list(known.values()).count(OWN_WEIGHT), MAX_EXPECTED_WORDS)
        highest = max([expected, *scores.values()]) or 1
        # It counts by the share of the words that have a vector: names and words of other languages have none.
        factor = MEANING_WEIGHT * sum(known.values()) / (sum(weights.values()) or 1)
        vector = _word_vectors().vector(known)
        fits: dict[int, float] = {}
        for start, part in self.parts:
            near = part.tool_vectors.closeness(vector, factor)
            wordless = (n for n in near.nearest(MIN_CLOSENESS) if start + n in allowed and start + n not in scores)
            fits |= {start + n: near[n] for n in islice(wordless, limit)}
            shares = {number - start: 0.0 for number in scores if 0 <= number - start < part.count}
            add_weights(shares, part.names, weights, shares.keys(), 0)
            fits |= {
                start + n: near[n] + scores[start + n] / highest * (1 + NAME_WEIGHT * share)
                for n, share in shares.items()
            }
        best = max(fits.values(), default=0) or 1
        return {number: fit / best for number, fit in fits.items()}

    def _respelt(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return a query's weights, with the most frequent word that it may mean for each word that nothing knows."""
        from mcpist.tools.search.query import SYNONYM_WEIGHT, respellings  # which only a search needs

        respelt: dict[str, float] = {}
        for stem, weight in weights.items():
            meant = stem
            if not self.tools_with(stem) and not _word_vectors().known({stem: weight}):
                meant = max((stem, *respellings(stem)), key=self.tools_with)
            found = weight if meant == stem else min(weight, SYNONYM_WEIGHT)
            respelt[meant] = max(found, respelt.get(meant, 0.0))
        return respelt

    @property
    def parts(self) -> "tuple[tuple[int, WordIndex], ...]":
        """The indexes that hold postings, this one or those that it joins, each with its first tool's number."""
        return ((0, self),)

    def tools_with(self, stem: str) -> int:
        """Return how many tools have a stem."""
        return sum(length(part.words, stem) for _, part in self.parts)

    def rarity(self, stem: str) -> float:
        """Return the inverse document frequency of a stem."""
        known = self.tools_with(stem)
        return log(1 + (self.count - known + 0.5) / (known + 0.5))

    def scores(
        self, factors: Mapping[str, float], allowed: AbstractSet[int], max_tools: int = MAX_TOOLS_BY_WORDS
    ) -> dict[int, float]:
        """Return how well the words of a tool fit, for allowed tools with any of them, the rarer words' tools first."""
        found: dict[int, float] = {}
        for start, part in self.parts:
            mine = {n for n in range(part.count) if start + n in allowed} if start else allowed
            own: dict[int, float] = {}
            add_weights(own, part.words, factors, mine, max_tools)
            found |= {start + number: score for number, score in own.items()} if start else own
        return found

    @cached_property
    def tool_vectors(self) -> "ToolVectors":
        """The vectors of the tools, which tell how close in meaning they are to a task."""
        from mcpist.tools.search.word_vectors import ToolVectors  # which only a search needs

        return ToolVectors(b64decode(self.vectors))


class JoinedWordIndex(WordIndex):
    """The words of two collections of tools, numbered one after the other, as if they had been counted together."""

    def __init__(self, first: WordIndex, second: WordIndex) -> None:
        super().__init__(first.count + second.count, {}, {}, first.synonyms + second.synonyms)
        self._first, self._second = first, second

    @property
    def parts(self) -> "tuple[tuple[int, WordIndex], ...]":
        """The parts of both, in the order of their tools' numbers."""
        return (*self._first.parts, *((self._first.count + start, part) for start, part in self._second.parts))


def _word_vectors() -> "WordVectors":
    from mcpist.tools.search.word_vectors import word_vectors  # which only a search or a new index needs

    return word_vectors()


def _divided(fields: Mapping[SearchField, str]) -> dict[SearchField, str]:
    """Return a tool's fields; what follows its description's first sentence counts as its phrases do.

    The first sentence says what the tool does, the others when, how and with which examples.
    """
    first, *rest = _SENTENCE_END.split(fields.get("description", "").strip(), maxsplit=1)
    return {**fields, "description": first, "phrases": " ".join([fields.get("phrases", ""), *rest])}


def _frequencies(
    fields: Mapping[SearchField, Counter[str]], mean_lengths: Mapping[SearchField, float]
) -> dict[str, float]:
    """Return how often a tool has each stem, weighted by the fields, which count less the longer they are.

    The name of its own service in a text does not count.
    """
    found: dict[str, float] = defaultdict(float)
    for field, counter in fields.items():
        norm = 1 - LENGTH_NORMALIZATION + LENGTH_NORMALIZATION * counter.total() / mean_lengths[field]
        said = counter if field in {"name", "service"} else counter - fields["service"]
        for stem, times in said.items():
            found[stem] += WEIGHTS[field] * times / norm
    return found


def _name_shares(names: Iterable[Counter[str]]) -> dict[str, dict[int, float]]:
    """Return the tools of each stem of their names, and its share of the name."""
    shares: dict[str, dict[int, float]] = defaultdict(dict)
    for number, name in enumerate(names):
        for stem in name:
            shares[stem][number] = 1 / max(len(name), MIN_NAME_WORDS)
    return shares
