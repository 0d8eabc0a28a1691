"""`mcpist audit`: rows of the last `up`, or of a stack in an account."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.cli.audit import parse_time
from infra.cli.document import CommandError
from infra.cli.main import run
from infra.local.deployment import ROOT
from infra.local.intrinsics import read_yaml
from infra.local.names import REGION
from mcpist.settings import settings
from mcpist.telemetry import audit


@pytest.fixture
def rows(aws: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - the account
    """Three rows of the organization demo, in the stack of the last `up`."""
    table = settings().audit_table
    for user, service in (("uma", "github"), ("ada", "github"), ("uma", "jira")):
        note(user, service)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcpist").mkdir()
    facts = {"organization": "demo", "aws": {}, "stack": {"AUDIT_TABLE": table}}
    (tmp_path / ".mcpist/up.json").write_text(json.dumps(facts))


def note(user: str, service: str) -> None:
    audit.append_row(
        organization="demo",
        user=user,
        roles=["members"],
        event="revoke",
        service=service,
        account="octocat",
        outcome="revoked",
        request="r1",
    )


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["audit", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], [("uma", "jira"), ("ada", "github"), ("uma", "github")]),
        (["--user", "uma"], [("uma", "jira"), ("uma", "github")]),
        (["--service", "github", "--since", "1h"], [("ada", "github"), ("uma", "github")]),
        (["--until", "1h"], []),
        (["--since", "2020-01-01", "--until", "2020-01-02"], []),
        (["--organization", "acme"], []),
    ],
)
def test_rows_are_found_by_user_service_and_time(
    capsys: pytest.CaptureFixture[str], arguments: list[str], found: list[tuple[str, str]]
) -> None:
    code, document = command(capsys, *arguments)
    assert code == 0, document
    assert [(row["user"], row["service"]) for row in document["metadata"]["rows"]] == found


@pytest.mark.usefixtures("rows")
def test_pages_follow_by_their_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    _, first = command(capsys, "--limit", "2")
    _, second = command(capsys, "--limit", "2", "--cursor", first["metadata"]["cursor"])
    assert [len(one["metadata"]["rows"]) for one in (first, second)] == [2, 1]
    assert second["metadata"]["cursor"] == ""


def test_a_stack_in_an_account_has_its_own_table(
    aws: list[str],  # noqa: ARG001 - the account
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = read_yaml(ROOT / "template.yaml")["Resources"]["Audit"]
    table["Properties"] |= {"TableName": "deployed-audit"}
    del table["Properties"]["SSESpecification"]
    ledger = {"Type": "AWS::SNS::Topic"}
    boto3.client("cloudformation").create_stack(
        StackName="acme-mcpist", TemplateBody=json.dumps({"Resources": {"Audit": table, "Ledger": ledger}})
    )
    monkeypatch.setenv("AUDIT_TABLE", "deployed-audit")
    settings.cache_clear()
    note("uma", "github")
    monkeypatch.delenv("AUDIT_TABLE")
    where = ["--stack", "acme-mcpist", "--region", REGION]
    code, document = command(capsys, *where, "--organization", "demo")
    assert (code, len(document["metadata"]["rows"])) == (0, 1)
    code, document = command(capsys, *where)
    assert (code, document["error"]["code"]) == (1, "VALIDATION_ERROR")
    assert "--organization" in document["error"]["hint"]


def test_a_time_is_a_day_a_moment_or_a_duration_before_now() -> None:
    assert parse_time("2026-11-21") == datetime(2026, 11, 21, tzinfo=UTC)
    assert parse_time("2026-11-21T14:00:00+09:00") == datetime(2026, 11, 21, 5, tzinfo=UTC)
    assert abs(datetime.now(UTC) - timedelta(minutes=90) - parse_time("90m")) < timedelta(seconds=5)


@pytest.mark.parametrize("text", ["yesterday", "7w", "999999d", ""])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        parse_time(text)
