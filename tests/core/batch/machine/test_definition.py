import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.local.intrinsics import Intrinsics, read_yaml
from infra.local.template import read_template
from mcpist.batch.language.graph import Graph, canonical_order
from mcpist.batch.machine.definition import Machine, build_machine, build_relay, stack_prefix
from mcpist.batch.machine.layout import MAX_STATES, MachineTooLarge
from tests.core.batch.graphs import Batch, batches
from tests.examples import examples

MACHINES = Path(__file__).parent / "machines"
TEMPLATE = Path(__file__).parents[4] / "template.yaml"
STEP_RUNNER = "arn:aws:lambda:eu-central-1:123456789012:function:mcpist-step-runner:live"
ROLE = "arn:aws:iam::123456789012:role/mcpist-machines"
FUNCTION_TIMEOUT_SECONDS = 60
CLAIM_MARGIN_SECONDS = 2
A_FEW_SECONDS = settings(max_examples=examples(60), deadline=None)


def graph(*needs: Iterable[int]) -> Graph:
    return Graph(tuple(map(frozenset, needs)))


SHAPES = {
    "single": graph([]),
    "chain": graph([], [0], [1]),
    "independent": graph([], [], []),
    "diamond": graph([], [0], [0], [1, 2]),
    "n_shape": graph([], [], [0], [0, 1]),
    "each": graph([], [0], [1]),
    "barrier": graph([], [], [], [0, 1, 2], [2]),
    "layered": graph([], [], [], [0, 1], [1, 2], [0, 2], [3, 4, 5]),
    "wide": graph([], [], [], [0, 1, 2], [0, 3]),
}
FANS = {"each": frozenset({1})}
PLACES = {"wide": 2}
TANGLED = graph(*([] if i < 8 else [i // 8 * 8 - 8 + k % 8 for k in (i, i + 1, i + 3)] for i in range(96)))


def states(definition: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield every state at any depth with its name and its scope."""
    for name, state in definition["States"].items():
        yield name, state, definition["States"]
        for branch in [*state.get("Branches", []), *filter(None, [state.get("ItemProcessor")])]:
            yield from states(branch)


def targets(state: dict[str, Any]) -> list[str]:
    """Return the states that can follow a state."""
    rules = [state, *state.get("Choices", []), *state.get("Catch", [])]
    return [rule["Next"] for rule in rules if "Next" in rule] + [state[key] for key in ("Default",) if key in state]


def copies(machine: Machine, step: int) -> int:
    """Count the copies of a step in the definition."""
    return sum(bool(re.fullmatch(rf"s{step}( again \d+)?", name)) for name, _, _ in states(machine.definition))


def types(machine: Machine) -> list[str]:
    return [state["Type"] for _, state, _ in states(machine.definition)]


# -- the definition ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_machine_of_a_known_shape_equals_its_golden_file(shape: str) -> None:
    golden = json.loads((MACHINES / f"{shape}.json").read_text())
    built = build_machine(SHAPES[shape], STEP_RUNNER, FANS.get(shape, frozenset()), PLACES.get(shape, 0))
    assert built.definition == golden


def test_every_golden_file_belongs_to_a_known_shape() -> None:
    assert {path.stem for path in MACHINES.iterdir()} == SHAPES.keys()


def test_one_step_needs_no_parallel() -> None:
    assert types(build_machine(SHAPES["single"], STEP_RUNNER)) == ["Task", "Task", "Pass"]


def test_a_chain_is_a_plain_sequence() -> None:
    assert set(types(build_machine(SHAPES["chain"], STEP_RUNNER))) == {"Task", "Pass"}


def test_a_free_cut_needs_no_choice_and_no_copies() -> None:
    machine = build_machine(SHAPES["diamond"], STEP_RUNNER)
    assert "Choice" not in types(machine)
    assert [copies(machine, i) for i in range(4)] == [1, 1, 1, 1]


def test_a_join_is_copied_into_the_branch_of_each_need() -> None:
    machine = build_machine(SHAPES["n_shape"], STEP_RUNNER)
    assert [copies(machine, i) for i in range(4)] == [1, 1, 1, 2]
    assert types(machine).count("Choice") == 2


def test_steps_that_a_free_cut_unites_inside_a_tangle_are_not_copied() -> None:
    #    0, 1 -> 3 -> 4      the first two begin together, since every step after 3 follows both
    #    2, 3 -> 5           5 joins them with another branch
    machine = build_machine(graph([], [], [], [0, 1], [3], [2, 3]), STEP_RUNNER)
    assert [copies(machine, i) for i in range(6)] == [1, 1, 1, 1, 1, 2]


def test_needs_that_other_needs_imply_change_nothing() -> None:
    implied = build_machine(graph([], [0], [0, 1]), STEP_RUNNER)
    assert implied.definition_json == build_machine(SHAPES["chain"], STEP_RUNNER).definition_json


def test_a_step_that_waits_for_a_barrier_and_another_branch_is_placed_once_after_the_barrier() -> None:
    #    0, 1 -> 3      3 follows both of them once, guarded: it may wait longer for 2, in whose branch there is
    #    2 -> 3, 4      another copy
    machine = build_machine(SHAPES["barrier"], STEP_RUNNER)
    assert [copies(machine, i) for i in range(5)] == [1, 1, 1, 2, 1]
    behind = machine.definition["States"]["fork"]["Branches"][0]["States"]["s3 if opened"]
    assert [rule["Variable"] for rule in behind["Choices"]] == ["$.go.branches[0].s3", "$.go.branches[1].s3"]


@given(batches(), st.integers(0, 4))
@A_FEW_SECONDS
def test_state_names_are_unique_and_every_next_exists_in_its_scope(batch: Batch, places: int) -> None:
    try:
        machine = build_machine(batch.graph, STEP_RUNNER, batch.map_steps, places)
    except MachineTooLarge:
        return
    found = list(states(machine.definition))
    assert len({name for name, _, _ in found}) == len(found) == machine.states
    assert all(target in scope for _, state, scope in found for target in targets(state))
    assert all(len(name) <= 80 for name, _, _ in found)
    assert machine.depth == batch.graph.depth


@given(batches())
@A_FEW_SECONDS
def test_batches_that_differ_only_in_order_share_one_machine(batch: Batch) -> None:
    turned = list(reversed(range(len(batch.graph.needs))))
    definitions = {
        _definition(batch.graph, batch.map_steps),
        _definition(batch.graph.renumbered(turned), frozenset(turned.index(i) for i in batch.map_steps)),
    }
    assert len(definitions) == 1


def _definition(some: Graph, map_steps: frozenset[int]) -> str:
    order = canonical_order(some, map_steps)
    try:
        machine = build_machine(some.renumbered(order), STEP_RUNNER, frozenset(order.index(i) for i in map_steps))
    except MachineTooLarge:
        return "relay"
    return machine.definition_json


def test_every_arn_has_the_partition_of_the_step_runner() -> None:
    machine = build_machine(SHAPES["each"], STEP_RUNNER.replace("arn:aws:", "arn:aws-cn:"), FANS["each"])
    assert set(re.findall(r"arn:[^:]*:", machine.definition_json)) == {"arn:aws-cn:"}


def test_a_fault_is_retried_for_longer_than_the_function_may_run() -> None:
    *_, fault = build_machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]["Retry"]
    assert (fault["ErrorEquals"], fault["JitterStrategy"]) == (["States.ALL"], "FULL")
    assert _span(fault) / 2 > FUNCTION_TIMEOUT_SECONDS  # full jitter waits half of each delay on average


def test_a_lost_step_is_settled_for_longer_than_a_claim_may_live() -> None:
    (lost,) = build_machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0 lost"]["Retry"]
    assert lost["ErrorEquals"] == ["States.ALL"]
    assert "JitterStrategy" not in lost
    assert _span(lost) > FUNCTION_TIMEOUT_SECONDS + CLAIM_MARGIN_SECONDS


def test_retries_last_longer_than_the_claim_of_another_execution() -> None:
    busy = build_machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]["Retry"][0]
    assert busy["ErrorEquals"] == ["StepBusy"]
    assert "JitterStrategy" not in busy
    assert _span(busy) > FUNCTION_TIMEOUT_SECONDS + CLAIM_MARGIN_SECONDS


def test_what_waits_for_an_execution_is_retried_until_the_batch_continues_in_another() -> None:
    throttled = build_machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]["Retry"][1]
    assert throttled["ErrorEquals"] == ["Lambda.TooManyRequestsException", "StepWaits"]
    assert _span(throttled) / 2 > 300, (
        "full jitter waits half of each delay on average, and an execution ends after 300 s"
    )


def _span(retrier: dict[str, Any]) -> float:
    """Return the most seconds for which a retrier retries."""
    waits = [retrier["IntervalSeconds"] * retrier["BackoffRate"] ** k for k in range(retrier["MaxAttempts"])]
    return float(sum(min(wait, retrier["MaxDelaySeconds"]) for wait in waits))


def test_a_machine_contains_nothing_of_a_batch_but_its_shape() -> None:
    payload = {
        "batch.$": "$.batch",
        "step": 0,
        "retry.$": "$$.State.RetryCount",
        "execution.$": "$$.Execution.Id",
        "started.$": "$$.Execution.StartTime",
        "machine.$": "$$.StateMachine.Id",
    }
    task = build_machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]
    assert task["Parameters"] == {"FunctionName": STEP_RUNNER, "Payload": payload}


# -- the name and the budget ------------------------------------------------------------------------------


def test_equal_shapes_share_one_name() -> None:
    first, second = (build_machine(graph([], [0], needs), STEP_RUNNER) for needs in ([0, 1], [1, 0]))
    assert first.name("mcpist", ROLE) == second.name("mcpist", ROLE)


def test_the_name_differs_by_stack_role_shape_and_function() -> None:
    machine = build_machine(SHAPES["chain"], STEP_RUNNER)
    names = {
        machine.name("mcpist", ROLE),
        machine.name("mcpist-test", ROLE),
        machine.name("mcpist", f"{ROLE}2"),
        build_machine(SHAPES["diamond"], STEP_RUNNER).name("mcpist", ROLE),
        build_machine(SHAPES["chain"], f"{STEP_RUNNER}2").name("mcpist", ROLE),
    }
    assert len(names) == 5


def test_a_name_has_at_most_80_plain_characters() -> None:
    name = build_machine(SHAPES["single"], STEP_RUNNER).name("Stack, of.many words " * 9, ROLE)
    assert re.fullmatch(r"[A-Za-z0-9_-]{80}", name)


def test_the_roles_of_a_stack_with_any_name_allow_the_names_of_its_machines() -> None:
    stack_id = (
        f"arn:aws:cloudformation:us-east-1:123456789012:stack/{'Long-' * 25}end/5b8f8a40-c6b3-11f0-9b2e-0eae8c3f1f9d"
    )
    pseudo = {"AWS::StackId": stack_id, "AWS::Partition": "aws", "AWS::Region": "us-east-1"}
    pseudo |= {"AWS::AccountId": "123456789012"}
    document = read_yaml(TEMPLATE)
    resolve = Intrinsics({}, {}, pseudo.__getitem__, lambda *_: "").resolve
    stack = resolve(document["Globals"]["Function"]["Environment"]["Variables"]["STACK_NAME"])
    assert stack == stack_prefix(stack_id)
    names = [
        build_machine(SHAPES["chain"], STEP_RUNNER).name(stack, ROLE),
        resolve(document["Resources"]["Relay"]["Properties"]["Name"]),
    ]
    assert names[1] == f"{stack}-relay"
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in names)
    allowed = [
        resolve(statement["Resource"])
        for role in ("McpEndpointRole", "StepRunnerRole", "JanitorRole")
        for policy in document["Resources"][role]["Properties"]["Policies"]
        if "PolicyDocument" in policy
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Sid"] in {"RunMachines", "ContinueBatches", "RemoveMachines"}
    ]
    assert len(allowed) == 3
    arns = [f"arn:aws:states:us-east-1:123456789012:stateMachine:{name}" for name in names]
    assert all(fnmatchcase(arn, resource) for arn in arns for resource in allowed)


def test_the_definition_is_the_same_text_for_any_order_of_its_keys() -> None:
    machine = build_machine(SHAPES["chain"], STEP_RUNNER)
    turned = replace(machine, definition=dict(reversed(machine.definition.items())))
    assert turned.definition_json == machine.definition_json
    assert json.loads(machine.definition_json) == machine.definition


def test_a_tangle_is_refused_before_it_grows() -> None:
    with pytest.raises(MachineTooLarge, match=f"states or more, {MAX_STATES} allowed"):
        build_machine(TANGLED, STEP_RUNNER)


def test_a_definition_that_one_request_cannot_carry_is_refused() -> None:
    with pytest.raises(MachineTooLarge, match="bytes, 1000000 allowed"):
        build_machine(graph(*[[]] * 100), STEP_RUNNER + "x" * 10_000)


def test_a_hundred_independent_steps_fit() -> None:
    assert build_machine(graph(*[[]] * 100), STEP_RUNNER).states == 301


# -- the relay --------------------------------------------------------------------------------------------


def test_the_template_holds_the_relay_that_is_generated() -> None:
    template = read_template(TEMPLATE, {"Issuer": "https://login.example.com"})
    (written,) = (found for found in template.machines if found.id == "Relay")
    step_runner = template.intrinsics.resolve({"Ref": "StepRunnerFunction.Alias"})
    assert written.definition == build_relay(SHAPES["single"], step_runner).definition


def test_the_relay_knows_its_size_and_the_depth_of_the_graph() -> None:
    relay = build_relay(TANGLED, STEP_RUNNER)
    assert (relay.form, relay.depth) == ("relay", 12)
    assert relay.states == len(list(states(relay.definition)))
    assert build_machine(SHAPES["chain"], STEP_RUNNER).form == "machine"


def test_no_definition_contains_a_null_which_cloudformation_would_refuse() -> None:
    assert "null" not in build_relay(TANGLED, STEP_RUNNER).definition_json
