import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.batch.graph import Graph
from mcpist.batch.machine import MAX_STATES, Machine, machine
from mcpist.errors import GraphTooLarge
from tests.core.batch.graphs import graphs
from tests.core.batch.simulator import StepRunner
from tests.peers.npm import node

MACHINES = Path(__file__).parent / "machines"
STEP_RUNNER = "arn:aws:lambda:eu-central-1:123456789012:function:mcpist-step-runner:live"
ROLE = "arn:aws:iam::123456789012:role/mcpist-machines"
FUNCTION_TIMEOUT_SECONDS = 60
CLAIM_MARGIN_SECONDS = 2
A_FEW_SECONDS = settings(max_examples=120)


def graph(*needs: Iterable[int]) -> Graph:
    return Graph(tuple(map(frozenset, needs)))


SHAPES = {
    "single": graph([]),
    "chain": graph([], [0], [1]),
    "independent": graph([], [], []),
    "diamond": graph([], [0], [0], [1, 2]),
    "n_shape": graph([], [], [0], [0, 1]),
    "layered": graph([], [], [], [0, 1], [1, 2], [0, 2], [3, 4, 5]),
}
TANGLED = graph(*([] if i < 8 else [i // 8 * 8 - 8 + k % 8 for k in (i, i + 1, i + 3)] for i in range(96)))


def states(definition: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every state, however deep, with its name and its scope."""
    for name, state in definition["States"].items():
        yield name, state, definition["States"]
        for branch in state.get("Branches", []):
            yield from states(branch)


def targets(state: dict[str, Any]) -> list[str]:
    """The states that a state can go to."""
    rules = [state, *state.get("Choices", []), *state.get("Catch", [])]
    return [rule["Next"] for rule in rules if "Next" in rule] + [state[key] for key in ("Default",) if key in state]


def copies(made: Machine, step: int) -> int:
    """How often a step stands in the definition."""
    return sum(bool(re.fullmatch(rf"s{step}( again \d+)?", name)) for name, _, _ in states(made.definition))


def types(made: Machine) -> list[str]:
    return [state["Type"] for _, state, _ in states(made.definition)]


# -- the definition ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_machine_of_a_known_shape_is_as_drawn(shape: str) -> None:
    golden = json.loads((MACHINES / f"{shape}.json").read_text())
    assert machine(SHAPES[shape], STEP_RUNNER).definition == golden


def test_every_golden_machine_is_of_a_known_shape() -> None:
    assert {path.stem for path in MACHINES.iterdir()} == SHAPES.keys()


def test_one_step_needs_no_parallel() -> None:
    assert types(machine(SHAPES["single"], STEP_RUNNER)) == ["Task", "Task", "Pass"]


def test_a_chain_is_a_plain_sequence() -> None:
    assert set(types(machine(SHAPES["chain"], STEP_RUNNER))) == {"Task", "Pass"}


def test_a_free_cut_needs_no_choice_and_no_copies() -> None:
    made = machine(SHAPES["diamond"], STEP_RUNNER)
    assert "Choice" not in types(made)
    assert [copies(made, i) for i in range(4)] == [1, 1, 1, 1]


def test_a_join_stands_in_the_branch_of_each_need() -> None:
    made = machine(SHAPES["n_shape"], STEP_RUNNER)
    assert [copies(made, i) for i in range(4)] == [1, 1, 1, 2]
    assert types(made).count("Choice") == 2


def test_what_a_free_cut_unites_inside_of_a_tangle_stands_once() -> None:
    #    0, 1 -> 3 -> 4      the first two begin together, since all that follows 3 follows both
    #    2, 3 -> 5           5 joins them with another branch
    made = machine(graph([], [], [], [0, 1], [3], [2, 3]), STEP_RUNNER)
    assert [copies(made, i) for i in range(6)] == [1, 1, 1, 1, 1, 2]


def test_needs_that_other_needs_imply_change_nothing() -> None:
    implied = machine(graph([], [0], [0, 1]), STEP_RUNNER)
    assert implied.definition_json == machine(SHAPES["chain"], STEP_RUNNER).definition_json


@given(graphs())
@A_FEW_SECONDS
def test_state_names_are_unique_and_every_next_exists_in_its_scope(some: Graph) -> None:
    try:
        made = machine(some, STEP_RUNNER)
    except GraphTooLarge:
        return
    found = list(states(made.definition))
    assert len({name for name, _, _ in found}) == len(found) == made.states
    assert all(target in scope for _, state, scope in found for target in targets(state))
    assert all(len(name) <= 80 for name, _, _ in found)


def test_the_claim_of_another_execution_is_outlasted() -> None:
    busy = machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]["Retry"][0]
    assert busy["ErrorEquals"] == ["StepBusy"]
    assert "JitterStrategy" not in busy
    waits = [busy["IntervalSeconds"] * busy["BackoffRate"] ** k for k in range(busy["MaxAttempts"])]
    span = sum(min(wait, busy["MaxDelaySeconds"]) for wait in waits)
    assert span > FUNCTION_TIMEOUT_SECONDS + CLAIM_MARGIN_SECONDS


def test_a_machine_holds_nothing_of_a_batch_but_its_shape() -> None:
    payload = {"batch.$": "$.batch", "step": 0, "retry.$": "$$.State.RetryCount", "execution.$": "$$.Execution.Name"}
    task = machine(SHAPES["single"], STEP_RUNNER).definition["States"]["s0"]
    assert task["Parameters"] == {"FunctionName": STEP_RUNNER, "Payload": payload}


# -- the name and the budget ------------------------------------------------------------------------------


def test_equal_shapes_share_one_name() -> None:
    first, second = (machine(graph([], [0], needs), STEP_RUNNER) for needs in ([0, 1], [1, 0]))
    assert first.name("mcpist", ROLE) == second.name("mcpist", ROLE)


def test_the_name_differs_by_stack_role_shape_and_function() -> None:
    made = machine(SHAPES["chain"], STEP_RUNNER)
    names = {
        made.name("mcpist", ROLE),
        made.name("mcpist-test", ROLE),
        made.name("mcpist", f"{ROLE}2"),
        machine(SHAPES["diamond"], STEP_RUNNER).name("mcpist", ROLE),
        machine(SHAPES["chain"], f"{STEP_RUNNER}2").name("mcpist", ROLE),
    }
    assert len(names) == 5


def test_a_name_has_at_most_80_plain_characters() -> None:
    name = machine(SHAPES["single"], STEP_RUNNER).name("Stack, of.many words " * 9, ROLE)
    assert re.fullmatch(r"[A-Za-z0-9_-]{80}", name)


def test_the_definition_is_written_the_same_whatever_the_order_of_its_keys() -> None:
    made = machine(SHAPES["chain"], STEP_RUNNER)
    turned = replace(made, definition=dict(reversed(made.definition.items())))
    assert turned.definition_json == made.definition_json
    assert json.loads(made.definition_json) == made.definition


def test_a_tangle_is_refused_before_it_grows() -> None:
    with pytest.raises(GraphTooLarge) as refused:
        machine(TANGLED, STEP_RUNNER)
    assert refused.value.details["states"] > refused.value.details["limit"] == MAX_STATES


def test_a_definition_that_one_request_cannot_carry_is_refused() -> None:
    with pytest.raises(GraphTooLarge) as refused:
        machine(graph(*[[]] * 100), "x" * 10_000)
    assert refused.value.details["bytes"] > refused.value.details["limit"] == 1_000_000


def test_a_hundred_independent_steps_fit() -> None:
    assert machine(graph(*[[]] * 100), STEP_RUNNER).states == 301


# -- the run ----------------------------------------------------------------------------------------------

seconds = st.lists(st.integers(0, 9), min_size=25, max_size=25)


@given(graphs(), seconds)
@A_FEW_SECONDS
def test_each_step_runs_once_and_begins_the_moment_its_last_need_has_settled(some: Graph, took: list[int]) -> None:
    try:
        made = machine(some, STEP_RUNNER)
    except GraphTooLarge:
        return
    runner = StepRunner(some, took)
    runner.run(made.definition)
    assert sorted(runner.entries()) == sorted(some.steps)
    assert all(runner.began[i] == max((runner.ended[k] for k in some.needs[i]), default=0) for i in some.steps)
    assert runner.clock.now == _longest_path(some, took)


@given(graphs(), seconds)
@A_FEW_SECONDS
def test_a_second_execution_replays_every_step_once(some: Graph, took: list[int]) -> None:
    try:
        made = machine(some, STEP_RUNNER)
    except GraphTooLarge:
        return
    runner = StepRunner(some, took)
    runner.run(made.definition)
    runner.payloads.clear()
    runner.run(made.definition, execution="run-2")
    assert sorted(runner.entries()) == sorted(some.steps)
    assert runner.clock.now == 0


@given(graphs(), seconds, st.integers(0, 20))
@A_FEW_SECONDS
def test_an_execution_that_pauses_is_continued_by_another_one(some: Graph, took: list[int], pause: int) -> None:
    try:
        made = machine(some, STEP_RUNNER)
    except GraphTooLarge:
        return
    runner = StepRunner(some, took, pauses_at=pause)
    runner.run(made.definition)
    assert all(began < pause for began in runner.began.values())
    runner.pauses_at = None
    runner.run(made.definition, execution="run-2")
    assert sorted(runner.seq) == sorted(some.steps)
    assert all(runner.seq[k] < runner.seq[i] for i in some.steps for k in some.needs[i])


@given(graphs(), st.data())
@A_FEW_SECONDS
def test_a_step_that_nobody_can_settle_stops_only_what_comes_after_it(some: Graph, data: st.DataObject) -> None:
    try:
        made = machine(some, STEP_RUNNER)
    except GraphTooLarge:
        return
    lost = data.draw(st.integers(0, len(some.needs) - 1))
    runner = StepRunner(some, [1] * 25, faults={lost: ["KeyError"] * 9}, dead=frozenset({lost}))
    runner.run(made.definition)
    assert runner.seq.keys() == {i for i in some.steps if i != lost and lost not in some.ancestors[i]}


def test_a_crash_is_retried_and_the_retry_knows_its_number() -> None:
    runner = StepRunner(SHAPES["chain"], [5, 5, 5], faults={1: ["Runtime.ExitError", "Lambda.Unknown"]})
    runner.run(machine(SHAPES["chain"], STEP_RUNNER).definition)
    sent = [payload for payload in runner.payloads if payload["step"] == 1]
    assert sent == [{"batch": "b1", "step": 1, "retry": retry, "execution": "run-1"} for retry in range(3)]
    assert sorted(runner.seq) == [0, 1, 2]


def test_a_claim_that_lives_a_minute_is_waited_for() -> None:
    runner = StepRunner(SHAPES["single"], [5], faults={0: ["StepBusy"] * 14})
    runner.run(machine(SHAPES["single"], STEP_RUNNER).definition)
    assert runner.began[0] > FUNCTION_TIMEOUT_SECONDS
    assert runner.seq == {0: 1}


def test_a_lost_step_is_settled_and_goes_on_to_what_that_opened() -> None:
    runner = StepRunner(SHAPES["n_shape"], [5, 40, 5, 5], faults={0: ["KeyError"] * 5})
    runner.run(machine(SHAPES["n_shape"], STEP_RUNNER).definition)
    sent = [payload for payload in runner.payloads if payload["step"] == 0]
    assert sent[-1] == {"batch": "b1", "step": 0, "lost": True, "execution": "run-1"}
    assert len(sent) == 6
    assert sorted(runner.seq) == [0, 1, 2, 3]


def _longest_path(some: Graph, took: Sequence[int]) -> int:
    """The seconds that the batch takes at best."""
    ended: dict[int, int] = {}
    for i in some.order:
        ended[i] = took[i] + max((ended[k] for k in some.needs[i]), default=0)
    return max(ended.values())


# -- a second opinion -------------------------------------------------------------------------------------

VALIDATE = """
const validate = require("asl-validator");
const definitions = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(definitions.map((definition) => validate(definition).errorsText())));
"""


def test_a_validator_by_others_accepts_our_machines_and_would_refuse_a_broken_one() -> None:
    shapes = [*SHAPES.values(), *(_scattered(size) for size in range(4, 22, 3))]
    definitions = [machine(shape, STEP_RUNNER).definition for shape in shapes]
    broken = json.loads(json.dumps(definitions[0]).replace('"Next": "s0 lost"', '"Next": "nowhere"'))
    *ours, refused = json.loads(node(VALIDATE, json.dumps([*definitions, broken])))
    assert ours == [""] * len(definitions)
    assert "nowhere" in refused


def _scattered(size: int) -> Graph:
    """Some graph of so many steps, always the same: each step needs up to two others."""
    return graph(*({(size + 5) % i, size * 7 % i} if i % 4 else [] for i in range(size)))
