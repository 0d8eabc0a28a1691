"""JMESPath with bounds."""

from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist_services.files.queries import search
from tests.faults import for_each

ROWS = [{"n": number, "s": f"text {number}", "tags": ["a", "b"]} for number in range(1_000)]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("length(@)", 1_000),
        ("[?n > `997`].{n: n, s: s}", [{"n": 998, "s": "text 998"}, {"n": 999, "s": "text 999"}]),
        ("max_by(@, &n).s", "text 999"),
        ("[0].tags[]", ["a", "b"]),
        ("[*].tags[] | length(@)", 2_000),
        ("sum([].n)", 499_500),
        ("[0].none", None),
        ("{all: length(@), first: [0].n}", {"all": 1_000, "first": 0}),
    ],
)
def test_an_expression_is_evaluated(expression: str, found: Any) -> None:
    assert search(ROWS, expression) == found


def chain(link: str, links: int) -> str:
    return " | ".join([link] * links)


@for_each(
    ("expression", "problem"),
    [
        ("[?", "it is no JMESPath"),
        ("nothing(@)", "it is no JMESPath"),
        ("length(`1`)", "it is no JMESPath"),
        ("[?n > `1`", "it is no JMESPath"),
        ("sort([`1`, 'a'])", "it is no JMESPath"),
        ("map(&[@, @, @, @, @, @, @, @], @)[] | map(&[@, @, @, @, @, @, @, @], @)[]", "it makes too much"),
        ("[0].s < [0].n", "it cannot be evaluated"),
        ("a" * 2_001, "more than 2000 characters"),
        ("(" * 900 + "a" + ")" * 900, "nested too deeply"),
        (chain("[@, @]", 60), "it makes too much"),
        (chain("{a: @, b: @}", 60), "it makes too much"),
        (chain("[@, @][]", 60), "it makes too much"),
        (f"{chain('[@, @]', 60)} | to_string(@)", "it makes too much"),
        ("'" + "x" * 100 + "' | " + chain("join('', [@, @])", 60), "it makes too much"),
    ],
)
def test_an_expression_that_is_wrong_or_explodes_is_refused(expression: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem) as refused:
        search(ROWS, expression, max_made=500_000)
    assert refused.value.details["field"] == "expression"
    assert len(str(refused.value)) < 500


def test_an_expression_with_too_many_steps_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="too many steps"):
        search(ROWS, "[?n > `1`]", max_steps=3_000)
    assert search(ROWS, "[?n > `998`].n", max_steps=5_000) == [999]


def test_what_an_expression_makes_has_a_limit() -> None:
    with pytest.raises(InvalidRequest, match="it makes too much"):
        search(ROWS, chain("[@, @]", 3), max_made=10)


def test_a_result_that_is_too_large_to_send_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="its result has more than 200,000 values"):
        search(ROWS, chain("[@, @]", 6))
