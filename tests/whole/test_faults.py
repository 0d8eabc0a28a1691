"""Sandboxes killed at every point of a step, and steps and batches entered twice: each settles once."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.house import ORGANIZATION, House
from infra.local.stack import AwsRequest, FaultyAnswer, Moment
from tests.whole.conftest import Visitor

type Point = tuple[str, Moment]

POINTS: dict[str, Point] = {
    "before its claim": ("#claim = :claim", "before"),
    "after its claim": ("#claim = :claim", "after"),
    "after its call, before its result is kept": ("#status = :status", "before"),
    "before its settling": ("#seq.#s0", "before"),
    "after its settling": ("#seq.#s0", "after"),
}
# What a step that writes comes to, and how often its write has happened.
WRITES = {
    "before its claim": ("succeeded", 1),
    "after its claim": ("unknown", 0),
    "after its call, before its result is kept": ("unknown", 1),
    "before its settling": ("succeeded", 1),
    "after its settling": ("succeeded", 1),
}


@contextmanager
def killing(house: House, point: Point) -> Iterator[list[AwsRequest]]:
    """The first sandbox that comes to this point of step 0 is killed there."""
    expression, moment = point
    killed: list[AwsRequest] = []
    lock = threading.Lock()

    def hook(request: AwsRequest, now: Moment) -> None:
        if request.function != "StepRunnerFunction" or request.operation != "UpdateItem" or now != moment:
            return
        body = request.body
        of_step_0 = body["Key"]["sk"]["S"] in {"step#000", "batch"}
        with lock:
            if killed or not of_step_0 or expression not in body["UpdateExpression"]:
                return
            killed.append(request)
        house.aws.kill(request.caller)

    house.aws.on_request = hook
    try:
        yield killed
    finally:
        house.aws.on_request = None


def steps(tool: str, trace: Path) -> str:
    """A step that leaves a trace, one that waits for it, and one that does not."""
    lines = [
        {"id": "first", "module": "probe", "tool": tool, "params": {"file": f"{trace}.first"}},
        {"id": "next", "module": "probe", "tool": "note", "params": {"file": f"{trace}.next"}, "after": ["first"]},
        {"id": "other", "module": "probe", "tool": "note", "params": {"file": f"{trace}.other"}},
    ]
    return "\n".join(map(json.dumps, lines))


def count(trace: Path, name: str) -> int:
    file = Path(f"{trace}.{name}")
    return file.stat().st_size if file.exists() else 0


@pytest.mark.parametrize("point", POINTS)
def test_a_read_whose_sandbox_is_killed_is_run_again(house: House, user: Visitor, tmp_path: Path, point: str) -> None:
    trace = tmp_path / "trace"
    with killing(house, POINTS[point]) as killed:
        (summary, *_) = user.texts("batch", commands=steps("look", trace))
    assert killed
    assert "done, 3 of 3 steps: first succeeded, next succeeded, other succeeded" in summary
    assert count(trace, "next") == count(trace, "other") == 1


@pytest.mark.parametrize("point", POINTS)
def test_a_write_whose_sandbox_is_killed_never_happens_twice(
    house: House, user: Visitor, tmp_path: Path, point: str
) -> None:
    trace = tmp_path / "trace"
    status, written = WRITES[point]
    with killing(house, POINTS[point]) as killed:
        (summary, *_) = user.texts("batch", commands=steps("note", trace))
    assert killed
    assert f"first {status}" in summary
    assert "done, 3 of 3 steps" in summary
    assert count(trace, "first") == written
    assert count(trace, "next") == (1 if status == "succeeded" else 0)
    assert count(trace, "other") == 1


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


def test_a_step_that_is_invoked_twice_at_once_runs_once(house: House, user: Visitor, tmp_path: Path) -> None:
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    os.mkfifo(gate)
    step = {"id": "slow", "module": "probe", "tool": "look_long", "params": {"file": str(trace), "gate": str(gate)}}
    machine = house.aws.client("lambda")
    runner = house.aws.resource("StepRunnerFunction.Alias")
    busy: list[Any] = []

    def invoke_again(batch: str) -> None:
        event = {"batch": batch, "step": 0, "retry": 0, "execution": "another"}
        answer = machine.invoke(FunctionName=runner, Payload=json.dumps(event))
        busy.append(json.load(answer["Payload"]))
        gate.write_text("go")

    def hook(request: AwsRequest, moment: Moment) -> None:
        claims = request.operation == "UpdateItem" and "#claim = :claim" in request.body["UpdateExpression"]
        if claims and moment == "after" and request.function == "StepRunnerFunction" and not started:
            started.append(threading.Thread(target=invoke_again, args=[request.body["Key"]["pk"]["S"]]))
            started[0].start()

    started: list[threading.Thread] = []
    house.aws.on_request = hook
    (summary, *_) = user.texts("batch", commands=json.dumps(step))
    house.aws.on_request = None
    started[0].join()
    assert "slow succeeded" in summary
    assert busy[0]["errorType"] == "StepBusy"
    assert trace.stat().st_size == 1


def test_a_batch_that_is_executed_twice_settles_each_step_once(house: House, user: Visitor, tmp_path: Path) -> None:
    states = house.aws.client("stepfunctions")
    trace = tmp_path / "trace"
    twins: list[str] = []

    def hook(request: AwsRequest, moment: Moment) -> None:
        if request.operation == "StartExecution" and request.function and moment == "after" and not twins:
            body = request.body
            try:
                twin = states.start_execution(stateMachineArn=body["stateMachineArn"], name="twin", input=body["input"])
            except states.exceptions.StateMachineDoesNotExist:
                return
            twins.append(twin["executionArn"])

    house.aws.on_request = hook
    (summary, *_) = user.texts("batch", commands=steps("note", trace))
    house.aws.on_request = None
    assert twins
    assert "done, 3 of 3 steps: first succeeded, next succeeded, other succeeded" in summary
    assert [count(trace, name) for name in ("first", "next", "other")] == [1, 1, 1]
    batch = f"{ORGANIZATION}#{summary.split()[1].rstrip(':')}"
    header = house.aws.client("dynamodb").get_item(
        TableName=house.aws.resource("Ledger"), Key={"pk": {"S": batch}, "sk": {"S": "batch"}}
    )["Item"]
    assert sorted(place["N"] for place in header["seq"]["M"].values()) == ["0", "1", "2"]


def test_a_lost_answer_of_the_ledger_does_not_lose_a_step(house: House, user: Visitor, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    lost: list[str] = []

    def hook(request: AwsRequest, moment: Moment) -> None:
        if request.operation == "UpdateItem" and request.function == "StepRunnerFunction" and moment == "after":
            expression = request.body["UpdateExpression"]
            if expression not in lost:
                lost.append(expression)
                raise FaultyAnswer(500, {"__type": "InternalServerError"})

    house.aws.on_request = hook
    (summary, *_) = user.texts("batch", commands=steps("note", trace))
    house.aws.on_request = None
    assert len(lost) > 2
    assert "done, 3 of 3 steps: first succeeded, next succeeded, other succeeded" in summary
    assert [count(trace, name) for name in ("first", "next", "other")] == [1, 1, 1]
