"""Adoption: uses by week, tool, module and client, their errors, and accounts that fail."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcpist.audit import record as audit
from mcpist.audit.adoption import MAX_NAMED, read_rows, summarize
from tests.core.files.callers import ADA, UMA


def row(tool: str, time: str = "2026-11-20T10:00", user: str = "uma", **columns: Any) -> dict[str, Any]:
    given = {"event": "use", "outcome": "succeeded", "client_name": "codex", "account": "", "measures": None}
    return given | {"tool": tool, "service": tool.partition(".")[0], "time": time, "user": user} | columns


def account(event: str, name: str, time: str, outcome: str = "succeeded") -> dict[str, Any]:
    return row("github.", time, event=event, account=name, outcome=outcome)


def test_nothing_used_is_no_week() -> None:
    found = summarize([])
    assert (found["uses"], found["people"], found["weeks"], found["failing_accounts"]) == (0, 0, [], [])


def test_uses_count_once_by_week_tool_module_and_client() -> None:
    measured = {"tokens_before": 1_000, "tokens_after": 100, "execution_time_ms": 70}
    rows = [
        row("rag.a", "2026-11-23T00:00", user="ada", measures=measured),
        row("rag.a", "2026-11-22T23:59", outcome="started"),
        row("rag.a", "2026-11-22T23:59"),
        row("jira.b", outcome="TIMEOUT", client_name=""),
        row("users.update", event="change"),
    ]
    found = summarize(rows)
    assert (found["uses"], found["failed"], found["people"], found["tools_used"]) == (3, 1, 2, 2)
    assert (found["tokens_saved"], found["slowest_ms"]) == (900, 70)
    assert [(one["week"], one["uses"], one["people"]) for one in found["weeks"]] == [
        ("2026-W47", 2, 1),
        ("2026-W48", 1, 1),
    ]
    assert [(one["tool"], one["uses"]) for one in found["tools"]] == [("rag.a", 2), ("jira.b", 1)]
    assert [(one["client"], one["uses"]) for one in found["clients"]] == [("codex", 2)]
    assert sum(one["uses"] for one in found["users"]) == found["uses"]
    assert len(found["users"]) == found["people"]
    assert found["services"][1]["errors"] == [{"code": "TIMEOUT", "uses": 1}]


def test_the_most_used_are_named() -> None:
    rows = [row(f"rag.t{number:02}") for number in range(MAX_NAMED + 1)] + [row("rag.t20")]
    tools = [one["tool"] for one in summarize(rows)["tools"]]
    assert (len(tools), tools[:2]) == (MAX_NAMED, ["rag.t20", "rag.t00"])


def test_an_account_needs_attention_until_it_works_again() -> None:
    rows = [
        account("refresh", "mended", "2026-11-20T12:00"),
        account("failure", "broken", "2026-11-20T11:00", "RECONNECT_REQUIRED"),
        account("failure", "mended", "2026-11-20T10:00", "RECONNECT_REQUIRED"),
        account("refresh", "broken", "2026-11-20T09:00"),
        account("failure", "", "2026-11-20T08:00", "CONNECT_FAILED"),
    ]
    assert summarize(rows)["failing_accounts"] == [
        {
            "service": "github",
            "account": "broken",
            "user": "uma",
            "time": "2026-11-20T11:00",
            "code": "RECONNECT_REQUIRED",
        }
    ]


@pytest.mark.usefixtures("aws")
def test_rows_are_read_of_all_or_of_one_user() -> None:
    for caller in (UMA, ADA):
        audit.record_use(caller, "rag", "search_docs", outcome="succeeded", request="r")
    now = datetime.now(UTC)
    times = (now - timedelta(hours=1), now + timedelta(hours=1))
    found = read_rows(UMA.organization, *times)
    assert found.is_complete
    assert summarize(found.rows)["people"] == 2
    assert summarize(read_rows(UMA.organization, *times, UMA.user).rows)["uses"] == 1
