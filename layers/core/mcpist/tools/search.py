"""Search over tools by the words of a task: BM25F, on stems, with synonyms in English and Japanese.

Source of the formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

import re
from array import array
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from heapq import nlargest
from itertools import batched
from math import log
from typing import Any, Literal, Self

from mcpist.tools.synonyms import synonyms

type Field = Literal["name", "service", "description", "parameters"]

WEIGHTS: Mapping[Field, float] = {"name": 3.0, "service": 2.0, "description": 1.5, "parameters": 0.5}
SATURATION = 1.2
LENGTH_NORMALIZATION = 0.4
SYNONYM_WEIGHT = 0.8
PLURAL_WEIGHT = 0.4  # a query that names several things asks for a list of them
SERVICE_WEIGHT = 2.0  # a query that names a service asks for that one
MIN_RELATIVE_SCORE = 0.3
MAX_QUERY_CHARACTERS = 1000
IMPACT_SCALE = 1000  # impacts are kept as integers

_WORD = re.compile(r"[A-Za-z]+|[0-9]+|[^\x00-\x7f]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PLURAL = re.compile(r"\b(?!does\b|this\b|says\b)[a-z]{2,}[^su\W\d_]s\b")
_FILE = re.compile(r"\w\.(?:css|csv|html?|js|json|md|py|sql|toml|ts|txt|ya?ml)\b", re.IGNORECASE)
# Text that the task only writes: it says nothing of the tool.
_QUOTED = re.compile(
    r"\b(?:(?:called|named|titled) (?=[A-Z'\"])|saying\b|that says\b).*|'[^']{3,}'|\"[^\"]+\"|「[^」]+」"
)
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an all and any are as at be by can do does for from get has have how i if in into is it its me my of on "
        "or our so some that the their them then there they this to up us was we what when where which who will with "
        "you your"
    )
)

_WRITE_STEMS = frozenset(("add", "creat", "delet", "move", "remov", "updat", "merg", "run"))


class WordIndex:
    """The stems of all tools' words: for each, the numbers of the tools that have it and its weight in each.

    These pairs are kept packed, so that reading an index costs little: a search unpacks those of its own stems.
    """

    def __init__(self, packed: Mapping[str, str], synonyms: str = "") -> None:
        self.packed = packed
        self.synonyms = synonyms

    @classmethod
    def of(cls, texts: Iterable[Mapping[Field, str]], synonyms: str = "") -> Self:
        """Count the words of tools, each given by its fields; `synonyms` are lines of what their services add."""
        counted = [
            {field: Counter(stems(_CAMEL_CASE.sub(" ", text))) for field, text in fields.items()} for fields in texts
        ]
        count = max(len(counted), 1)
        mean_lengths = {field: sum(fields[field].total() for fields in counted) / count or 1.0 for field in WEIGHTS}
        impacts: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, fields in enumerate(counted):
            for stem, frequency in _frequencies(fields, mean_lengths).items():
                factor = SERVICE_WEIGHT if stem in fields["service"] else 1.0
                impacts[stem].append((number, factor * frequency / (SATURATION + frequency)))
        return cls({stem: _posting(known, len(counted)) for stem, known in sorted(impacts.items())}, synonyms)

    def rank(self, query: str, allowed: Collection[int], limit: int = 10) -> list[tuple[int, float]]:
        """Return the numbers of the tools that fit a task and their scores, best first, without what fits much less.

        The best score is 1.
        """
        scores: dict[int, float] = defaultdict(float)
        for stem, weight in query_weights(query, self.synonyms).items():
            for number, impact in self.postings(stem):
                scores[number] += weight * impact
        best = nlargest(limit, ((score, -number) for number, score in scores.items() if number in allowed))
        highest = best[0][0] if best else 0
        return [(-number, score / highest) for score, number in best if score >= highest * MIN_RELATIVE_SCORE]

    def postings(self, stem: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that have a stem, each as (number, impact)."""
        values = memoryview(b64decode(self.packed.get(stem, ""))).cast("I")
        return batched(values, 2, strict=True)


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


def query_weights(query: str, synonym_lines: str = "") -> dict[str, float]:
    """Return the stems that a query asks for and the weight of each: its own words count fully, synonyms less."""
    query = query[:MAX_QUERY_CHARACTERS].encode(errors="replace").decode()
    task = _QUOTED.sub(" ", query).strip() or query
    own = stems(task)
    words = synonyms(synonym_lines).catalogue_words(task)
    meant = stems(" ".join([*words, *(["file"] if _FILE.search(task) else [])]))
    several = stems("list search") if _PLURAL.search(task) and not _WRITE_STEMS.intersection(own + meant) else []
    return dict.fromkeys(several, PLURAL_WEIGHT) | dict.fromkeys(meant, SYNONYM_WEIGHT) | dict.fromkeys(own, 1.0)


def stems(text: str) -> list[str]:
    """Return the stems of a text's words, without stop words.

    Text without spaces between words is divided into pairs of characters.
    """
    words = [part for word in _WORD.findall(text) for part in _parts(word)]
    stemmed: list[str] = _stemmer().stemWords([word for word in words if word not in _STOP_WORDS])
    return stemmed


def _parts(word: str) -> list[str]:
    if word.isascii() or len(word) < 3:
        return [word.lower()]
    return [word[start : start + 2] for start in range(len(word) - 1)]


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


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


def _posting(known: list[tuple[int, float]], count: int) -> str:
    rarity = _inverse_document_frequency(count, len(known))
    pairs = array("I", [value for number, impact in known for value in (number, round(IMPACT_SCALE * rarity * impact))])
    return b64encode(pairs).decode()


def _inverse_document_frequency(count: int, known: int) -> float:
    """Return the weight of a stem that `known` of `count` tools have."""
    return log(1 + (count - known + 0.5) / (known + 0.5))
