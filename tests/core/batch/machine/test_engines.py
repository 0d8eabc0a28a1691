"""Our machines in third-party engines: asl-validator, cfn-lint, aws-local-stepfunctions, and moto's interpreter."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import boto3
import jsonschema
import pytest

from infra.local.names import REGION
from infra.local.server import LoopbackRequest, LoopbackResponse, LoopbackServer, listen
from infra.local.template import read_template
from infra.source import ROOT
from mcpist.batch.language.graph import Graph, opened
from mcpist.batch.machine.definition import MACHINE_TYPE, build_machine, build_relay
from mcpist.batch.machine.states import Asl
from tests.core.batch.graphs import Batch, timed
from tests.core.batch.machine.test_definition import FANS, ROLE, SHAPES, STEP_RUNNER
from tests.core.batch.shapes import seeded
from tests.examples import examples
from tests.peers.npm import node

INTERPRETER = (Path(__file__).parent / "interpreter.cjs").read_text("utf-8")
VALIDATE = """
const validate = require("asl-validator");
const definitions = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(definitions.map((definition) => validate(definition).errorsText())));
"""
SECONDS = 60


def sample(seeds: range, size: int) -> list[Batch]:
    """Batches of every shape, some with steps that have `each`."""
    return [timed(seeded(seed, size), Random(seed), max_seconds=1) for seed in seeds]  # noqa: S311 - the same every time


def definition(batch: Batch, places: int = 0) -> Asl:
    return build_machine(batch.graph, STEP_RUNNER, batch.map_steps, places).definition


def elements_of(batch: Batch) -> list[int]:
    return [len(took) if isinstance(took, list) else 0 for took in batch.seconds]


def in_order(settled: list[int], graph: Graph) -> bool:
    place = {step: at for at, step in enumerate(settled)}
    return all(place[need] < place[i] for i in graph.steps for need in graph.needs[i])


# -- npm asl-validator and cfn-lint -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def definitions() -> list[Asl]:
    """Every shape of machine, and the relay; the validator takes a second of CPU for each."""
    shapes = [build_machine(SHAPES[name], STEP_RUNNER, FANS.get(name, frozenset())).definition for name in SHAPES]
    batches = [
        definition(batch, 3 * (number % 2)) for number, batch in enumerate(sample(range(examples(16, quick=2)), 14))
    ]
    return [*shapes, *batches, build_relay(SHAPES["single"], STEP_RUNNER).definition]


@pytest.mark.slow
def test_a_third_party_validator_accepts_our_machines_and_refuses_a_broken_one(definitions: list[Asl]) -> None:
    broken = json.loads(json.dumps(definitions[0]).replace('"Next": "s0 lost"', '"Next": "nowhere"'))
    *ours, refused = json.loads(node(VALIDATE, json.dumps([*definitions, broken])))
    assert ours == [""] * len(definitions)
    assert "nowhere" in refused


def test_cfn_lints_schema_accepts_our_machines_and_the_templates_and_refuses_a_broken_one(
    definitions: list[Asl],
) -> None:
    schema = json.loads((files("cfnlint.data.schemas.other.step_functions") / "statemachine.json").read_bytes())
    validator = jsonschema.Draft7Validator(schema)
    template = read_template(ROOT / "template.yaml", {"OwnLogin": "off"})
    deployed = [machine.definition for machine in template.machines]
    assert deployed
    assert not [error.message for one in (*definitions, *deployed) for error in validator.iter_errors(one)]
    broken = json.loads(json.dumps(definitions[0]).replace('"Type": "Task"', '"Type": "Work"'))
    assert "'Work' is not one of" in next(validator.iter_errors(broken)).message


# -- npm aws-local-stepfunctions --------------------------------------------------------------------------


def test_a_third_party_interpreter_runs_our_machines_correctly() -> None:
    batches = sample(range(16), 14)
    given = [
        {
            "definition": definition(batch, number % 3),
            "needs": [sorted(needs) for needs in batch.graph.needs],
            "each": elements_of(batch),
            "lost": [0] if number % 4 == 0 else [],
        }
        for number, batch in enumerate(batches)
    ]
    assert any(map(any, (sent["each"] for sent in given)))
    answers = json.loads(node(INTERPRETER, json.dumps(given)))
    for batch, sent, response in zip(batches, given, answers, strict=True):
        ran = sorted(batch.graph.steps.difference(sent["lost"]))
        assert sorted(response["entries"]) == ran
        assert sorted(response["settled"]) == sorted(batch.graph.steps)
        assert in_order(response["settled"], batch.graph)
        assert sorted(response["elements"]) == [[i, n] for i in ran for n in range(elements_of(batch)[i])]


# -- moto -------------------------------------------------------------------------------------------------


class Runner:
    """The step runner of one batch behind Lambda's Invoke API; it settles at once."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.each = elements_of(batch)
        self.seq: dict[int, int] = {}
        self.entries: list[int] = []
        self.elements: list[tuple[int, int]] = []
        self.relay: Callable[[int], None] = lambda _: None
        self.done = threading.Event()
        self._lock = threading.Lock()

    def answer(self, payload: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            assert {"retry", "execution", "started", "machine"} <= payload.keys()
            response = self._settle(payload)
        if payload.get("relay"):
            for step in response.pop("opened"):
                self.relay(step)
        else:
            response["go"] = {f"s{step}": True for step in response.pop("opened")}
        return response

    def _settle(self, payload: dict[str, Any]) -> dict[str, Any]:
        step = payload["step"]
        nothing = {"batch": payload["batch"], "go": {}, "opened": []}
        if step == -1:
            return nothing | {"opened": [i for i, needs in enumerate(self.batch.graph.needs) if not needs]}
        if "element" in payload:
            self.elements.append((step, payload["element"]))
            return nothing
        if "gather" not in payload:
            self.entries.append(step)
            if self.each[step]:
                return nothing | {"each": [*range(self.each[step])]}
        self.seq[step] = len(self.seq) + 1
        if len(self.seq) == len(self.each):
            self.done.set()
        return nothing | {"opened": opened(self.batch.graph.needs, self.seq, step)}


@pytest.fixture(scope="module")
def embedded() -> Iterator[tuple[Any, dict[str, Runner]]]:
    """A client of the embedded Step Functions, and the runners that its machines reach, by their batches."""
    from infra.local.moto_backend import running_moto

    runners: dict[str, Runner] = {}
    listener = listen("127.0.0.1", 0)
    address = f"127.0.0.1:{listener.getsockname()[1]}"

    def invoke(request: LoopbackRequest) -> LoopbackResponse:
        payload = json.loads(request.body)
        body = json.dumps(runners[payload["batch"]].answer(payload)).encode()
        return LoopbackResponse(200, (("x-amzn-RequestId", "r"), ("content-type", "application/json")), body)

    with running_moto(invoke) as moto, LoopbackServer(listener, moto):
        yield (
            boto3.client(
                "stepfunctions",
                endpoint_url=f"http://{address}",
                region_name=REGION,
                aws_access_key_id="test",
                aws_secret_access_key="test",
            ),
            runners,
        )
    listener.close()


def create(client: Any, name: str, asl: Asl) -> str:
    made = client.create_state_machine(name=name, definition=json.dumps(asl), roleArn=ROLE, type=MACHINE_TYPE)
    return str(made["stateMachineArn"])


@pytest.mark.parametrize("seed", range(6))
def test_the_embedded_step_functions_run_our_machines_correctly(
    embedded: tuple[Any, dict[str, Runner]], seed: int
) -> None:
    client, runners = embedded
    (batch,) = sample(range(seed, seed + 1), 9)
    runner = runners[f"b{seed}"] = Runner(batch)
    arn = create(client, f"m{seed}", definition(batch, seed % 3))
    started = client.start_execution(stateMachineArn=arn, name=f"b{seed}", input=json.dumps({"batch": f"b{seed}"}))
    assert _ended(client, started["executionArn"]) == "SUCCEEDED"
    assert ran_once(runner)


def test_the_embedded_step_functions_run_the_relay_correctly(embedded: tuple[Any, dict[str, Runner]]) -> None:
    client, runners = embedded
    (batch,) = sample(range(3, 4), 9)
    runner = runners["relayed"] = Runner(batch)
    arn = create(client, "relay", build_relay(batch.graph, STEP_RUNNER).definition)

    def start(step: int) -> None:
        client.start_execution(
            stateMachineArn=arn, name=f"relayed-{step}", input=json.dumps({"batch": "relayed", "step": step})
        )

    runner.relay = start
    start(-1)
    assert runner.done.wait(SECONDS)
    assert ran_once(runner)


def ran_once(runner: Runner) -> bool:
    """Return whether each step and element was entered once, and all settled in an order that the needs allow."""
    assert sorted(runner.entries) == sorted(runner.seq) == sorted(runner.batch.graph.steps)
    assert sorted(runner.elements) == [(step, n) for step, count in enumerate(runner.each) for n in range(count)]
    return in_order(sorted(runner.seq, key=runner.seq.__getitem__), runner.batch.graph)


def _ended(client: Any, execution: str) -> str:
    """The status of an execution once it has ended."""
    until = time.monotonic() + SECONDS
    while (status := str(client.describe_execution(executionArn=execution)["status"])) == "RUNNING":
        assert time.monotonic() < until
    return status
