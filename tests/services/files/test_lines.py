"""The difference of two texts."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from mcpist_services.files.lines import MAX_PART_BYTES, compare

LINES = st.lists(st.sampled_from("abcd"), max_size=12)


@given(LINES, LINES, st.integers(0, 3))
def test_a_difference_counts_the_lines_that_changed(old: list[str], new: list[str], context: int) -> None:
    found = compare("\n".join(old), "\n".join(new), context)
    assert found["same"] == (old == new)
    assert len(old) - found["removed"] == len(new) - found["added"]


def test_a_change_far_inside_has_the_line_numbers_of_the_whole_text() -> None:
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "new", *old[51:]]
    whole = "\n".join(difflib.unified_diff(old, new, "a", "b", n=2, lineterm=""))
    assert compare("\n".join(old), "\n".join(new), 2)["diff"] == whole


def test_large_texts_that_share_little_are_compared_without_order() -> None:
    old, new = (("\n".join(f"{side} {number}" for number in range(3_000))) for side in "ab")
    found = compare(f"{old}\nboth", f"{new}\nboth\nz", 3)
    assert (found["removed"], found["added"]) == (3_000, 3_001)
    assert len(found["diff"]) <= MAX_PART_BYTES + 2
    assert found["diff"].endswith("\n…")
