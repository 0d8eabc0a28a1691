"""Word vectors: near where words mean nearly the same, so that a search also finds tools by words they do not have.

`word_vectors.bin` is made by `python -m scripts.word_vectors` from the sentence model all-MiniLM-L6-v2 (Apache-2.0, its
authors are those of sentence-transformers). It is one line with the stems of the words, and for each its vector: as
many bytes as it has dimensions, each 128 more than a number from -127 to 127.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from math import inf, sqrt, sumprod
from pathlib import Path
from typing import Self

FILE = Path(__file__).with_name("word_vectors.bin")
DIMENSIONS = 128

_FILE_OFFSET = 128  # of a byte in the file
_PRECISION = 20  # a word's weight is kept in parts of this
# A vector of a text has length _LENGTH, and no dimension is above _MAX_NUMBER: sums of 128 products stay in 15 bits.
_LENGTH = 43
_MAX_NUMBER = 15


class WordVectors:
    """The vectors of a vocabulary's stems."""

    def __init__(self, stems: Iterable[str], rows: bytes) -> None:
        self._places = {stem: place * DIMENSIONS for place, stem in enumerate(stems)}
        self._rows = rows

    @classmethod
    def load(cls, content: bytes) -> Self:
        """Return the vectors of a file's content."""
        stems, _, rows = content.partition(b"\n")
        return cls(stems.decode().split(" "), rows)

    def known(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return those stems that have a vector, with their weights."""
        return {stem: weight for stem, weight in weights.items() if stem in self._places}

    def vector(self, weights: Mapping[str, float]) -> bytes:
        """Return the direction of the weighted sum of stems' vectors, each number with `_MAX_NUMBER` added."""
        total = [0] * DIMENSIONS
        for stem in self.known(weights):
            # Whole numbers, so that an index is the same on every machine.
            times, place = max(round(weights[stem] * _PRECISION), 1), self._places[stem]
            row = self._rows[place : place + DIMENSIONS]
            total = [number + times * (byte - _FILE_OFFSET) for number, byte in zip(total, row, strict=True)]
        factor = _LENGTH / (sqrt(sumprod(total, total)) or 1)
        return bytes(_MAX_NUMBER + max(-_MAX_NUMBER, min(_MAX_NUMBER, round(number * factor))) for number in total)


class ToolVectors:
    """The vectors of tools, given one after the other.

    Kept by dimension, as long integers that hold a number of each tool in 16 bits: adding two of them adds the numbers
    of all tools at once. Multiplying tool by tool (`math.sumprod`) takes six times as long, which is more than all
    else that a search does; numpy is not in the functions.
    """

    def __init__(self, vectors: bytes) -> None:
        self._count = len(vectors) // DIMENSIONS
        self._columns = [_column(vectors[dimension::DIMENSIONS]) for dimension in range(DIMENSIONS)]

    def closeness(self, vector: bytes, factor: float) -> "Closeness":
        """Return the cosine of a vector with that of each tool, times a factor."""
        factors = [byte - _MAX_NUMBER for byte in vector]
        alike = [0] * (_MAX_NUMBER + 1)  # the sum of the columns that are multiplied with the same number
        for times, column in zip(factors, self._columns, strict=True):
            alike[abs(times)] += column if times > 0 else -column
        half = 1 << 15  # keeps each number above 0, so that none takes from the next tool's
        total = half * _column(b"\1" * self._count) + sum(times * column for times, column in enumerate(alike))
        return Closeness(total.to_bytes(2 * self._count, "little"), half + _MAX_NUMBER * sum(factors), factor)


class Closeness:
    """How close a vector is to that of each tool, by its number."""

    def __init__(self, numbers: bytes, zero: int, factor: float) -> None:
        self._steps = numbers[1::2]  # the upper halves
        self._numbers = memoryview(numbers).cast("H")
        self._zero = zero
        self._unit = factor / _LENGTH**2

    def __getitem__(self, tool: int) -> float:
        return (self._numbers[tool] - self._zero) * self._unit

    def nearest(self, least: float) -> Iterator[int]:
        """Iterate over the tools that are at least so close, the closest first."""
        lowest = self._zero + least / self._unit if self._unit else inf
        for step in range(max(self._steps, default=0), -1, -1):
            if lowest >= step + 1 << 8:
                return
            # Only a search for bytes is fast enough to look at tens of thousands of tools.
            tools = [found.start() for found in re.finditer(re.escape(bytes([step])), self._steps, re.DOTALL)]
            yield from sorted((t for t in tools if self._numbers[t] >= lowest), key=self.__getitem__, reverse=True)


def _column(numbers: bytes) -> int:
    """Return a number of each tool as one long integer with 16 bits for each."""
    spread = bytearray(2 * len(numbers))
    spread[::2] = numbers
    return int.from_bytes(spread, "little")


@cache
def word_vectors() -> WordVectors:
    """Return the vectors of the file, which only a search or a new index reads."""
    return WordVectors.load(FILE.read_bytes())
