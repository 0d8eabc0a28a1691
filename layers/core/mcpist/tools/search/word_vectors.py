"""Word vectors: near where words mean nearly the same, so that a search also finds tools by words they do not have.

`word_vectors.bin` is made by `python -m scripts.word_vectors` from the sentence model all-MiniLM-L6-v2 (Apache-2.0, its
authors are those of sentence-transformers). It is one line with the stems of the words, and for each its vector: as
many bytes as it has dimensions, each 128 more than a number from -127 to 127.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Self

from mcpist.tools.search.postings import joined, parts

FILE = Path(__file__).with_name("word_vectors.bin")
DIMENSIONS = 128

_OFFSET = 128  # of a byte in the file
_PRECISION = 20  # a word's weight is kept in parts of this
# A vector of a text has length _LENGTH, and no dimension of it is above _MAX: sums of 128 products stay within 15 bits.
_LENGTH = 43
_MAX = 15


class WordVectors:
    """The vectors of a vocabulary's stems."""

    def __init__(self, stems: Iterable[str], rows: bytes) -> None:
        self._places = {stem: place * DIMENSIONS for place, stem in enumerate(stems)}
        self._rows = rows

    @classmethod
    def load(cls, content: bytes) -> Self:
        """Return what a file holds."""
        stems, _, rows = content.partition(b"\n")
        return cls(stems.decode().split(" "), rows)

    def known(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return those stems that have a vector, with their weights."""
        return {stem: weight for stem, weight in weights.items() if stem in self._places}

    def vector(self, weights: Mapping[str, float]) -> bytes:
        """Return the direction of the weighted sum of stems' vectors, each number with `_MAX` added."""
        total = count = 0
        for stem, weight in weights.items():
            place = self._places.get(stem)
            if place is not None:
                times = max(round(weight * _PRECISION), 1)
                total += times * joined(self._rows[place : place + DIMENSIONS], 1, 8)
                count += times
        summed = [number - count * _OFFSET for number in parts(total, DIMENSIONS, 8)]
        factor = _LENGTH / (sqrt(sum(number * number for number in summed)) or 1)
        return bytes(_MAX + max(-_MAX, min(_MAX, round(number * factor))) for number in summed)


class ToolVectors:
    """The vectors of tools, given one after the other."""

    def __init__(self, vectors: bytes) -> None:
        self._count = len(vectors) // DIMENSIONS
        self._columns = [joined(vectors[dimension::DIMENSIONS], 1, 2) for dimension in range(DIMENSIONS)]

    def closeness(self, vector: bytes, factor: float) -> list[float]:
        """Return the cosine of a vector with that of each tool, times a factor."""
        factors = [byte - _MAX for byte in vector]
        alike = [0] * (_MAX + 1)  # the sum of the columns that are multiplied with the same number
        for times, column in zip(factors, self._columns, strict=True):
            alike[abs(times)] += column if times > 0 else -column
        half = 1 << 15  # keeps each number above 0
        total = half * joined(b"\1" * self._count, 1, 2)
        total += sum(times * column for times, column in enumerate(alike))
        zero, unit = half + _MAX * sum(factors), factor / _LENGTH**2
        return [(number - zero) * unit for number in parts(total, self._count, 2)]


@cache
def word_vectors() -> WordVectors:
    """Return the vectors of the file, which only a search or a new index reads."""
    return WordVectors.load(FILE.read_bytes())
