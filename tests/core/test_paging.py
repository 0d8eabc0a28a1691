"""Pages and searches of lists in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.paging import page_of, search


@given(st.sets(st.text(min_size=1), max_size=30), st.integers(1, 7))
def test_the_pages_of_a_list_have_each_item_once_in_its_order(items: set[str], limit: int) -> None:
    seen, cursor = list[str](), ""
    while True:
        page = page_of(items, str, cursor, limit)
        seen, cursor = [*seen, *page.items], page.cursor
        assert page.total == len(items)
        assert len(page.items) <= limit
        if not cursor:
            break
    assert seen == sorted(items)


def test_a_page_goes_on_after_an_item_that_has_gone() -> None:
    assert page_of(["a", "d"], str, "b").items == ["d"]


@pytest.mark.parametrize(("text", "found"), [("", ["Ada", "Uma"]), (" UM ", ["Uma"]), ("x", [])])
def test_a_search_finds_a_part_in_small_or_capital_letters(text: str, found: list[str]) -> None:
    assert search(["Ada", "Uma"], text, lambda name: (name,)) == found
