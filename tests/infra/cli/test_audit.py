"""`mcpist audit`: rows of the organization, as REST answers them."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.cli import audit as command
from infra.cli.audit import AuditRows, parse_time
from infra.cli.document import CommandError
from infra.cli.rest_client import Access
from mcpist.audit import record as audit
from mcpist.audit.seals import seal_organization
from mcpist.memory import forget_all
from tests.audit_items import audit_items
from tests.core.files.callers import UMA
from tests.infra.cli.conftest import Mcpist
from tests.services.programs.declarations import tool, written


@pytest.fixture(autouse=True)
def rows(organization: str) -> None:
    """Three rows of the organization."""
    for user, service in (("uma", "github"), ("ada", "github"), ("uma", "jira")):
        row = audit.new_row(
            organization=organization,
            user=user,
            roles=["members"],
            event="revoke",
            service=service,
            account="octocat",
            outcome="revoked",
            request="r1",
        )
        audit.write_row(row)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], [("uma", "jira"), ("ada", "github"), ("uma", "github")]),
        (["--user", "uma"], [("uma", "jira"), ("uma", "github")]),
        (["--service", "github", "--since", "1h"], [("ada", "github"), ("uma", "github")]),
        (["--event", "revoke", "--outcome", "revoked", "--user", "ada"], [("ada", "github")]),
        (["--event", "change"], []),
        (["--tool", "rag.list_tags"], []),
        (["--until", "1h"], []),
        (["--since", "2020-01-01", "--until", "2020-01-02"], []),
    ],
)
def test_rows_are_found_by_their_columns_and_time(
    mcpist: Mcpist, arguments: list[str], found: list[tuple[str, str]]
) -> None:
    assert [(row["user"], row["service"]) for row in mcpist("audit", *arguments)["rows"]] == found


def test_pages_follow_by_their_cursor(mcpist: Mcpist) -> None:
    first = mcpist("audit", "--limit", "2")
    second = mcpist("audit", "--limit", "2", "--cursor", first["cursor"])
    assert [len(one["rows"]) for one in (first, second)] == [2, 1]
    assert second["cursor"] == ""


def test_a_narrow_terminal_shows_each_id_whole(monkeypatch: pytest.MonkeyPatch, mcpist: Mcpist) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ids = [row["id"] for row in mcpist("audit")["rows"]]
    drawn = command.show_audit(Access(), AuditRows()).drawing.splitlines()
    assert [line.strip() for line in drawn if line.strip() in ids] == ids
    assert max(map(len, drawn)) <= 80


def test_an_export_has_the_rows_of_all_pages_under_one_head(mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXPORT_ROWS", 2)
    (text,) = mcpist("audit", "--export", "csv")["texts"]
    assert [row["service"] for row in csv.DictReader(io.StringIO(text))] == ["jira", "github", "github"]
    (text,) = mcpist("audit", "--export", "jsonl")["texts"]
    assert [json.loads(line)["service"] for line in text.splitlines()] == ["jira", "github", "github"]


def test_a_time_is_a_day_a_moment_or_a_duration_before_now() -> None:
    assert parse_time("2026-11-21") == datetime(2026, 11, 21, tzinfo=UTC)
    assert parse_time("2026-11-21T14:00:00+09:00") == datetime(2026, 11, 21, 5, tzinfo=UTC)
    assert abs(datetime.now(UTC) - timedelta(minutes=90) - parse_time("90m")) < timedelta(seconds=5)


@pytest.mark.parametrize("text", ["yesterday", "7w", "999999d", ""])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        parse_time(text)


def test_verify_prints_the_head_and_fails_where_rows_are_not_as_sealed(mcpist: Mcpist, organization: str) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    seal_organization(organization, later)
    found = mcpist("audit", "--verify")
    assert (found["rows"], found["findings"], len(found["head"])) == (3, [], 64)
    assert mcpist("audit", "--verify", "--head", found["head"])["rows"] == 3
    assert mcpist("audit", "--verify", "--head", "0" * 64, fails=True)["code"] == "INTEGRITY_ERROR"
    row = audit_items(organization)[0]
    audit.audit_table().put({**row, "user": "eve"})
    failed = mcpist("audit", "--verify", fails=True)
    assert failed["code"] == "INTEGRITY_ERROR"
    assert len(failed["details"]["findings"][0]["unexpected"]) == 1


def test_savings_are_shown_by_command_day_and_week(
    mcpist: Mcpist, organization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = {"name": "sample", "description": "P.", "version": "1", "tools": [tool(["run"])]}
    written(tmp_path, sample)
    monkeypatch.setenv("PROGRAMS", str(tmp_path))
    forget_all()
    measures = {"execution_time_ms": 40, "output_file_count": 2, "tokens_before": 1_000, "tokens_after": 100}
    uma = replace(UMA, organization=organization, user="uma")
    audit.record_use(uma, "sample", "run", outcome="succeeded", request="r1", measures=measures)
    audit.record_use(uma, "sample", "run", outcome="TIMEOUT", request="r1")
    found = mcpist("audit", "--savings")
    assert (found["runs"], found["failed"], found["files"], found["tokens_saved"]) == (2, 1, 2, 900)
    assert [row["command"] for row in found["commands"]] == ["sample.run"]
    assert found["errors"] == [{"code": "TIMEOUT", "runs": 1, "rate": 0.5}]
    assert len(found["days"]) == len(found["weeks"]) == 1
    assert mcpist("audit", "--savings", "--user", "ada")["runs"] == 0
    assert mcpist("audit", "--savings", "--since", "2020-01-01", "--until", "2020-01-02")["runs"] == 0
