"""Patterns of callers."""

import time

import pytest

from mcpist.errors import InvalidRequest
from mcpist.patterns import MAX_PATTERN_CHARACTERS, compile_pattern


def test_a_pattern_is_searched_in_texts_of_any_script() -> None:
    found = compile_pattern("(?i)ERROR|失敗").search("ログイン失敗: error")
    assert (found.start(), found.end()) == (4, 6)
    assert compile_pattern("a+").fullmatch("b") is None


@pytest.mark.parametrize(
    "pattern", ["(", r"(a)\1", "(?=a)", "(a{1000}){1000}", "x" * (MAX_PATTERN_CHARACTERS + 1), "[z-a]"]
)
def test_what_is_no_pattern_is_refused_with_its_field(pattern: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        compile_pattern(pattern, "where.0")
    assert refused.value.details["field"] == "where.0"


def test_a_pattern_that_explodes_elsewhere_takes_linear_time() -> None:
    began = time.process_time()
    assert compile_pattern("^(a*)*(a|aa)+$").search("a" * 200_000 + "b") is None
    assert time.process_time() - began < 2
