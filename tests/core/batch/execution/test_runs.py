"""Generated machines and the relay, run by the simulator, against an oracle that knows only the needs."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.batch.language.graph import Graph
from mcpist.batch.machine.definition import MAX_CONCURRENT_GROUPS, build_machine, build_relay
from mcpist.batch.machine.layout import MachineTooLarge
from mcpist.batch.machine.states import Asl
from tests.core.batch.graphs import Batch, batches, timed
from tests.core.batch.machine.test_definition import FUNCTION_TIMEOUT_SECONDS, SHAPES, STEP_RUNNER
from tests.core.batch.shapes import seeded
from tests.core.batch.stub_runner import StepRunner, ideal_times
from tests.examples import examples

A_FEW_SECONDS = settings(max_examples=examples(60), deadline=None)
A_DAY_OF_MICROSECONDS = 86_400_000_000
FAN = frozenset({1})


def definition(graph: Graph, map_steps: frozenset[int]) -> Asl | None:
    """Return the batch's machine, if it has one."""
    try:
        return build_machine(graph, STEP_RUNNER, map_steps).definition
    except MachineTooLarge:
        return None


def runner(batch: Batch) -> StepRunner:
    return StepRunner(batch.graph, batch.seconds)


def ran_ideally(runner: StepRunner, batch: Batch) -> bool:
    """Return whether each step was entered once, and began and ended as early as possible."""
    began, ended = ideal_times(batch.graph, batch.seconds)
    assert sorted(i for i in runner.entries() if i >= 0) == sorted(batch.graph.steps)
    assert (runner.began, runner.ended) == (began, ended)
    assert runner.clock.now == max(ended.values())
    assert [ended[i] for i in runner.seq] == sorted(ended.values())
    return True


# -- the ideal --------------------------------------------------------------------------------------------


@given(batches())
@A_FEW_SECONDS
def test_each_step_runs_once_and_begins_when_its_last_need_has_settled(batch: Batch) -> None:
    if machine := definition(batch.graph, batch.map_steps):
        stub = runner(batch)
        stub.run(machine)
        assert ran_ideally(stub, batch)


@given(batches())
@A_FEW_SECONDS
def test_the_relay_runs_every_batch_in_its_ideal_time(batch: Batch) -> None:
    stub = runner(batch)
    stub.relay(build_relay(batch.graph, STEP_RUNNER).definition)
    assert ran_ideally(stub, batch)


@pytest.mark.parametrize("seeds", [range(k, 48, 4) for k in range(4)], ids=["layered", "series", "n", "tangled"])
def test_batches_of_up_to_sixty_steps_run_in_ideal_time_in_both_forms(seeds: range) -> None:
    machines = 0
    for seed in seeds:
        random = Random(seed)  # noqa: S311 - the same every time
        batch = timed(seeded(seed), random, max_seconds=A_DAY_OF_MICROSECONDS)
        relayed = runner(batch)
        relayed.relay(build_relay(batch.graph, STEP_RUNNER).definition)
        assert ran_ideally(relayed, batch), seed
        if machine := definition(batch.graph, batch.map_steps):
            stub = runner(batch)
            stub.run(machine)
            assert ran_ideally(stub, batch), seed
            assert list(stub.seq) == list(relayed.seq)
            machines += 1
    assert machines >= len(seeds) / 2


# -- places -----------------------------------------------------------------------------------------------


@given(batch=batches(), places=st.integers(1, 6))
@A_FEW_SECONDS
def test_no_more_steps_are_started_than_have_places_and_each_runs_once(batch: Batch, places: int) -> None:
    try:
        machine = build_machine(batch.graph, STEP_RUNNER, batch.map_steps, places)
    except MachineTooLarge:
        return
    stub = runner(batch)
    stub.run(machine.definition)
    assert stub.most_at_once <= places
    assert sorted(stub.entries()) == sorted(stub.seq) == sorted(batch.graph.steps)
    assert all(stub.ended[need] <= stub.began[i] for i in batch.graph.steps for need in batch.graph.needs[i])
    elements = {(i, n) for i in batch.map_steps for n in range(len(batch.seconds[i]))}  # type: ignore[arg-type]
    assert stub.elements.keys() == elements


