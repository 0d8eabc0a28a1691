"""Adoption: uses by week, tool, module and client, their errors, and accounts that fail."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcpist.audit import record as audit
from mcpist.audit import uses as audit_uses
from mcpist.audit.adoption import MAX_NAMED, read_adoption, summarize
from mcpist.audit.uses import Uses, count_uses
from mcpist.settings import settings
from tests.core.files.callers import ADA, UMA


def row(tool: str, time: str = "2026-11-20T10:00", user: str = "uma", **columns: Any) -> dict[str, Any]:
    given = {"event": "use", "outcome": "succeeded", "client_name": "codex", "account": "", "measures": None}
    return given | {"tool": tool, "service": tool.partition(".")[0], "time": time, "user": user} | columns


def account(event: str, name: str, time: str, outcome: str = "succeeded") -> dict[str, Any]:
    return row("github.", time, event=event, account=name, outcome=outcome)


def report(rows: list[dict[str, Any]]) -> dict[str, Any]:
    uses = Uses()
    for one in rows:
        uses.add(one)
    return summarize(uses)


def test_nothing_used_is_no_week() -> None:
    found = report([])
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
    found = report(rows)
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
    tools = [one["tool"] for one in report(rows)["tools"]]
    assert (len(tools), tools[:2]) == (MAX_NAMED, ["rag.t20", "rag.t00"])


def test_an_account_needs_attention_until_it_works_again() -> None:
    rows = [
        account("refresh", "mended", "2026-11-20T12:00"),
        account("failure", "broken", "2026-11-20T11:00", "RECONNECT_REQUIRED"),
        account("failure", "mended", "2026-11-20T10:00", "RECONNECT_REQUIRED"),
        account("refresh", "broken", "2026-11-20T09:00"),
        account("failure", "", "2026-11-20T08:00", "CONNECT_FAILED"),
    ]
    assert report(rows)["failing_accounts"] == [
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
    found, is_complete = read_adoption(UMA.organization, *times)
    assert is_complete
    assert summarize(found)["people"] == 2
    assert summarize(read_adoption(UMA.organization, *times, UMA.user)[0])["uses"] == 1


SUNDAY, MONDAY = datetime(2026, 11, 22, 23, 59, tzinfo=UTC), datetime(2026, 11, 23, 8, tzinfo=UTC)


def write(moment: datetime, number: int = 0, **columns: Any) -> None:
    usual = {"user": "uma", "roles": (), "event": "use", "service": "rag", "tool": "rag.a", "outcome": "succeeded"}
    item = audit.new_row("acme", **{**usual, **columns})  # type: ignore[arg-type]
    audit.write_row(audit.keyed(item, "acme", f"{audit.timestamp(moment)}#{number:08x}"))


@pytest.fixture
def later(aws: object, monkeypatch: pytest.MonkeyPatch) -> datetime:  # noqa: ARG001 - the tables
    """A time at which the rows around that Monday are old enough."""
    monkeypatch.setenv("AUDIT_DAYS", "4000")
    settings.cache_clear()
    return MONDAY + timedelta(hours=1)


def uses_between(since: datetime, until: datetime) -> int:
    return int(summarize(read_adoption("acme", since, until)[0])["uses"])


def test_what_is_counted_is_what_the_rows_say(later: datetime) -> None:
    for number in range(3):
        write(SUNDAY, number, outcome="TIMEOUT" if number else "succeeded")
        write(MONDAY, number, user=f"user{number}")
    write(MONDAY, 9, event="failure", account="Uma", outcome="RECONNECT_REQUIRED")
    begin = datetime(2026, 11, 16, tzinfo=UTC)
    before = summarize(read_adoption("acme", begin, later)[0])
    assert (before["uses"], before["failed"], before["people"], len(before["failing_accounts"])) == (6, 2, 4, 1)
    for _ in range(2):  # nothing is counted twice
        count_uses("acme", later)
    write(later, 1)
    write(SUNDAY, 8)  # it was written too late for the counts, and its week is counted
    after = summarize(read_adoption("acme", begin, later)[0])
    assert after == before
    assert uses_between(begin, later + timedelta(minutes=1)) == 7
    count_uses("acme", later + timedelta(hours=1))
    assert uses_between(begin, later + timedelta(minutes=1)) == 7


def test_a_report_that_begins_or_ends_within_a_week_reads_its_rows(later: datetime) -> None:
    write(SUNDAY)
    write(MONDAY)
    count_uses("acme", later)
    assert uses_between(SUNDAY - timedelta(hours=1), MONDAY - timedelta(hours=1)) == 1
    assert uses_between(MONDAY, later) == 1
    assert uses_between(MONDAY + timedelta(minutes=1), later) == 0


def test_two_runs_at_once_count_nothing_twice(later: datetime) -> None:
    write(MONDAY)
    stale = audit_uses.CountedWeek("2026-11-23", "2026-11-23")
    count_uses("acme", later)
    audit_uses._count_rows("acme", stale, audit.timestamp(later))
    assert uses_between(datetime(2026, 11, 23, tzinfo=UTC), later) == 1


def test_a_week_of_more_rows_than_a_run_counts_is_counted_by_several(
    later: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_uses, "MAX_COUNTED_ROWS", 2)
    for number in range(5):
        write(MONDAY + timedelta(minutes=number), number)
    for _ in range(3):
        count_uses("acme", later)
        assert uses_between(datetime(2026, 11, 23, tzinfo=UTC), later) == 5


def test_too_many_counts_keep_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_uses, "MAX_COUNTS", 2)
    found = report([row(f"rag.t{number}") for number in range(5)])
    assert (found["uses"], found["services"][0]["uses"], found["weeks"][0]["uses"], found["tools_used"]) == (5, 5, 5, 2)
