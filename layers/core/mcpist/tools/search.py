"""Search over tools by the words of a task: BM25F, on stems, with synonyms in English and Japanese, and word vectors.

The vectors tell how close the words of a task and of a tool are in meaning, whether or not they are the same words.
Source of the formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import re
from array import array
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from heapq import nlargest
from itertools import batched
from math import log
from types import MappingProxyType
from typing import Literal, Self

from mcpist.tools.stems import stems
from mcpist.tools.synonyms import synonyms
from mcpist.tools.word_vectors import ToolVectors, word_vectors

type Field = Literal["name", "service", "description", "parameters"]

WEIGHTS: Mapping[Field, float] = {"name": 2.5, "service": 2.0, "description": 1.5, "parameters": 0.75}
SATURATION = 1.6
LENGTH_NORMALIZATION = 0.6
OWN_WEIGHT = 1.0  # of a query's own words
SYNONYM_WEIGHT = 0.8
NAME_WEIGHT = 0.15  # how much better a tool is whose whole name is asked for
MIN_NAME_WORDS = 2  # a name of one word is no better than half of one of two
IDIOM_WEIGHT = 0.3  # the words of an idiom, such as "file a", mean what it means
QUOTED_WEIGHT = 0.4  # text that the task only names or writes says little of the tool
PLURAL_WEIGHT = 0.4  # a query that names several things asks for a list of them
SERVICE_WEIGHT = 3.0  # a query that names a service asks for that one,
MIN_SERVICE_SHARE = 0.8  # if the name is no general word: this share of the tools that have the word are the service's
MEANING_WEIGHT = 1.25  # how much a tool's closeness in meaning counts, where the best tool's words count 1
EXPECTED_WORD_SCORE = 1600  # of each word in a tool that fits; where the best tool has less, its words count less
MEANING_FIELDS: Collection[Field] = ("name", "service", "description")
MIN_CLOSENESS = 0.3  # so much it must count for a tool that has none of the words
MIN_RELATIVE_SCORE = 0.3
MAX_QUERY_CHARACTERS = 1000
IMPACT_SCALE = 1000  # impacts are kept as integers

_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PLURAL = re.compile(r"\b(?!does\b|this\b|says\b)[a-z]{2,}[^su\W\d_]s\b")
_FILE = re.compile(r"\w\.(?:css|csv|html?|js|json|md|py|sql|toml|ts|txt|ya?ml)\b", re.IGNORECASE)
# Names and text in a task: a capitalized name ends with the capitals, a text that is said ends with its quotation.
_QUOTED = re.compile(
    r"\b(?:called|named|titled)(?: [A-Z][\w.-]*)+|\b(?:saying|that says) [^\"'].*|'[^']{3,}'|\"[^\"]+\"|「[^」]+」"
)
_WRITE_STEMS = frozenset(("add", "creat", "delet", "move", "remov", "updat", "merg", "run"))


class WordIndex:
    """The stems of all tools' words: for each, the numbers of the tools that have it and its weight in each.

    These pairs are kept packed, so that reading an index costs little: a search unpacks those of its own stems. So are
    the stems of the tools' names, each with its share of the name, and the vectors of the tools.
    """

    def __init__(
        self,
        packed: Mapping[str, str],
        synonyms: str = "",
        names: Mapping[str, str] = MappingProxyType({}),
        vectors: str = "",
    ) -> None:
        self.packed = packed
        self.synonyms = synonyms
        self.names = names
        self.vectors = vectors

    @classmethod
    def of(cls, texts: Iterable[Mapping[Field, str]], synonyms: str = "") -> Self:
        """Count the words of tools, each given by its fields; `synonyms` are lines of what their services add."""
        counted = [
            {field: Counter(stems(_CAMEL_CASE.sub(" ", text))) for field, text in fields.items()} for fields in texts
        ]
        count = max(len(counted), 1)
        mean_lengths = {field: sum(fields[field].total() for fields in counted) / count or 1.0 for field in WEIGHTS}
        names = _service_names(counted)
        impacts: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, fields in enumerate(counted):
            for stem, frequency in _frequencies(fields, mean_lengths).items():
                factor = SERVICE_WEIGHT if stem in fields["service"] and stem in names else 1.0
                impacts[stem].append((number, factor * frequency / (SATURATION + frequency)))
        packed = {stem: _posting(known, len(counted)) for stem, known in sorted(impacts.items())}
        vectors = b64encode(b"".join(map(_vector, counted))).decode()
        return cls(packed, synonyms, _name_shares(fields["name"] for fields in counted), vectors)

    def rank(self, query: str, allowed: Collection[int], limit: int = 10) -> list[tuple[int, float]]:
        """Return the numbers of the tools that fit a task and their scores, best first, without what fits much less.

        The best score is 1.
        """
        weights = query_weights(query, self.synonyms)
        known = word_vectors().known(weights)
        scores = {number: score for number, score in self._lexical(weights).items() if number in allowed}
        expected = EXPECTED_WORD_SCORE * list(known.values()).count(OWN_WEIGHT)
        highest = max(expected, *scores.values(), 0) or 1
        fits = self.closeness(known, MEANING_WEIGHT * sum(known.values()) / (sum(weights.values()) or 1))
        for number, score in scores.items():
            fits[number] = max(fits[number], 0) + score / highest
        best = nlargest(limit, filter(allowed.__contains__, range(len(fits))), key=fits.__getitem__)
        lowest = fits[best[0]] * MIN_RELATIVE_SCORE if best else 0
        return [
            (number, fits[number] / fits[best[0]])
            for number in best
            if fits[number] >= lowest and (number in scores or fits[number] >= MIN_CLOSENESS)
        ]

    def _lexical(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return the tools that have words of a query, and how well these fit."""
        scores: dict[int, float] = defaultdict(float)
        shares: dict[int, float] = defaultdict(float)
        for stem, weight in weights.items():
            for number, impact in self.postings(stem):
                scores[number] += weight * impact
            for number, share in self.name_shares(stem):
                shares[number] += weight * share
        for number, named in shares.items():
            scores[number] *= 1 + NAME_WEIGHT * named / IMPACT_SCALE
        return scores

    def closeness(self, weights: Mapping[str, float], factor: float) -> list[float]:
        """Return how close in meaning each tool is to weighted stems: the cosine of their vectors, times a factor."""
        return self._tool_vectors.closeness(word_vectors().vector(weights), factor)

    @cached_property
    def _tool_vectors(self) -> ToolVectors:
        return ToolVectors(b64decode(self.vectors))

    def postings(self, stem: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that have a stem, each as (number, impact)."""
        return _unpack(self.packed.get(stem, ""))

    def name_shares(self, stem: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that have a stem in their names, each as (number, share)."""
        return _unpack(self.names.get(stem, ""))


class JoinedWordIndex(WordIndex):
    """The words of two collections of tools, numbered one after the other, as if they had been counted together."""

    def __init__(self, first: WordIndex, first_count: int, second: WordIndex, second_count: int) -> None:
        super().__init__({}, first.synonyms + second.synonyms)
        self._parts = ((first, first_count, 0), (second, second_count, first_count))

    def postings(self, stem: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that have a stem, with its rarity in both collections together."""
        found = [(list(words.postings(stem)), count, offset) for words, count, offset in self._parts]
        rarity = _inverse_document_frequency(
            sum(count for _, count, _ in found), sum(len(known) for known, _, _ in found)
        )
        for known, count, offset in found:
            factor = rarity / _inverse_document_frequency(count, len(known))
            yield from ((number + offset, round(impact * factor)) for number, impact in known)

    def name_shares(self, stem: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools of both that have a stem in their names."""
        for words, _, offset in self._parts:
            yield from ((number + offset, share) for number, share in words.name_shares(stem))

    def closeness(self, weights: Mapping[str, float], factor: float) -> list[float]:
        """Return how close in meaning each tool of both is to weighted stems."""
        found = ((words.closeness(weights, factor), count) for words, count, _ in self._parts)
        return [cosine for cosines, count in found for cosine in cosines or [0.0] * count]


def query_weights(query: str, synonym_lines: str = "") -> dict[str, float]:
    """Return the stems that a query asks for and the weight of each.

    Its own words count fully, synonyms less, what it quotes and the words of idioms least.
    """
    query = query[:MAX_QUERY_CHARACTERS].encode(errors="replace").decode()
    task = _QUOTED.sub(" ", query).strip() or query
    own = stems(task)
    found = synonyms(synonym_lines).find(task)
    idioms = [phrase for phrase, _ in found if " " in phrase]
    meant = stems(" ".join([*(words for _, words in found), *(["file"] if _FILE.search(task) else [])]))
    several = stems("list search") if _PLURAL.search(task) and not _WRITE_STEMS.intersection(own + meant) else []
    weights: dict[str, float] = {}
    for weight, group in (
        (QUOTED_WEIGHT, stems(query)),
        (PLURAL_WEIGHT, several),
        (IDIOM_WEIGHT, stems(" ".join(idioms))),
        (SYNONYM_WEIGHT, meant),
        (OWN_WEIGHT, stems(_without(task, idioms))),
    ):
        weights |= dict.fromkeys(group, weight)
    return weights


def _without(task: str, phrases: Iterable[str]) -> str:
    for phrase in phrases:
        task = task.replace(phrase, " ")
    return task


def _frequencies(fields: Mapping[Field, Counter[str]], mean_lengths: Mapping[Field, float]) -> dict[str, float]:
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


def _vector(fields: Mapping[Field, Counter[str]]) -> bytes:
    return word_vectors().vector(sum((fields[field] for field in MEANING_FIELDS), Counter()))


def _service_names(counted: Collection[Mapping[Field, Counter[str]]]) -> set[str]:
    """Return the stems of services' names that are no general words, which tools of other services have as well."""
    named = Counter(stem for fields in counted for stem in fields["service"])
    known = Counter(stem for fields in counted for stem in set().union(*fields.values()))
    return {stem for stem, count in named.items() if count >= MIN_SERVICE_SHARE * known[stem]}


def _name_shares(names: Iterable[Counter[str]]) -> dict[str, str]:
    """Return the tools of each stem of their names, and its share of the name."""
    shares: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, name in enumerate(names):
        for stem in name:
            shares[stem].append((number, IMPACT_SCALE / max(len(name), MIN_NAME_WORDS)))
    return {stem: _pack(known) for stem, known in sorted(shares.items())}


def _posting(known: list[tuple[int, float]], count: int) -> str:
    rarity = IMPACT_SCALE * _inverse_document_frequency(count, len(known))
    return _pack((number, rarity * impact) for number, impact in known)


def _pack(pairs: Iterable[tuple[int, float]]) -> str:
    return b64encode(array("I", [value for number, weight in pairs for value in (number, round(weight))])).decode()


def _unpack(packed: str) -> Iterator[tuple[int, ...]]:
    return batched(memoryview(b64decode(packed)).cast("I"), 2, strict=True)


def _inverse_document_frequency(count: int, known: int) -> float:
    """Return the weight of a stem that `known` of `count` tools have."""
    return log(1 + (count - known + 0.5) / (known + 0.5))
