"""Postings: for each stem the tools that have it, packed so that an index loads quickly."""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

SCALE = 2000  # a weight of 1
PAIR_BYTES = 8  # of a tool's number and its weight

type Postings = Mapping[str, str]
"""For each stem the numbers of its tools, each followed by the stem's weight there: 32-bit numbers in base64.

A search unpacks the few stems that it needs, since reading all of them as JSON would make an index slow to load.
"""


def packed(known: Mapping[str, Mapping[int, float]]) -> Postings:
    """Return the postings of stems, each with its weight in each of its tools."""
    return {stem: _base64(weights) for stem, weights in sorted(known.items())}


def length(postings: Postings, stem: str) -> int:
    """Return how many tools have a stem."""
    # Nothing is unpacked, since a query asks for each of its stems: base64 writes 3 bytes in 4 characters.
    return len(postings.get(stem, "")) * 3 // 4 // PAIR_BYTES


def add_weights(
    found: dict[int, float], postings: Postings, factors: Mapping[str, float], allowed: AbstractSet[int], max_tools: int
) -> None:
    """Add each tool's weights, each times the factor of its stem, to its sum.

    From the first stem on with which that would be more than so many tools, stems of low factors, which many tools
    have, add no further ones.
    """
    is_full = False
    for stem in sorted((stem for stem in factors if stem in postings), key=factors.__getitem__, reverse=True):
        pairs, unit = memoryview(b64decode(postings[stem])).cast("I").tolist(), factors[stem] / SCALE
        if not is_full and len(found) + len(pairs) // 2 <= max_tools:
            for number, weight in zip(pairs[::2], pairs[1::2], strict=True):
                if number in allowed:
                    found[number] = found.get(number, 0.0) + unit * weight
            continue
        weights = dict(zip(pairs[::2], pairs[1::2], strict=True))
        more = weights.keys() & found.keys() if is_full else weights.keys() & allowed
        if found and len(found) + len(more) > max_tools:
            is_full, more = True, weights.keys() & found.keys()
        for number in more:
            found[number] = found.get(number, 0.0) + unit * weights[number]


def _base64(weights: Mapping[int, float]) -> str:
    pairs = [value for number, weight in weights.items() for value in (number, round(SCALE * weight))]
    return b64encode(array("I", pairs)).decode()
