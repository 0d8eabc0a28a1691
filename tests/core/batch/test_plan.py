import json
from typing import Any

import pytest

from mcpist.batch.machine import machine
from mcpist.batch.plan import Plan, plan
from mcpist.caller import Role
from mcpist.errors import CyclicSteps, McpistError
from tests.core.sample import EVERYTHING, sieve
from tests.core.sample.shop import shop

SHOP = sieve(EVERYTHING)


def step(name: str | None = None, tool: str = "list_items", **fields: Any) -> dict[str, Any]:
    return ({"id": name} if name else {}) | {"module": "shop", "tool": tool} | fields


def planned(*steps: dict[str, Any]) -> Plan:
    return plan("\n".join(map(json.dumps, steps)), SHOP)


def problems(*steps: dict[str, Any], of: Any = SHOP) -> list[tuple[int, str, str]]:
    """Line, code and message of all that is wrong with a batch."""
    with pytest.raises(McpistError) as refused:
        plan(list(steps), of)
    shown = refused.value.as_dict()
    json.dumps(shown)
    return [
        (problem["details"].get("line", 0), problem["code"], problem["message"])
        for problem in [shown, *shown["details"].get("problems", [])]
    ]


def shown(made: Plan) -> list[dict[str, Any]]:
    """The plan's steps as people see them."""
    steps: list[dict[str, Any]] = made.as_dict(machine(made.graph, "runner"))["steps"]
    return steps


def test_a_step_waits_for_those_it_names_and_those_it_refers_to() -> None:
    made = planned(
        step("find"),
        step("get", "get_item", params={"item_id": "${find.items[0].id}"}),
        step(None, "get_item", params={"item_id": "x"}, after="get"),
        step("last", "get_item", params={"item_id": "${find.raw.x}-${get.name}"}, after=["find"]),
    )
    assert [sorted(needs) for needs in made.graph.needs] == [[], [0], [1], [0, 1]]
    assert shown(made)[1] == {
        "id": "get",
        "line": 2,
        "tool": "shop.get_item",
        "effect": "reads",
        "needs": ["find"],
        "params": {"item_id": "${find.items[0].id}"},
    }
    assert [entry["id"] for entry in shown(made)] == ["find", "get", "line3", "last"]
    assert made.tools[0] is shop.tools["list_items"]


def test_everything_that_is_wrong_is_told_at_once_with_its_line() -> None:
    found = problems(
        step("a", "list_itms"),
        step("b", "create_item", params={"name": "x"}),
        step("c", after="aa"),
        {"id": "d", "module": "shop"},
        step("e", params={"query": "${b.items[0].nam}"}),
        step("e"),
    )
    assert [(line, code) for line, code, _ in found] == [
        (1, "TOOL_NOT_FOUND"),
        (2, "VALIDATION_ERROR"),
        (3, "VALIDATION_ERROR"),
        (4, "VALIDATION_ERROR"),
        (5, "VALIDATION_ERROR"),
        (6, "VALIDATION_ERROR"),
    ]
    assert [message for _, _, message in found] == [
        'Line 1: The module "shop" has no tool "list_itms".',
        "Line 2: shop.create_item: price: Field required",
        'Line 3: after names the step "aa", but no line has this id.',
        "Line 4: tool: it is missing",
        "Line 5: params.query: ${b.items[0].nam} does not resolve: b shows no column nam.",
        'Line 6: the id "e" is taken by line 5.',
    ]


def test_other_problems_are_told_in_the_same_language() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "x"), step("b", "y"))
    shown = refused.value.as_dict("ja")
    assert shown["details"]["problems"][0]["message"] == "2 行目: モジュール「shop」にツール「y」はありません。"


def test_a_problem_that_is_alone_has_no_others() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "x"))
    assert "problems" not in refused.value.details


def test_an_unknown_step_is_told_with_the_nearest() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("search"), step("b", after="serch"))
    assert refused.value.text().hint == "Ids: search."
    assert refused.value.details["id"] == "b"


@pytest.mark.parametrize("needing", [{"after": "line1"}, {"params": {"query": "${line1.items[0].name}"}}])
def test_a_step_without_an_id_can_be_needed_by_nobody(needing: dict[str, Any]) -> None:
    (found,) = problems(step(), step("b", **needing))
    assert found[2].endswith('names the step "line1", but no line has this id.')


def test_who_needs_a_line_with_a_problem_is_not_told_that_it_is_unknown() -> None:
    (found,) = problems({"id": "a", "modul": "shop", "module": "shop", "tool": "list_items"}, step("b", after="a"))
    assert found[2].startswith("Line 1: modul: there is no such field")


@pytest.mark.parametrize(
    ("steps", "cycle"),
    [
        ([step("a", after="a")], "a -> a"),
        ([step("a", params={"query": "${a.raw.x}"})], "a -> a"),
        ([step("x"), step("a", after="c"), step("b", after="a"), step("c", after="b")], "a -> c -> b -> a"),
        ([step("a", params={"query": "${b.raw.x}"}), step("b", after="a")], "a -> b -> a"),
    ],
)
def test_a_cycle_is_named(steps: list[dict[str, Any]], cycle: str) -> None:
    with pytest.raises(CyclicSteps) as refused:
        planned(*steps)
    assert refused.value.details["cycle"] == cycle


def test_a_tool_that_is_not_the_callers_is_refused_before_anything_runs() -> None:
    reader = sieve(Role("reader", ("shop",)), disabled=("shop.get_item",))
    assert [
        code
        for _, code, _ in problems(
            step("a", "create_item", params={"name": "x", "price": 1}),
            step("b", "get_item", params={"item_id": "1"}),
            {"module": "safe", "tool": "list_jewels"},
            {"module": "sfe", "tool": "list_jewels"},
            of=reader,
        )
    ] == ["AUTHORIZATION_ERROR", "TOOL_DISABLED", "AUTHORIZATION_ERROR", "MODULE_NOT_FOUND"]


def test_wrong_arguments_come_with_the_schema_once_a_tool() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "create_item"), step("b", "create_item"), step("c", "get_item"))
    shown = refused.value.as_dict()["details"]
    assert shown["schema"] == shop.tools["create_item"].input_schema
    assert ["schema" in other["details"] for other in shown["problems"]] == [False, True]


def test_an_argument_that_refers_to_a_result_is_not_checked_yet() -> None:
    planned(step("a"), step("b", "create_item", params={"name": "n", "price": "${a.items[0].price}"}))
    (found,) = problems(step("a"), step("b", "create_item", params={"nam": "${a.items[0].name}", "price": 1}))
    assert found[2] == "Line 2: shop.create_item: name: Field required"


def test_a_malformed_reference_is_told_once() -> None:
    (found,) = problems(step("a"), step("b", params={"query": "${a.items[}"}))
    assert found[:2] == (2, "VALIDATION_ERROR")
