import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.batch.execution.plan import Plan, plan
from mcpist.caller import Role
from mcpist.errors import CyclicSteps, McpistError
from tests.core.sample import EVERYTHING, permissions
from tests.core.sample.shop.tools import shop

SHOP = permissions(EVERYTHING)
RUNNER = "arn:aws:lambda:eu-west-1:123456789012:function:runner:live"


def step(name: str | None = None, tool: str = "list_items", **fields: Any) -> dict[str, Any]:
    return ({"id": name} if name else {}) | {"module": "shop", "tool": tool} | fields


def planned(*steps: dict[str, Any]) -> Plan:
    return plan("\n".join(map(json.dumps, steps)), SHOP)


def problems(*steps: dict[str, Any], of: Any = SHOP) -> list[tuple[int, str, str]]:
    """Return line, code and message of all problems of a batch."""
    with pytest.raises(McpistError) as refused:
        plan(list(steps), of)
    shown = refused.value.as_dict()
    json.dumps(shown)
    return [
        (problem["details"].get("line", 0), problem["code"], problem["message"])
        for problem in [shown, *shown["details"].get("problems", [])]
    ]


def shown(batch: Plan) -> list[dict[str, Any]]:
    """Return the plan's steps as people see them."""
    steps: list[dict[str, Any]] = batch.as_dict(batch.build_machine(RUNNER))["steps"]
    return steps


def needs(batch: Plan) -> dict[str, list[str]]:
    """Return the ids of the needs of each step."""
    return {entry["id"]: entry["needs"] for entry in shown(batch)}


def test_a_step_waits_for_the_steps_in_after_and_in_references() -> None:
    batch = planned(
        step("find"),
        step("get", "get_item", params={"item_id": "${find.items[0].id}"}),
        step(None, "get_item", params={"item_id": "x"}, after="get"),
        step("last", "get_item", params={"item_id": "${find.raw.x}-${get.name}"}, after=["find"]),
    )
    assert needs(batch) == {"find": [], "get": ["find"], "line3": ["get"], "last": ["find", "get"]}
    assert shown(batch)[1] == {
        "id": "get",
        "line": 2,
        "tool": "shop.get_item",
        "effect": "reads",
        "needs": ["find"],
        "params": {"item_id": "${find.items[0].id}"},
    }
    assert [entry["id"] for entry in shown(batch)] == ["find", "get", "line3", "last"]
    assert batch.steps_by_line[0][2] is shop.tools["list_items"]


def test_a_step_may_write_a_tool_with_its_module() -> None:
    assert shown(planned(step("a", "shop.list_items"))) == shown(planned(step("a")))


def test_all_problems_are_reported_together_with_their_lines() -> None:
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


def test_all_problems_of_a_line_are_reported_at_once_with_the_schemas_of_their_fields() -> None:
    commands = [step("a", "create_item", params={"nam": "x", "price": "dear", "tags": ["${b.items[0"]}), step("b")]
    found = problems(*commands)
    assert [line for line, _, _ in found] == [1, 1, 1, 1]
    assert [message.partition(",")[0] for _, _, message in found] == [
        "Line 1: params.tags.0: ${b.items[0} does not resolve: it is not of this form.",
        "Line 1: shop.create_item: name: Field required",
        "Line 1: shop.create_item: price: Input should be a valid number",
        "Line 1: shop.create_item: nam: there is no such field: did you mean name?",
    ]
    with pytest.raises(McpistError) as refused:
        planned(*commands)
    errors = [refused.value, *refused.value.details["problems"]]
    assert ["schema" in error.details for error in errors] == [False, True, True, False]


def test_a_column_that_is_not_shown_is_named_with_its_place_in_the_services_json() -> None:
    reference = {"query": "${find.items[2].owner}"}
    with pytest.raises(McpistError) as refused:
        planned(step("find"), step("use", params=reference))
    assert refused.value.text().hint.endswith(
        "Columns: id, name, price. In its JSON perhaps: find.raw.results[2].owner."
    )


def test_further_problems_are_reported_in_the_same_language() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "x"), step("b", "y"))
    shown = refused.value.as_dict("ja")
    assert shown["details"]["problems"][0]["message"] == "2 行目: モジュール「shop」にツール「y」はありません。"


def test_a_single_problem_has_no_further_problems() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "x"))
    assert "problems" not in refused.value.details


def test_an_unknown_step_is_reported_with_the_nearest_id() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("search"), step("b", after="serch"))
    assert refused.value.text().hint == "Ids: search and 1 more."
    assert refused.value.details["id"] == "b"


@pytest.mark.parametrize("needing", [{"after": "line1"}, {"params": {"query": "${line1.items[0].name}"}}])
def test_no_step_can_need_one_without_an_id(needing: dict[str, Any]) -> None:
    (found,) = problems(step(), step("b", **needing))
    assert found[2].endswith('names the step "line1", but no line has this id.')


