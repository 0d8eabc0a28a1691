import pytest

from mcpist.tools.search.postings import MIN_SHARE, SCALE, UNIT, Postings

COUNT = 200
KNOWN = {
    "rare": {7: 2.5, 199: 0.25},
    "common": {number: number / COUNT for number in range(0, COUNT, 2)},
    "everywhere": dict.fromkeys(range(COUNT), 1.0),
}


def sums(postings: Postings, factors: dict[str, float]) -> list[float]:
    return [number * UNIT for number in postings.sums(factors)]


def test_the_weights_of_all_stems_of_a_tool_are_added() -> None:
    assert len(KNOWN["rare"]) < MIN_SHARE * COUNT < len(KNOWN["common"])
    factors = {"rare": 0.5, "common": 2.0, "everywhere": 1.5, "unknown": 9.0}
    expected = [
        sum(factors[stem] * weights.get(number, 0) for stem, weights in KNOWN.items()) for number in range(COUNT)
    ]
    assert sums(Postings.of(KNOWN, COUNT), factors) == pytest.approx(expected, abs=3 / SCALE)


def test_how_many_tools_have_a_stem_is_known_without_a_sum() -> None:
    postings = Postings.of(KNOWN, COUNT)
    assert [postings.tools_with(stem) for stem in (*KNOWN, "unknown")] == [2, 100, 200, 0]


def test_the_largest_sums_spill_into_no_other_tool() -> None:
    stems = {f"stem{number}": {0: 3.0, 2: 3.0} for number in range(800)}
    found = sums(Postings.of(stems, 3), dict.fromkeys(stems, 13.8))
    assert found == pytest.approx([800 * 3 * 13.8, 0, 800 * 3 * 13.8], rel=0.01)


def test_no_tools_have_no_sums() -> None:
    assert Postings.of({}, 0).sums({"a": 1.0}) == []
