"""The log lines and metrics of an invocation have one correlation id."""

import contextlib
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcpist.telemetry import invocation, metrics
from mcpist.telemetry.log_lines import LineLogger
from mcpist.telemetry.metrics import AUDIT_ROWS_LOST, CALLS, ERRORS, INTEGRITY_FAILURES, LATENCY
from tests import emf


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "mcpist/stack")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mcpist")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(stream: io.StringIO) -> LineLogger:
    return LineLogger(stream)


def ids(stream: io.StringIO) -> list[str | None]:
    return [json.loads(line).get("correlation_id") for line in stream.getvalue().splitlines()]


def test_every_line_of_an_invocation_has_its_correlation_id_and_no_other(
    logger: LineLogger, stream: io.StringIO
) -> None:
    for correlation in ("one", "two"):
        with invocation.begin("door", logger, correlation):
            logger.info("in", extra={})
            assert invocation.correlation() == correlation
    logger.info("outside", extra={})
    assert ids(stream) == ["one", "two", None]
    assert invocation.correlation() == ""


def test_a_step_uses_the_correlation_id_of_its_batch_once_it_is_known(
    logger: LineLogger, stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    with invocation.begin("door", logger, "own"):
        invocation.bind_correlation("")  # from a batch of a release that stored none
        logger.info("before", extra={})
        invocation.bind_correlation("request")
        logger.info("after", extra={})
        invocation.count(CALLS)
    assert ids(stream) == ["own", "request"]
    assert [one.correlation for one in emf.seen(capsys.readouterr().out)] == ["request"]


def test_metrics_are_one_line_and_one_more_for_each_value_of_a_dimension(
    logger: LineLogger, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(KeyError), invocation.begin("door", logger, "r1"):
        invocation.count(CALLS)
        invocation.count(CALLS)
        invocation.count(LATENCY, 12)
        invocation.count(ERRORS, by="TIMEOUT")
        invocation.count(ERRORS, by="INTERNAL_ERROR")
        assert capsys.readouterr().out == ""
        raise KeyError  # metrics are written nevertheless
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 3
    service = ("service", "mcpist")
    assert {(one.name, one.unit, one.value, one.dimensions) for one in emf.seen(out)} == {
        ("Calls", "Count", 2, frozenset({service})),
        ("Latency", "Milliseconds", 12, frozenset({service})),
        ("Errors", "Count", 1, frozenset({service, ("code", "TIMEOUT")})),
        ("Errors", "Count", 1, frozenset({service, ("code", "INTERNAL_ERROR")})),
    }
    assert {(one.namespace, one.correlation) for one in emf.seen(out)} == {("mcpist/stack", "r1")}


def test_an_owner_can_switch_metrics_off(
    logger: LineLogger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    with invocation.begin("room", logger, "request-1"):
        invocation.count(metrics.CALLS)
    assert capsys.readouterr().out == ""


def test_an_invocation_that_counts_nothing_writes_nothing(
    logger: LineLogger, capsys: pytest.CaptureFixture[str]
) -> None:
    with invocation.begin("door", logger, "r1"):
        pass
    assert capsys.readouterr().out == ""


def test_a_metric_with_an_alarm_is_written_at_once(logger: LineLogger, capsys: pytest.CaptureFixture[str]) -> None:
    with invocation.begin("door", logger, "r1"):
        invocation.count_now(AUDIT_ROWS_LOST)
        assert [one.name for one in emf.seen(capsys.readouterr().out)] == ["AuditRowsLost"]
    assert capsys.readouterr().out == ""


def test_nothing_is_counted_outside_of_an_invocation_or_in_another_thread(
    logger: LineLogger, capsys: pytest.CaptureFixture[str]
) -> None:
    invocation.count(CALLS)
    invocation.count_now(AUDIT_ROWS_LOST)
    with invocation.begin("door", logger, "r1"):
        other = threading.Thread(target=invocation.count, args=(CALLS,))
        other.start()
        other.join()
    assert capsys.readouterr().out == ""


def test_the_names_of_metrics_are_unique() -> None:
    names = [value.name for value in vars(metrics).values() if isinstance(value, metrics.Metric)]
    assert len(names) == len(set(names)) > 1


def test_a_thread_that_works_for_an_invocation_counts_for_it_and_has_its_correlation_id(
    logger: LineLogger, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(2) as pool, invocation.begin("door", logger, "request-7"):
        assert (
            list(pool.map(invocation.with_context(lambda _: invocation.correlation()), range(2))) == ["request-7"] * 2
        )
        pool.submit(invocation.with_context(lambda: invocation.count(CALLS))).result()
        pool.submit(invocation.with_context(lambda: invocation.count_now(INTEGRITY_FAILURES))).result()
        assert pool.submit(invocation.correlation).result() == ""
    written = capsys.readouterr().out
    assert '"Calls":[1.0]' in written
    assert '"IntegrityFailures":[1.0]' in written


def test_a_request_succeeds_if_its_metrics_cannot_be_written(
    logger: LineLogger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_NAMESPACE")
    with invocation.begin("door", logger, "request-7"):
        invocation.count(CALLS)
        invocation.count_now(AUDIT_ROWS_LOST)
    assert [record.message for record in caplog.records] == ["metrics not written"] * 2


def test_work_beside_a_request_runs_while_it_goes_on_and_ends_before_it(logger: LineLogger) -> None:
    goes_on, done = threading.Event(), []

    def work() -> str:
        assert goes_on.wait(10)
        done.append(invocation.correlation())
        return "result"

    with invocation.begin("door", logger, "request"):
        result = invocation.beside(work)
        invocation.beside(work)
        assert not done
        goes_on.set()
        assert result() == "result"
    assert done == ["request", "request"]


def test_an_error_beside_a_request_is_raised_where_its_result_is_needed(logger: LineLogger) -> None:
    with invocation.begin("door", logger, "request"):
        result = invocation.beside(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            result()


def test_an_error_beside_a_request_whose_result_nobody_needs_is_logged_without_its_message(
    logger: LineLogger, caplog: pytest.LogCaptureFixture
) -> None:
    def work() -> None:
        raise ValueError("a secret")

    with invocation.begin("door", logger, "request"):
        invocation.beside(work)
    (record,) = caplog.records
    assert record.getMessage() == "work beside the request failed"
    assert vars(record)["defect"] == "ValueError"
    assert "a secret" not in caplog.text


def test_outside_of_an_invocation_work_is_done_at_once() -> None:
    done: list[int] = []
    result = invocation.beside(lambda: done.append(1))
    assert done == [1]
    assert result() is None
