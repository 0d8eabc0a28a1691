from math import sqrt
from random import Random

import pytest

from mcpist.tools.search.index import Index
from mcpist.tools.search.query import stems
from mcpist.tools.search.word_vectors import DIMENSIONS, FILE, ToolVectors, WordVectors, word_vectors
from tests.core.sample import CATALOGUE

MAX_BYTES = 2_500_000  # of the file: it is in the layer, and read by the first search


def cosine(first: list[float], second: list[float]) -> float:
    product = sum(one * other for one, other in zip(first, second, strict=True))
    return product / sqrt(sum(one * one for one in first) * sum(other * other for other in second))


def closeness(one: str, other: str) -> float:
    first, second = (word_vectors().vector(dict.fromkeys(stems(text), 1.0)) for text in (one, other))
    return ToolVectors(first).closeness(second, 1.0)[0]


def test_the_file_is_small_and_has_one_vector_for_each_stem() -> None:
    line, _, rows = FILE.read_bytes().partition(b"\n")
    found = line.decode().split(" ")
    assert FILE.stat().st_size < MAX_BYTES
    assert len(set(found)) == len(found) == len(rows) / DIMENSIONS
    assert len(found) > 10_000


@pytest.mark.parametrize(("near", "far"), [("erase files", "play music"), ("rain tomorrow", "share price")])
def test_texts_of_one_meaning_are_closer_than_others(near: str, far: str) -> None:
    known = {"erase files": "delete documents", "rain tomorrow": "weather forecast"}[near]
    assert closeness(known, near) > 0.4
    assert closeness(known, far) < 0.3


def test_closeness_is_the_cosine_of_the_weighted_sums() -> None:
    chance = Random(5)  # noqa: S311 - equal in every run
    exact = [[float(chance.randint(-127, 127)) for _ in range(DIMENSIONS)] for _ in range(4)]
    table = WordVectors("abcd", bytes(128 + int(number) for row in exact for number in row))
    tools = ToolVectors(table.vector({"a": 1.0}) + table.vector({"b": 0.5, "c": 1.0, "d": 0.25}))
    first, second = exact[0], [0.5 * b + c + 0.25 * d for _, b, c, d in zip(*exact, strict=True)]
    query = [a + c for a, _, c, _ in zip(*exact, strict=True)]
    near = tools.closeness(table.vector({"a": 1.0, "c": 1.0}), 2.0)
    expected = [2 * cosine(query, first), 2 * cosine(query, second)]
    assert [near[0], near[1]] == pytest.approx(expected, abs=0.05)
    assert [*near.nearest(-2)] == sorted((0, 1), key=expected.__getitem__, reverse=True)
    assert [*near.nearest(max(expected) - 0.1)] == [expected.index(max(expected))]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_spill_into_no_other_tool(sign: int) -> None:
    table = WordVectors("ab", bytes([128 + 127 * sign] * DIMENSIONS + [128 - 127 * sign] * DIMENSIONS))
    alike, opposed = table.vector({"a": 1e9}), table.vector({"b": 1.0})
    tools = ToolVectors(alike + opposed + table.vector({}) + alike)
    near = tools.closeness(alike, 1.0)
    assert [near[number] for number in range(4)] == pytest.approx([1, -1, 0, 1], abs=0.2)


def test_what_has_no_vector_is_close_to_nothing() -> None:
    assert word_vectors().known({"zorblax": 1.0, "page": 0.5}) == {"page": 0.5}
    assert closeness("zorblax", "page") == 0
    assert not [*ToolVectors(b"").closeness(word_vectors().vector({"page": 1.0}), 1.0).nearest(-1)]


def test_an_index_is_read_without_the_file() -> None:
    text = CATALOGUE.read().dump()
    word_vectors.cache_clear()
    index = Index.load(text)
    assert index.tools
    assert word_vectors.cache_info().currsize == 0
    assert index.words.rank("item", range(1))
    assert word_vectors.cache_info().currsize == 1
