import pytest

from mcpist.render.shows import shows
from mcpist.tools.call import Call
from mcpist.tools.search import search
from mcpist.tools.tool import Tool
from tests.core.sample.shop import shop

TOOLS = list(shop.tools.values())


def tool(name: str, description: str) -> Tool:
    def function(issue_key: str) -> Call:
        return Call("GET", f"/{issue_key}")

    function.__name__, function.__doc__ = name, description
    return Tool("jira", function, "reads", shows("id"), idempotent=True, reveals=False)


def names(query: str) -> list[str]:
    return [found.name for found in search(query, TOOLS)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("put an item on sale", "create_item"),
        ("remove items", "delete_item"),
        ("KEY of the till", "get_key"),
        ("list", "list_items"),
        ("price size", "create_item"),
    ],
)
def test_the_tool_with_most_of_the_words_comes_first(query: str, first: str) -> None:
    assert names(query)[0] == first


def test_a_word_in_the_name_counts_more_than_one_elsewhere() -> None:
    elsewhere, named = tool("count", "Search all issues."), tool("search", "Find them.")
    assert search("search", [elsewhere, named]) == [named, elsewhere]


def test_equal_tools_keep_their_order_and_only_the_best_are_given() -> None:
    many = [tool(f"issue_{number}", "Read.") for number in range(20)]
    assert search("issues", many) == many[:10]
    assert search("issue 7", many, most=1) == [many[7]]


@pytest.mark.parametrize("query", ["", "!?", "zebra", "設計"])
def test_what_fits_nothing_finds_nothing(query: str) -> None:
    assert names(query) == []


def test_words_in_japanese_are_found() -> None:
    assert search("設計 検索", [tool("a", "Read."), tool("b", "設計 を 検索")])[0].name == "b"


def test_a_rare_word_counts_more_than_common_ones_and_what_fits_badly_is_left_out() -> None:
    many = [tool(f"read_{number}", "Read a thing of the list.") for number in range(8)]
    rare = tool("merge", "Merge a thing.")
    assert search("merge a thing", [*many, rare])[0] == rare
    best = tool("merge_thing", "Merge the thing.")
    assert search("merge the thing", [*many, best]) == [best]