@pytest.mark.parametrize("places", [0, 3, 4, 30])
def test_independent_steps_take_every_place_until_none_is_left(places: int) -> None:
    graph, seconds = Graph((frozenset[int](),) * 30), [1, *[2] * 8, *[1] * 21]
    stub = StepRunner(graph, seconds)
    stub.run(build_machine(graph, STEP_RUNNER, places=places).definition)
    assert stub.most_at_once == (places or 30)
    assert stub.clock.now <= sum(seconds) / (places or 30) + 1.9, "nothing waits beside a free place"


def test_elements_of_two_steps_share_the_places() -> None:
    graph = Graph((frozenset(), frozenset()))
    stub = StepRunner(graph, [[1] * 10, [1] * 10])
    stub.run(build_machine(graph, STEP_RUNNER, frozenset({0, 1}), places=4).definition)
    assert (stub.most_at_once, stub.clock.now) == (4, 5)


# -- each -------------------------------------------------------------------------------------------------


def fan(elements: int, **more: object) -> StepRunner:
    """Return a chain whose second step runs for some elements, a second each."""
    return StepRunner(SHAPES["chain"], [1, [1] * elements, 1], **more)  # type: ignore[arg-type]


def test_elements_run_ten_at_once_and_are_gathered_before_the_next_step_begins() -> None:
    stub = fan(25)
    stub.run(build_machine(SHAPES["chain"], STEP_RUNNER, FAN).definition)
    assert len(stub.elements) == 25
    assert list(stub.elements.values()).count(2) == MAX_CONCURRENT_GROUPS
    assert stub.began == {0: 0, 1: 1, 2: 4}


def test_elements_for_which_there_was_no_time_run_before_the_next_step_begins() -> None:
    stub = fan(25, late_elements=[(1, 3), (1, 24)])
    stub.run(build_machine(SHAPES["chain"], STEP_RUNNER, FAN).definition)
    assert len(stub.elements) == 25
    assert [payload["step"] for payload in stub.payloads if "gather" in payload] == [1, 1]
    assert stub.began == {0: 0, 1: 1, 2: 5}
    relayed = fan(2, late_elements=[(1, 1)])
    relayed.relay(build_relay(SHAPES["chain"], STEP_RUNNER).definition)
    assert (relayed.elements.keys(), len(relayed.seq)) == ({(1, 0), (1, 1)}, 3)


def test_a_step_without_elements_runs_no_map() -> None:
    stub = fan(0)
    stub.run(build_machine(SHAPES["chain"], STEP_RUNNER, FAN).definition)
    assert stub.entries() == [0, 1, 2] == [payload["step"] for payload in stub.payloads]


def test_a_branch_that_ends_with_a_step_without_elements_still_returns_what_it_opened() -> None:
    #    0 -> 1 -> 5    1 and 3 have no elements and settle last, so the step after their barrier
    #    2 -> 3 -> 5    needs their `go`
    #    4 -> 5, 6
    needs = [(), (0,), (), (2,), (), (1, 3, 4), (4,)]
    graph = Graph(tuple(map(frozenset, needs)))
    batch = Batch(graph, frozenset({1, 3}), (5, [], 4, [], 1, 1, 1))
    stub = runner(batch)
    stub.run(build_machine(graph, STEP_RUNNER, batch.map_steps).definition)
    assert ran_ideally(stub, batch)


@pytest.mark.parametrize("form", ["machine", "relay"])
def test_a_thousand_elements_keep_the_state_small_and_every_task_has_its_place(form: str) -> None:
    stub = fan(1_000)
    if form == "machine":
        stub.run(build_machine(SHAPES["chain"], STEP_RUNNER, FAN).definition)
    else:
        stub.relay(build_relay(SHAPES["chain"], STEP_RUNNER).definition)
    elements = [payload for payload in stub.payloads if "element" in payload]
    assert [payload["element"] for payload in elements] == [*range(1_000)]
    assert {payload["step"] for payload in elements} == {1}
    (gather,) = (payload for payload in stub.payloads if payload.get("gather"))
    assert gather["step"] == 1
    assert all(payload.get("relay", False) is (form == "relay") for payload in stub.payloads)
    assert stub.ended[2] == 102


