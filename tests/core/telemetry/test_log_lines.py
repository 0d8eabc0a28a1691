"""A function's log lines: one JSON object each, whatever is in it."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from mcpist.telemetry.log_lines import LineLogger


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_a_line_has_its_keys_its_fields_and_the_time(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mcpist")
    logger = LineLogger(stream)
    logger.keys = {"correlation_id": "r"}
    logger.info("request", extra={"path": "/mcp", "status": 200})
    (line,) = map(json.loads, stream.getvalue().splitlines())
    written = datetime.fromisoformat(line.pop("timestamp"))
    assert timedelta(0) <= datetime.now(UTC) - written < timedelta(minutes=1)
    assert line == {
        "level": "INFO",
        "message": "request",
        "service": "mcpist",
        "correlation_id": "r",
        "path": "/mcp",
        "status": 200,
    }


def test_any_text_is_one_line_of_json(stream: io.StringIO) -> None:
    LineLogger(stream).info("x\ny", extra={"path": "/ü/\ud800\n", "at": datetime(2026, 1, 31, tzinfo=UTC)})
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["message"], line["path"]) == ("x\ny", "/ü/?\n")
    assert line["at"].startswith("2026-01-31")


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("DEBUG", ["INFO", "ERROR"]),
        ("INFO", ["INFO", "ERROR"]),
        ("WARN", ["ERROR"]),
        ("ERROR", ["ERROR"]),
        ("FATAL", []),
    ],
)
def test_the_functions_level_leaves_lines_out(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, level: str, written: list[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", level)
    logger = LineLogger(stream)
    logger.info("a", extra={})
    logger.error("b", extra={})
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == written


def test_an_exception_is_in_its_line_with_its_traceback(stream: io.StringIO) -> None:
    try:
        {}["who"]
    except KeyError:
        LineLogger(stream).exception("failed", extra={"request": "r"})
    line = json.loads(stream.getvalue())
    assert (line["level"], line["request"], line["exception_name"]) == ("ERROR", "r", "KeyError")
    assert line["exception"].startswith("Traceback")
    assert "who" in line["exception"]