def test_a_step_that_needs_a_line_with_a_problem_is_not_reported() -> None:
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
def test_a_cycle_is_reported_with_its_path(steps: list[dict[str, Any]], cycle: str) -> None:
    with pytest.raises(CyclicSteps) as refused:
        planned(*steps)
    assert refused.value.details["cycle"] == cycle


def test_a_tool_that_the_caller_may_not_use_is_refused_before_anything_runs() -> None:
    reader = permissions(Role("reader", ("shop",)), disabled=("shop.get_item",))
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


def test_wrong_arguments_are_reported_with_equal_schemas_of_a_tool_once() -> None:
    with pytest.raises(McpistError) as refused:
        planned(step("a", "create_item"), step("b", "create_item"), step("c", "get_item"))
    shown = refused.value.as_dict()["details"]
    assert shown["schema"] == shop.tools["create_item"].input_schema["properties"]["name"]
    assert ["schema" in other["details"] for other in shown["problems"]] == [True, False, False, True]


def test_an_argument_that_refers_to_a_result_is_not_checked_yet() -> None:
    planned(step("a"), step("b", "create_item", params={"name": "n", "price": "${a.items[0].price}"}))
    missing, unknown = problems(step("a"), step("b", "create_item", params={"nam": "${a.items[0].name}", "price": 1}))
    assert missing[2] == "Line 2: shop.create_item: name: Field required"
    assert unknown[2] == "Line 2: shop.create_item: nam: there is no such field: did you mean name?"


def test_a_malformed_reference_is_reported_once() -> None:
    (found,) = problems(step("a"), step("b", params={"query": "${a.items[}"}))
    assert found[:2] == (2, "VALIDATION_ERROR")


def test_references_in_each_and_when_are_needs_like_those_in_params() -> None:
    batch = planned(
        step("find"),
        step("flag"),
        step("get", "get_item", params={"item_id": "${each.id}"}, each="${find.items}", when="${flag.items}"),
        step("only", when={"equals": ["${flag.raw.x}", "${get.elements[0].status}"]}, on_error="continue", timeout=3),
    )
    assert needs(batch) == {"find": [], "flag": [], "get": ["find", "flag"], "only": ["flag", "get"]}
    assert [batch.steps[index].id for index in batch.map_steps] == ["get"]
    assert [batch.steps[index].id for index in batch.continue_on_error] == ["only"]
    wishes = {name: value for name, value in shown(batch)[3].items() if name in {"when", "on_error", "timeout", "each"}}
    assert wishes == {
        "when": {"equals": ["${flag.raw.x}", "${get.elements[0].status}"]},
        "on_error": "continue",
        "timeout": 3,
    }
    assert shown(batch)[2]["each"] == "${find.items}"


def test_batches_that_differ_only_in_ids_and_order_have_one_machine() -> None:
    lines = [step("a"), step("b", after="a"), step("c", after="a", each="${a.items}"), step("d", after=["b", "c"])]
    names = {"a": "w", "b": "x", "c": "y", "d": "z"}
    other = [step("z", after=["x", "y"]), step("y", after="w", each="${w.items}"), step("w"), step("x", after="w")]
    first, second = planned(*lines), planned(*other)
    assert first.graph == second.graph
    assert first.map_steps == second.map_steps
    assert first.build_machine(RUNNER) == second.build_machine(RUNNER)
    assert [names[found.id] for found in first.steps] == [found.id for found in second.steps]


def test_a_graph_that_is_too_tangled_for_a_machine_runs_on_the_relay() -> None:
    layers = [[f"s{layer}_{place}" for place in range(4)] for layer in range(7)]
    lines = [
        step(name, after=[before[place], before[place - 1]] if layer else [])
        for layer, names in enumerate(layers)
        for place, name in enumerate(names)
        for before in [layers[layer - 1]]
    ]
    batch = planned(*lines)
    found = batch.as_dict(batch.build_machine(RUNNER))
    assert (found["form"], found["depth"]) == ("relay", 7)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"params": {"item_id": "${each.id}"}},
            "params.item_id: ${each.id} does not resolve: it stands for an element",
        ),
        ({"params": {"item_id": "1"}, "when": "${each.id}"}, "when.not_empty: ${each.id} does not resolve: it stands"),
        (
            {"params": {"item_id": "1"}, "each": "${each.items}"},
            "each: ${each.items} does not resolve: it stands for an element, and here is none.",
        ),
        (
            {"params": {"item_id": "${each.nam}"}, "each": "${find.items}"},
            "params.item_id: ${each.nam} does not resolve: find shows no column nam.",
        ),
        (
            {"params": {"item_id": "1"}, "each": "${find.items}", "when": "${each[0].nam}"},
            "when.not_empty: ${each[0].nam} does not resolve: find shows no column nam.",
        ),
        ({"params": {"item_id": "1"}, "each": "${fin.items}"}, 'each names the step "fin", but no line has this id.'),
        ({"params": {"item_id": "1"}, "when": "${fin.items}"}, 'when.not_empty names the step "fin", but no line has'),
        (
            {"params": {"item_id": "1"}, "when": "${find..x}"},
            "when.not_empty: ${find..x} does not resolve: it is not of",
        ),
        (
            {"params": {"item_id": "${each.id}"}, "each": "${find..x}"},
            "each: ${find..x} does not resolve: it is not of",
        ),
        (
            {"params": {"item_id": "${fan.results}"}},
            "params.item_id: ${fan.results} does not resolve: fan runs for each element, so its JSON is a list.",
        ),
        ({"params": {"item_id": "${fan.items[0].nam}"}}, "params.item_id: ${fan.items[0].nam} does not resolve: fan"),
    ],
)
def test_a_reference_that_cannot_resolve_is_refused_with_its_line(fields: dict[str, Any], message: str) -> None:
    fan = step("fan", each="${find.items}", params={"query": "${each.name}"})
    ((line, code, found),) = problems(step("find"), fan, step("get", "get_item", **fields))
    assert (line, code) == (3, "VALIDATION_ERROR")
    assert found.startswith(f"Line 3: {message}")


