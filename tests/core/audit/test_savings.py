"""Savings: totals, periods, quantiles and rates from rows of the audit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcpist.audit import record as audit
from mcpist.audit.savings import read_uses, summarize
from tests.core.files.callers import ADA, UMA


def row(tool: str, day: str, outcome: str = "succeeded", **measures: int) -> dict[str, Any]:
    return {"tool": tool, "time": f"{day}T10:00:00.000000+00:00", "outcome": outcome, "measures": measures or None}


def ran(milliseconds: int, before: int = 1_000, after: int = 100, files: int = 2) -> dict[str, int]:
    tokens = {"tokens_before": before, "tokens_after": after}
    return {"execution_time_ms": milliseconds, "output_file_count": files, "input_size_bytes": 10, **tokens}


def test_nothing_done_is_nothing_saved() -> None:
    found = summarize([])
    assert (found["runs"], found["p95_ms"], found["token_efficiency"], found["days"]) == (0, 0, 0.0, [])


def test_totals_are_of_runs_that_ended_and_numbers_of_those_that_succeeded() -> None:
    rows = [row("a.x", "2026-11-20", **ran(number)) for number in range(1, 101)]
    rows += [
        row("a.x", "2026-11-20", "started"),
        row("a.y", "2026-11-22", "TIMEOUT"),
        row("a.y", "2026-11-23", **ran(7)),
    ]
    found = summarize(rows)
    assert (found["runs"], found["failed"], found["files"], found["input_bytes"]) == (102, 1, 202, 1_010)
    assert (found["tokens_saved"], found["token_efficiency"]) == (90_900, 0.9)
    one, two = found["commands"]
    assert (one["command"], one["p50_ms"], one["p95_ms"]) == ("a.x", 50, 95)
    assert (two["command"], two["runs"], two["failed"], two["p95_ms"]) == ("a.y", 2, 1, 7)
    assert [(day["period"], day["files"]) for day in found["days"]] == [
        ("2026-11-20", 200),
        ("2026-11-22", 0),
        ("2026-11-23", 2),
    ]
    assert [(week["period"], week["runs"]) for week in found["weeks"]] == [("2026-W47", 101), ("2026-W48", 1)]
    assert found["errors"] == [{"code": "TIMEOUT", "runs": 1, "rate": 0.0098}]


def test_an_answer_that_is_larger_than_its_files_saves_nothing_and_costs_no_other_run() -> None:
    found = summarize([row("a.x", "2026-11-20", **ran(1, 10, 200)), row("a.x", "2026-11-20", **ran(1, 100, 50))])
    assert (found["tokens_saved"], found["tokens_before"]) == (50, 110)


@pytest.mark.usefixtures("aws")
def test_rows_are_read_by_module_and_by_user() -> None:
    for caller, module in ((UMA, "text"), (ADA, "text"), (UMA, "image"), (UMA, "jira")):
        audit.record_use(caller, module, "run", outcome="succeeded", request="r", measures=ran(5))
    now = datetime.now(UTC)
    times = (now - timedelta(hours=1), now + timedelta(hours=1))
    rows, is_complete = read_uses(UMA.organization, ("text", "image"), *times)
    assert is_complete
    assert summarize(rows)["files"] == 6
    own, _ = read_uses(UMA.organization, ("text", "image"), *times, UMA.user)
    assert sorted(one["tool"] for one in own) == ["image.run", "text.run"]