def test_an_element_that_cannot_be_ended_stops_no_other() -> None:
    stub = fan(12, dead_elements={(1, 3)})
    stub.run(build_machine(SHAPES["chain"], STEP_RUNNER, FAN).definition)
    assert sorted(element for _, element in stub.elements) == [i for i in range(12) if i != 3]
    assert sorted(stub.seq) == [0, 1, 2]


# -- more than one execution ------------------------------------------------------------------------------


@given(batches())
@A_FEW_SECONDS
def test_a_second_execution_replays_every_step_once(batch: Batch) -> None:
    if machine := definition(batch.graph, batch.map_steps):
        stub = runner(batch)
        stub.run(machine)
        stub.payloads.clear()
        stub.run(machine, execution="run-2")
        assert sorted(stub.entries()) == sorted(batch.graph.steps)
        assert stub.clock.now == 0


@given(batches(), st.integers(0, 20))
@A_FEW_SECONDS
def test_an_execution_that_pauses_is_continued_by_another_one(batch: Batch, pause: int) -> None:
    if machine := definition(batch.graph, batch.map_steps):
        stub = StepRunner(batch.graph, batch.seconds, pauses_at=pause)
        stub.run(machine)
        assert all(began < pause for began in stub.began.values())
        stub.pauses_at = None
        stub.run(machine, execution="run-2")
        assert sorted(stub.seq) == sorted(batch.graph.steps)
        assert all(stub.seq[k] < stub.seq[i] for i in batch.graph.steps for k in batch.graph.needs[i])


# -- faults -----------------------------------------------------------------------------------------------


@given(batches(), st.data())
@A_FEW_SECONDS
def test_a_step_that_cannot_be_settled_stops_only_its_dependents(batch: Batch, data: st.DataObject) -> None:
    if machine := definition(batch.graph, batch.map_steps):
        lost = data.draw(st.sampled_from(sorted(batch.graph.steps)))
        stub = StepRunner(batch.graph, batch.seconds, faults={lost: ["KeyError"] * 12}, dead=frozenset({lost}))
        stub.run(machine)
        ancestors = batch.graph.ancestors
        assert stub.seq.keys() == {i for i in batch.graph.steps if i != lost and lost not in ancestors[i]}


def test_a_crash_is_retried_and_the_retry_knows_its_number() -> None:
    stub = StepRunner(SHAPES["chain"], [5, 5, 5], faults={1: ["Runtime.ExitError", "Lambda.Unknown"]})
    stub.run(build_machine(SHAPES["chain"], STEP_RUNNER).definition)
    sent = [payload for payload in stub.payloads if payload["step"] == 1]
    assert sent == [{"step": 1, "retry": retry, **CONTEXT} for retry in range(3)]
    assert sorted(stub.seq) == [0, 1, 2]


def test_a_live_claim_of_a_minute_is_waited_for() -> None:
    stub = StepRunner(SHAPES["single"], [5], faults={0: ["StepBusy"] * 14})
    stub.run(build_machine(SHAPES["single"], STEP_RUNNER).definition)
    assert stub.began[0] > FUNCTION_TIMEOUT_SECONDS
    assert stub.seq == {0: 1}


def test_a_lost_step_is_settled_and_the_steps_that_it_opened_run() -> None:
    stub = StepRunner(SHAPES["n_shape"], [5, 400, 5, 5], faults={0: ["KeyError"] * 12})
    stub.run(build_machine(SHAPES["n_shape"], STEP_RUNNER).definition)
    sent = [payload for payload in stub.payloads if payload["step"] == 0]
    assert sent[-1] == {"step": 0, "lost": True, "retry": 0, **CONTEXT}
    assert len(sent) == 13
    assert sorted(stub.seq) == [0, 1, 2, 3]


CONTEXT = {"batch": "b1", "execution": "run-1", "started": "2026-11-21T00:00:00Z", "machine": "machine"}