@pytest.mark.parametrize("text", ["{{find.items[0].name}}", "{{ find.items[0].name }}", "$find.items[0].name"])
def test_a_reference_in_another_notation_is_refused(text: str) -> None:
    ((line, _, found),) = problems(step("find"), step("get", "get_item", params={"item_id": text}))
    assert (line, "params.item_id" in found) == (2, True)


@pytest.mark.parametrize("text", ["{{other.items[0].name}}", "costs $find.items", "{{find}}", "$find"])
def test_a_text_that_only_looks_like_a_reference_is_a_text(text: str) -> None:
    assert needs(planned(step("find"), step("get", "get_item", params={"item_id": text}))) == {"find": [], "get": []}


def test_a_list_of_the_services_own_json_may_have_any_fields() -> None:
    get = step("get", "get_item", params={"item_id": "${each.anything}"}, each="${find.raw.results}")
    assert needs(planned(step("find"), get)) == {"find": [], "get": ["find"]}


def test_a_step_may_not_run_for_each_of_its_own_results() -> None:
    with pytest.raises(CyclicSteps):
        planned(step("a", each="${a.items}"))


def test_params_that_exceed_an_item_are_refused_with_their_line() -> None:
    noise = hashlib.shake_256(b"noise").hexdigest(700_000)
    ((line, code, message),) = problems(step("a"), step("b", params={"query": noise}))
    assert (line, code) == (2, "PAYLOAD_TOO_LARGE")
    assert "at most 300000 are allowed" in message
    ((_, code, _),) = problems(step("a"), step("b", when={"equals": ["${a.raw}", noise]}))
    assert code == "PAYLOAD_TOO_LARGE"
    planned(step("a", params={"query": "x" * 1_000_000}))


def test_a_step_that_waits_for_thousands_is_refused_in_one_line() -> None:
    (problem,) = problems(step("a", after=["b"] * 60_000))
    assert problem == (1, "VALIDATION_ERROR", problem[2])
    assert "more steps than a batch may have" in problem[2]


def test_at_most_fifty_problems_are_reported() -> None:
    references = [f"${{nobody{number}.items}}" for number in range(3_000)]
    assert len(problems(step("a", "get_item", params={"item_id": "x", "more": references}))) == 50


def test_a_step_that_is_almost_right_is_answered_with_its_whole_line_corrected() -> None:
    written = step("b", "create_item", params={"nam": "${a.items[0].name}", "price": 1}, depends_on="a", output=True)
    with pytest.raises(McpistError) as refused:
        planned(step("a"), written)
    corrected = refused.value.details["corrected"]
    params = {"name": "${a.items[0].name}", "price": 1}
    assert corrected == step("b", "create_item", params=params, after=("a",), output=True)
    planned(step("a"), json.loads(json.dumps(corrected)))


def test_steps_are_planned_alike_however_they_name_their_fields_and_tools() -> None:
    usual = [
        {"id": "a", "module": "shop", "tool": "list_items"},
        {
            "id": "b",
            "module": "shop",
            "tool": "create_item",
            "each": "${a.items}",
            "params": {"name": "${each.name}", "price": 1, "tags": ["new"]},
            "after": ["a"],
        },
    ]
    free = [
        {"id": "a", "tool": "shop.list_items", "arguments": {"query": None, "limit": None}, "when": None},
        {
            "id": "b",
            "tool": "create_item",
            "foreach": "${a.result.items}",
            "arguments": {"name": "${each.name}", "price": 1, "tags": "new", "size": None},
            "depends_on": "a",
            "timeout": None,
        },
    ]
    expected = [replace(one, each="${a.result.items}") if one.each else one for one in planned(*usual).steps]
    assert list(planned(*free).steps) == expected
