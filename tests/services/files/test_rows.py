"""Rows, chosen and sorted."""

from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import PartialList
from mcpist_services.files.rows import select
from tests.faults import for_each

ROWS: list[dict[str, Any]] = [
    {"n": 1, "t": "Fix crash", "day": "2026-01-02", "ok": True, "tags": ["ui", "api"], "user": {"login": "ada"}},
    {"n": 10, "t": "crash again", "day": "2026-03-01", "ok": False, "tags": [], "user": {"login": "bob"}},
    {"n": 2.5, "t": "", "day": None, "user": None, "code": "007"},
]


def numbers(*where: str, **others: Any) -> list[Any]:
    found = select(ROWS, where=where, **others)
    assert not isinstance(found, PartialList)
    return [row["n"] for row in found]


@for_each(
    ("condition", "found"),
    [
        ("n = 1", [1]),
        ("n = 1.0", [1]),
        ("n != 1", [10, 2.5]),
        ("n > 2", [10, 2.5]),
        ("n <= 2.5", [1, 2.5]),
        ("n > two", []),
        ("t = Fix crash", [1]),
        ("t = 'Fix crash'", [1]),
        ("t contains CRASH", [1, 10]),
        ("t matches ^Fix|again$", [1, 10]),
        ("t is empty", [2.5]),
        ("t is not empty", [1, 10]),
        ("tags is empty", [10, 2.5]),
        ("tags contains api", [1]),
        ("day >= 2026-02-01", [10]),
        ("day < 2026-02-01", [1]),
        ("ok = true", [1]),
        ("ok != true", [10, 2.5]),
        ("ok > 0", []),
        ("user.login = ada", [1]),
        ("user.login matches a", [1]),
        ("code = 007", [2.5]),
        ("  n   >=   10  ", [10]),
        ("code =", [1, 10]),
    ],
)
def test_rows_are_chosen_by_a_condition(condition: str, found: list[Any]) -> None:
    assert numbers(condition) == found


def test_all_conditions_must_hold() -> None:
    assert numbers("n > 2", "t contains crash") == [10]


@pytest.mark.parametrize(
    ("order_by", "found"),
    [
        ("n", [1, 2.5, 10]),
        ("-n", [10, 2.5, 1]),
        ("day", [1, 10, 2.5]),
        ("-day", [10, 1, 2.5]),
        ("-user.login", [10, 1, 2.5]),
    ],
)
def test_rows_are_sorted_with_empty_cells_last(order_by: str, found: list[Any]) -> None:
    assert numbers(order_by=order_by) == found


def test_a_selection_is_a_page_with_its_columns() -> None:
    page = select(ROWS, columns=["n", "user.login"], offset=1, limit=1)
    assert page == PartialList([{"n": 10, "user.login": "bob"}], "3 of 3 rows fit: go on with offset=2.")
    assert select(ROWS, offset=5) == []


def test_a_long_cell_is_cut() -> None:
    (row,) = select([{"body": "x" * 1_500}])  # type: ignore[misc]
    assert row["body"] == "x" * 1_000 + "… (1,500 characters)"


@pytest.mark.parametrize(
    ("selection", "field", "problem"),
    [
        ({"where": ["n"]}, "where.0", "write a column"),
        ({"where": ["n = 1", "n like 1"]}, "where.1", "write a column"),
        ({"where": ["n is 1"]}, "where.0", "write a column"),
        ({"where": ["n >"]}, "where.0", "write a column"),
        ({"where": ["nn = 1"]}, "where.0", "no row has nn. Columns: n"),
        ({"where": ["t matches ("]}, "where.0", "it is no RE2 pattern"),
        ({"columns": ["n", "user.name"]}, "columns.1", "no row has user.name"),
        ({"order_by": "-x"}, "order_by", "no row has x"),
    ],
)
def test_a_wrong_selection_names_the_place(selection: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        select(ROWS, **selection)
    assert refused.value.details["field"] == field
    assert refused.value.details["problem"].startswith(problem)
