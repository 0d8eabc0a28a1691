"""The frame around every handler: what is logged, counted and answered."""

import io
import json
import signal
import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from mcpist.errors import BatchNotFound, IntegrityError, InternalError, McpistError
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door, typed_errors
from mcpist.telemetry.log_lines import LineLogger
from tests import emf


class Context:
    """The part of Lambda's context that a door reads."""

    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 2_200


class Later(Exception):
    """Asks the caller to call again later."""


class Frame:
    """A door whose log lines are kept."""

    def __init__(self, logger: LineLogger, stream: io.StringIO) -> None:
        self.logger = logger
        self.stream = stream

    def answer(self, work: Callable[[], Any], *, on_error: Any = lambda error: error.code, **options: Any) -> Any:
        arguments = {name: options.pop(name) for name in ("correlation", "route") if name in options}
        door = Door("door", self.logger, **options)
        return door.answer(Context(), work, on_error, **arguments)  # type: ignore[arg-type]  # a part of the context

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def frame(monkeypatch: pytest.MonkeyPatch) -> Frame:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "mcpist/stack")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mcpist")
    stream = io.StringIO()
    return Frame(LineLogger(stream), stream)


def test_work_that_nothing_ends_is_interrupted_in_time_for_a_typed_answer(frame: Frame) -> None:
    before = signal.getsignal(signal.SIGALRM)
    began = time.monotonic()
    assert frame.answer(lambda: Event().wait(20), answers_in_time=True) == "TIMEOUT"
    assert time.monotonic() - began < 18  # the work waits for twenty
    assert (signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)) == ((0, 0), before)


def test_work_in_time_is_not_interrupted_afterwards(frame: Frame) -> None:
    assert frame.answer(lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0, answers_in_time=True)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def raising(error: Exception) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def test_an_invocation_is_one_line_in_and_one_line_out(frame: Frame) -> None:
    assert frame.answer(lambda: {"statusCode": 204}, route="GET /", correlation="sender-7") == {"statusCode": 204}
    first, last = frame.lines
    assert [line["message"] for line in (first, last)] == ["request", "response"]
    assert {line["correlation_id"] for line in (first, last)} == {"sender-7"}
    assert {(line["request"], line["route"]) for line in (first, last)} == {("request-1", "GET /")}
    assert (last["outcome"], last["http.response.status_code"]) == ("OK", 204)
    assert "error.type" not in last
    assert last["milliseconds"] >= 0


def test_fields_that_the_work_adds_are_in_the_last_line(frame: Frame) -> None:
    frame.answer(lambda: invocation.add_fields(removed=["a"]))
    first, last = frame.lines
    assert "removed" not in first
    assert last["removed"] == ["a"]


def test_the_first_line_can_wait_until_the_correlation_id_is_known(frame: Frame) -> None:
    def work() -> None:
        invocation.bind_correlation("batch-7")
        invocation.log_request()

    frame.answer(work, correlation=None)
    assert [(line["message"], line["correlation_id"]) for line in frame.lines] == [
        ("request", "batch-7"),
        ("response", "batch-7"),
    ]


def test_a_typed_error_is_answered_and_counted_by_its_code(frame: Frame, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.answer(raising(BatchNotFound(batch="b_1"))) == "BATCH_NOT_FOUND"
    assert (frame.lines[-1]["outcome"], frame.lines[-1]["level"]) == ("BATCH_NOT_FOUND", "INFO")
    assert frame.lines[-1]["error.type"] == "BATCH_NOT_FOUND"
    (counted,) = emf.seen(capsys.readouterr().out)
    assert (counted.name, dict(counted.dimensions)["code"]) == ("Errors", "BATCH_NOT_FOUND")


def test_an_unexpected_exception_is_answered_as_an_internal_error_and_logged_with_its_traceback(frame: Frame) -> None:
    answered: list[McpistError] = []
    frame.answer(raising(KeyError("who")), on_error=answered.append)
    assert [(type(error), error.details) for error in answered] == [(InternalError, {"request_id": "request-1"})]
    last = frame.lines[-1]
    assert (last["outcome"], last["level"], last["exception_name"]) == ("INTERNAL_ERROR", "ERROR", "KeyError")
    assert "who" in last["exception"]


def test_a_door_that_logs_no_messages_logs_only_where_an_exception_arose(frame: Frame) -> None:
    frame.answer(raising(KeyError("a secret")), logs_messages=False)
    last = frame.lines[-1]
    assert (last["outcome"], last["level"], last["defect"]) == ("INTERNAL_ERROR", "ERROR", "KeyError")
    assert any(frame.startswith("test_door.py:") for frame in last["frames"])
    assert "a secret" not in frame.stream.getvalue()


def test_a_fault_on_our_side_is_logged_as_an_error(frame: Frame) -> None:
    assert frame.answer(raising(IntegrityError(what="a file"))) == "INTEGRITY_ERROR"
    assert frame.lines[-1]["level"] == "ERROR"


def test_a_door_whose_callers_count_its_errors_counts_none(frame: Frame, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.answer(raising(KeyError()), counts_errors=False) == "INTERNAL_ERROR"
    assert capsys.readouterr().out == ""


def test_without_an_answer_for_errors_they_are_logged_and_raised(frame: Frame) -> None:
    with pytest.raises(KeyError):
        frame.answer(raising(KeyError()), on_error=None)
    with pytest.raises(Later):
        frame.answer(raising(Later()), on_error=None, retried=(Later,))
    assert [(line["outcome"], line["level"]) for line in frame.lines if line["message"] == "response"] == [
        ("INTERNAL_ERROR", "ERROR"),
        ("Later", "INFO"),
    ]


def test_inside_of_an_answer_an_unexpected_exception_becomes_an_internal_error(frame: Frame) -> None:
    def work() -> None:
        with typed_errors():
            raise KeyError

    answered: list[McpistError] = []
    frame.answer(work, on_error=answered.append)
    assert [error.details for error in answered] == [{"request_id": "request-1"}]
    assert [line["message"] for line in frame.lines] == ["request", "request failed", "response"]
    assert frame.lines[1]["exception_name"] == "KeyError"
