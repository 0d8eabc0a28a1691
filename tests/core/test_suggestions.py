import pytest

from mcpist.suggestions import nearest


@pytest.mark.parametrize(
    ("word", "expected"),
    [("isues", "issues and 2 more"), ("x", "issues, pulls, labels"), ("", "issues, pulls, labels")],
)
def test_the_nearest_words_come_first_and_else_some(word: str, expected: str) -> None:
    assert nearest(word, iter(["issues", "pulls", "labels"])) == expected


def test_a_list_that_is_cut_says_how_many_more_there_are() -> None:
    assert nearest("x", ["a", "b", "c"], most=2) == "a, b and 1 more"


def test_where_there_is_no_word_none_is_named() -> None:
    assert nearest("x", []) == "none"


def test_the_parts_of_a_word_are_nearest() -> None:
    assert nearest("fs", ["files", "fs.read", "fs.write", "jira"]) == "fs.read, fs.write and 2 more"
