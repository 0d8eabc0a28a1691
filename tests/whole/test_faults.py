"""Sandboxes killed at every point of a step, and steps and batches entered twice: each settles once."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.demo import ORGANIZATION
from infra.local.deployment import LocalDeployment
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, traffic_of
from tests.whole.conftest import HERE, McpUser

DOCUMENTS = [path.relative_to(HERE / "documents").as_posix() for path in (HERE / "documents").rglob("*.md")]
MOST_DELIVERIES = 20

type Point = tuple[str, HookPhase]

# Steps are numbered by the graph: alone, then in a row. So of the three below `other` is 0, `first` 1 and `next` 2.
FIRST = 1
POINTS: dict[str, Point] = {
    "before its claim": ("#claim = :claim", "before"),
    "after its claim": ("#claim = :claim", "after"),
    "after its call, before its result is kept": ("#ending = :ending", "before"),
    "before its settling": (f"#seq.#{FIRST}", "before"),
    "after its settling": (f"#seq.#{FIRST}", "after"),
}
# What a step that writes comes to, and how often its write has happened.
WRITES = {
    "before its claim": ("succeeded", 1),
    "after its claim": ("unknown", 0),
    "after its call, before its result is kept": ("unknown", 1),
    "before its settling": ("succeeded", 1),
    "after its settling": ("succeeded", 1),
}
ENDED = {"succeeded": "done", "unknown": "done with errors"}
"""The state of a batch by that of its step."""


# The same of an element, whose settling is its result: its step, and how often the write has happened for all three.
ELEMENTS = {
    "before its claim": ("succeeded", 3),
    "after its claim": ("unknown", 2),
    "after its call, before its result is kept": ("unknown", 3),
    "after its result is kept": ("succeeded", 3),
}
ELEMENT_POINTS: dict[str, Point] = {
    **{name: point for name, point in POINTS.items() if name in ELEMENTS},
    "after its result is kept": ("#ending = :ending", "after"),
}
# What happens around the elements.
FAN_POINTS: dict[str, Point] = {
    "before the list is counted": ("#counted", "before"),
    "after the list is counted": ("#counted", "after"),
    "after the list is kept": ("#map_items = :map_items", "after"),
    "before the step is gathered": ("#ending = :ending", "before"),
    "after the step is gathered": ("#ending = :ending", "after"),
}


@contextmanager
def killing(deployment: LocalDeployment, point: Point, *, of: str = f"step#{FIRST:03}") -> Iterator[list[AwsRequest]]:
    """The first sandbox that comes to this point of the step `first`, or of an element, is killed there."""
    expression, moment = point
    killed: list[AwsRequest] = []
    lock = threading.Lock()

    def hook(request: AwsRequest, now: HookPhase) -> None:
        if request.function != "StepRunnerFunction" or request.operation != "UpdateItem" or now != moment:
            return
        body = request.body
        of_first = body["Key"]["sk"]["S"] in {of, "batch"}
        with lock:
            if killed or not of_first or expression not in body["UpdateExpression"]:
                return
            killed.append(request)
        deployment.aws.kill(request.caller)

    traffic_of(deployment.aws).on_request = hook
    try:
        yield killed
    finally:
        traffic_of(deployment.aws).on_request = None


def steps(tool: str, trace: Path) -> str:
    """A step that leaves a trace, one that waits for it, and one that does not."""
    lines = [
        {"id": "first", "module": "probe", "tool": tool, "params": {"file": f"{trace}.first"}},
        {"id": "next", "module": "probe", "tool": "note", "params": {"file": f"{trace}.next"}, "after": ["first"]},
        {"id": "other", "module": "probe", "tool": "note", "params": {"file": f"{trace}.other"}},
    ]
    return "\n".join(map(json.dumps, lines))


def notes(trace: Path) -> str:
    """Such steps, all of which write."""
    return steps("note", trace)


def count(trace: Path, name: str) -> int:
    file = Path(f"{trace}.{name}")
    return file.stat().st_size if file.exists() else 0


@pytest.mark.parametrize("point", POINTS)
def test_a_read_whose_sandbox_is_killed_is_run_again(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path, point: str
) -> None:
    trace = tmp_path / "trace"
    with killing(deployment, POINTS[point]) as killed:
        (summary, *_) = user.texts("batch", commands=steps("look", trace))
    assert killed
    assert "done, 3 of 3 steps: first succeeded, next succeeded, other succeeded" in summary
    assert count(trace, "next") == count(trace, "other") == 1


@pytest.mark.parametrize("point", POINTS)
def test_a_write_whose_sandbox_is_killed_never_happens_twice(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path, point: str
) -> None:
    trace = tmp_path / "trace"
    status, written = WRITES[point]
    with killing(deployment, POINTS[point]) as killed:
        (summary, *_) = user.texts("batch", commands=steps("note", trace))
    assert killed
    assert f"first {status}" in summary
    assert f"{ENDED[status]}, 3 of 3 steps" in summary
    assert count(trace, "first") == written
    assert count(trace, "next") == (1 if status == "succeeded" else 0)
    assert count(trace, "other") == 1


def each(trace: Path) -> str:
    """A step that leaves a trace for each of three documents, and one that waits for it."""
    lines = [
        {"id": "find", "module": "rag", "tool": "list_docs"},
        {"id": "each", "module": "probe", "tool": "note", "params": {"file": f"{trace}.${{each.path}}"}},
        {"id": "next", "module": "probe", "tool": "note", "params": {"file": f"{trace}.next"}, "after": ["notes"]},
    ]
    lines[1] |= {"id": "notes", "each": "${find.items}"}
    return "\n".join(map(json.dumps, lines))


def traces(trace: Path) -> list[int]:
    """Count how often each of the three traces was written."""
    return [count(trace, name) for name in DOCUMENTS]


@pytest.mark.parametrize("point", ELEMENT_POINTS)
def test_a_write_for_an_element_never_happens_twice(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path, point: str
) -> None:
    trace = tmp_path / "trace"
    status, written = ELEMENTS[point]
    with killing(deployment, ELEMENT_POINTS[point], of="element#001#0001") as killed:
        (summary, *_) = user.texts("batch", commands=each(trace))
    assert killed
    assert f"notes {status}" in summary
    assert f"{ENDED[status]}, 3 of 3 steps" in summary
    assert (sum(traces(trace)), max(traces(trace))) == (written, 1)
    assert count(trace, "next") == (1 if status == "succeeded" else 0)


@pytest.mark.parametrize("point", FAN_POINTS)
def test_around_its_elements_a_step_loses_no_write_and_does_none_twice(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path, point: str
) -> None:
    trace = tmp_path / "trace"
    with killing(deployment, FAN_POINTS[point]) as killed:
        (summary, *_) = user.texts("batch", commands=each(trace))
    assert killed
    assert "done, 3 of 3 steps: find succeeded, notes succeeded (3 elements: 3 succeeded), next succeeded" in summary
    assert [*traces(trace), count(trace, "next")] == [1, 1, 1, 1]


def test_every_invocation_of_a_batch_with_elements_may_be_delivered_twice(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    machine = deployment.aws.client("lambda")
    runner = deployment.aws.resource("StepRunnerFunction.Alias")
    pools: list[threading.Thread] = []

    def again(event: dict[str, Any]) -> None:
        machine.invoke(FunctionName=runner, Payload=json.dumps(event))

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if request.operation != "UpdateItem" or request.function != "StepRunnerFunction" or moment != "after":
            return
        batch, key = request.body["Key"]["pk"]["S"], request.body["Key"]["sk"]["S"].split("#")
        event = {"batch": batch, "retry": 0, "execution": "another", "step": int(key[1]) if len(key) > 1 else FIRST}
        event |= {"element": int(key[2])} if len(key) > 2 else {"gather": True} if key[0] == "batch" else {}
        if len(pools) < MOST_DELIVERIES:
            pools.append(threading.Thread(target=again, args=[event]))
            pools[-1].start()

    traffic_of(deployment.aws).on_request = hook
    (summary, *_) = user.texts("batch", commands=each(trace))
    traffic_of(deployment.aws).on_request = None
    for pool in pools:
        pool.join()
    assert len(pools) > 8
    assert "done, 3 of 3 steps: find succeeded, notes succeeded (3 elements: 3 succeeded), next succeeded" in summary
    assert [*traces(trace), count(trace, "next")] == [1, 1, 1, 1]


def together(*works: Callable[[], Any]) -> list[Any]:
    """The results of works that start at the same time."""
    results: list[Any] = [None] * len(works)
    barrier = threading.Barrier(len(works))

    def run(index: int) -> None:
        barrier.wait()
        results[index] = works[index]()

    threads = [threading.Thread(target=run, args=[index]) for index in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_step_that_is_invoked_twice_at_once_runs_once(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path
) -> None:
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    os.mkfifo(gate)
    steps = [
        {"id": "slow", "module": "probe", "tool": "look_long", "params": {"file": str(trace), "gate": str(gate)}},
        # A batch that writes runs on its machine.
        {"id": "write", "module": "probe", "tool": "note", "params": {"file": f"{trace}.write"}, "after": "slow"},
    ]
    machine = deployment.aws.client("lambda")
    runner = deployment.aws.resource("StepRunnerFunction.Alias")
    busy: list[Any] = []

    def invoke_again(batch: str) -> None:
        event = {"batch": batch, "step": 0, "retry": 0, "execution": "another"}
        answer = machine.invoke(FunctionName=runner, Payload=json.dumps(event))
        busy.append(json.load(answer["Payload"]))
        gate.write_text("go")

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        claims = request.operation == "UpdateItem" and "#claim = :claim" in request.body["UpdateExpression"]
        if claims and moment == "after" and request.function == "StepRunnerFunction" and not started:
            started.append(threading.Thread(target=invoke_again, args=[request.body["Key"]["pk"]["S"]]))
            started[0].start()

    started: list[threading.Thread] = []
    traffic_of(deployment.aws).on_request = hook
    (summary, *_) = user.texts("batch", commands=steps)
    traffic_of(deployment.aws).on_request = None
    started[0].join()
    assert "slow succeeded" in summary
    assert busy[0]["errorType"] == "StepBusy"
    assert trace.stat().st_size == 1


@pytest.mark.parametrize("lines", [notes, each])
def test_a_batch_that_is_executed_twice_settles_each_step_once(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path, lines: Callable[[Path], str]
) -> None:
    states = deployment.aws.client("stepfunctions")
    trace = tmp_path / "trace"
    twins: list[str] = []

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if request.operation == "StartExecution" and request.function and moment == "after" and not twins:
            body = request.body
            try:
                twin = states.start_execution(stateMachineArn=body["stateMachineArn"], name="twin", input=body["input"])
            except states.exceptions.StateMachineDoesNotExist:
                return
            twins.append(twin["executionArn"])

    traffic_of(deployment.aws).on_request = hook
    (summary, *_) = user.texts("batch", commands=lines(trace))
    traffic_of(deployment.aws).on_request = None
    assert twins
    assert "done, 3 of 3 steps" in summary
    assert "next succeeded" in summary
    names = ("first", "next", "other") if lines is notes else (*DOCUMENTS, "next")
    assert [count(trace, name) for name in names] == [1] * len(names)
    batch = f"{ORGANIZATION}#{summary.split()[1].rstrip(':')}"
    header = deployment.aws.client("dynamodb").get_item(
        TableName=deployment.aws.resource("Ledger"), Key={"pk": {"S": batch}, "sk": {"S": "batch"}}
    )["Item"]
    assert sorted(place["N"] for place in header["seq"]["M"].values()) == ["0", "1", "2"]


def test_a_lost_answer_of_the_ledger_does_not_lose_a_step(
    deployment: LocalDeployment, user: McpUser, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    lost: list[str] = []

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if request.operation == "UpdateItem" and request.function == "StepRunnerFunction" and moment == "after":
            expression = request.body["UpdateExpression"]
            if expression not in lost:
                lost.append(expression)
                raise InjectedResponse(500, {"__type": "InternalServerError"})

    traffic_of(deployment.aws).on_request = hook
    (summary, *_) = user.texts("batch", commands=steps("note", trace))
    traffic_of(deployment.aws).on_request = None
    assert len(lost) > 2
    assert "done, 3 of 3 steps: first succeeded, next succeeded, other succeeded" in summary
    assert [count(trace, name) for name in ("first", "next", "other")] == [1, 1, 1]
