"""Postings: for each stem, the tools that have it and its weight in each, packed so that an index loads quickly.

A stem of few tools is a list of pairs. One of many tools is a column, a number for each of all tools: a search adds
columns as long integers that hold one number in each 8 to 64 bits. That is fast without numpy, which the functions do
not have. No sum may outgrow its bits or fall below 0.
"""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping
from itertools import batched
from typing import Literal, Self

SCALE = 2000  # a weight of 1, which may be up to 32
PRECISION = 64  # of what a search multiplies with: sums of 800 such products with up to 3 * 14 stay within 32 bits
UNIT = 1 / (SCALE * PRECISION)  # of a sum
MIN_SHARE = 1 / 16  # of the tools: a stem that more have is a column

type Width = Literal[1, 2, 4, 8]
"""Bytes of a number."""

_FORMATS: Mapping[Width, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


def joined(numbers: bytes, width: Width, wider: Width) -> int:
    """Return a column of numbers of `width` bytes as one long integer that has `wider` bytes for each."""
    spread = bytearray(wider * len(numbers) // width)
    for byte in range(width):
        spread[byte::wider] = numbers[byte::width]
    return int.from_bytes(spread, "little")


def parts(number: int, count: int, width: Width) -> memoryview:
    """Return the `count` numbers of `width` bytes that a long integer holds."""
    return memoryview(number.to_bytes(width * count, "little")).cast(_FORMATS[width])


class Postings:
    """The tools of each stem, of `count` tools that are numbered from 0.

    Packed, a list of pairs is in base64, and so is a column, after the number of tools that have the stem and a colon.
    """

    def __init__(self, packed: Mapping[str, str], count: int) -> None:
        self.packed = packed
        self.count = count

    @classmethod
    def of(cls, known: Mapping[str, Mapping[int, float]], count: int) -> Self:
        """Pack the weights of each stem by the tools' numbers."""
        return cls({stem: _pack(weights, count) for stem, weights in sorted(known.items())}, count)

    def tools_with(self, stem: str) -> int:
        """Return how many tools have a stem."""
        packed = self.packed.get(stem, "")
        many, colon, _ = packed.partition(":")
        return int(many) if colon else len(_pairs(packed)) // 2

    def sums(self, factors: Mapping[str, float]) -> list[int]:
        """Return for each tool the sum of its stems' weights, each times a factor, in parts of `UNIT`."""
        total = 0
        few: list[tuple[int, memoryview]] = []
        for stem, factor in factors.items():
            if packed := self.packed.get(stem):
                _, colon, numbers = packed.partition(":")
                times = round(factor * PRECISION)
                if colon:
                    total += times * joined(b64decode(numbers), 2, 4)
                else:
                    few.append((times, _pairs(packed)))
        found = parts(total, self.count, 4).tolist()
        for times, pairs in few:
            for number, weight in batched(pairs, 2, strict=True):
                found[number] += times * weight
        return found


NO_POSTINGS = Postings({}, 0)


def _pack(weights: Mapping[int, float], count: int) -> str:
    whole = {number: round(SCALE * weight) for number, weight in weights.items()}
    if len(whole) < MIN_SHARE * count:
        return _base64(array("I", [value for pair in whole.items() for value in pair]))
    return f"{len(whole)}:{_base64(array('H', (whole.get(number, 0) for number in range(count))))}"


def _base64(numbers: array[int]) -> str:
    return b64encode(numbers).decode()


def _pairs(packed: str) -> memoryview:
    return memoryview(b64decode(packed)).cast("I")
