"""The metrics and the log of the step runner, and their correlation id."""

import io
import json
from dataclasses import replace
from typing import get_args

import pytest

from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.records import Ending, Status
from mcpist.telemetry import invocation
from step_runner.handler import DOOR
from tests import emf
from tests.step_runner.ledger_batch import PK, Write, enter, entry

TAGS = ("list_tags", {}, set[int]())


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(DOOR.logger, "_stream", stream)
    return stream


@pytest.mark.parametrize("status", get_args(Status.__value__))
def test_each_outcome_is_counted_when_its_step_settles_and_never_again(
    write: Write, capsys: pytest.CaptureFixture[str], status: Status
) -> None:
    head = write(TAGS)
    transitions.finish(head, entry(), None, Ending(status))
    with invocation.begin("door", DOOR.logger, "r1"):
        assert transitions.settle(PK, 0, status).outcome == {0: status}
        assert transitions.settle(PK, 0, status).outcome == {0: status}
    (metric,) = emf.seen(capsys.readouterr().out)
    assert (metric.name, metric.value, metric.dimensions) == (
        "BatchSteps",
        1,
        {("service", "mcpist"), ("outcome", status)},
    )


def test_a_step_counts_its_call_its_error_and_its_outcome(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write(("get_doc", {"path": "nothing.md"}, set()))
    enter()
    found = {(metric.name, metric.dimensions - {("service", "mcpist")}) for metric in emf.seen(capsys.readouterr().out)}
    assert found == {
        ("Calls", frozenset()),
        ("Latency", frozenset()),
        ("Errors", frozenset({("code", "FILE_NOT_FOUND")})),
        ("BatchSteps", frozenset({("outcome", "failed")})),
    }


def test_a_lost_step_is_a_defect(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write(TAGS)
    enter("lost")
    found = {metric.name: dict(metric.dimensions) for metric in emf.seen(capsys.readouterr().out)}
    assert found["Errors"]["code"] == "INTERNAL_ERROR"


@pytest.mark.parametrize(("stored", "written"), [("request-0", "request-0"), ("", "request-1")])
def test_a_steps_log_and_metrics_have_the_correlation_id_of_its_batch(
    write: Write, lines: io.StringIO, capsys: pytest.CaptureFixture[str], stored: str, written: str
) -> None:
    head = write(TAGS)
    ledger.write(replace(head, correlation=stored), [entry()])
    enter()
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(line["message"], line["request"], line["correlation_id"]) for line in found] == [
        ("request", "request-1", written),
        ("response", "request-1", written),
    ]
    assert {metric.correlation for metric in emf.seen(capsys.readouterr().out)} == {written}


def test_a_step_continues_the_trace_of_its_batch(write: Write, lines: io.StringIO) -> None:
    head = write(TAGS)
    ledger.write(replace(head, correlation="r-0", traceparent=f"00-{'a' * 32}-{'b' * 16}-01"), [entry()])
    enter()
    assert {json.loads(line)["trace_id"] for line in lines.getvalue().splitlines()} == {"a" * 32}
