"""`mcpist doctor` on an incomplete stack in an account: every check is made and every fault reported."""

import json
import time
from email.utils import formatdate
from typing import Any

import boto3
import pytest

from infra.cli.doctor.command import CHECKS, report
from infra.cli.doctor.deployment import ok, warning
from infra.cli.document import ADMINISTRATOR, CALLER, CommandDocument, CommandError
from infra.cli.main import run
from infra.local.names import REGION
from tests.infra.cli.conftest import TABLE
from tests.infra.cli.doctor.test_clock import telling

URL = "http://127.0.0.1:1"
PARAMETERS = {"PublicUrl": URL, "Issuer": URL, "Audience": "", "ConnectClientId": "x", "FormerVaultKey": ""}
STACK = {
    "Parameters": {name: {"Type": "String", "Default": value} for name, value in PARAMETERS.items()},
    "Resources": dict.fromkeys(("Ledger", "Directory"), TABLE),
    "Outputs": {"McpUrl": {"Value": f"{URL}/mcp"}},
}


def examined(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the doctor; return the exit code, and the findings by their subjects."""
    code = run(["doctor", *arguments])
    document = json.loads(capsys.readouterr().out)
    facts = document["metadata"] if document["success"] else document["error"]["details"]
    found: dict[str, Any] = {}
    for line in facts["findings"]:
        found.setdefault(f"{line['area']} {line['about']}", []).append(line)
    return code, found


@pytest.fixture
def punctual(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let AWS's clock agree with this machine's."""
    with telling(lambda: formatdate(time.time(), usegmt=True)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        yield


@pytest.mark.usefixtures("aws", "punctual")
def test_each_check_is_made_whatever_the_others_find(capsys: pytest.CaptureFixture[str]) -> None:
    boto3.client("cloudformation").create_stack(StackName="acme-mcpist", TemplateBody=json.dumps(STACK))
    code, found = examined(capsys, "--stack", "acme-mcpist", "--region", REGION)
    silent = {"keys FormerVaultKey"}
    assert {*found} | silent == {"clock AWS", *(f"{check.area} {check.about}" for check in CHECKS)}
    first = {about: (lines[0]["state"], lines[0]["found"]) for about, lines in found.items()}
    assert code == ADMINISTRATOR
    assert first["configuration stack"] == ("ok", "acme-mcpist is CREATE_COMPLETE")
    assert first["configuration FileDays"] == ("skipped", "the stack has no FileDays")
    assert first["keys VaultKey"] == ("skipped", "the stack has no VaultKey")
    assert first["apps usable"][0] == "skipped"
    assert "--token" in first["apps usable"][1]
    assert first["endpoint challenge"][0] == "problem"
    (nobody,) = found["directory organizations"]
    assert nobody["remedy"].startswith("`mcpist org create ORG --administrator ID --issuer ")
    assert f"--stack acme-mcpist --region {REGION}`" in nobody["remedy"]


@pytest.mark.usefixtures("aws")
def test_the_clock_is_checked_even_if_the_stack_cannot_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telling(lambda: formatdate(time.time() + 4000, usegmt=True)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        code, found = examined(capsys, "--stack", "nowhere", "--region", REGION)
    assert code == ADMINISTRATOR
    assert {about: line["state"] for about, (line,) in found.items()} == {
        "clock AWS": "problem",
        "configuration stack": "problem",
    }
    assert "--stack" in found["configuration stack"][0]["remedy"]


def test_without_a_deployment_the_hint_says_how_to_start_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["doctor"]) == CALLER
    assert "mcpist up" in json.loads(capsys.readouterr().out)["error"]["hint"]


def test_at_a_terminal_a_failure_is_drawn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failure = CommandError("NOT_CONFIGURED", "Problems: 1.", drawing="problem  keys  VaultKey")
    assert CommandDocument(["doctor"]).fail(failure) == ADMINISTRATOR
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "NOT_CONFIGURED"
    document = CommandDocument(["doctor"])
    monkeypatch.setattr(document.out, "isatty", lambda: True)
    assert document.fail(failure) == ADMINISTRATOR
    assert capsys.readouterr().out == "problem  keys  VaultKey\n"


def test_a_remedy_stands_below_the_finding_that_needs_it() -> None:
    lines = [ok("in step", "", "local", "clock"), warning("old", "Renew it.", "apps", "github")]
    _, fine, old, remedy, counts = report(lines, "mcpist doctor").drawing.splitlines()
    assert "in step" in fine
    assert "github" in old
    assert (remedy, counts) == ("    Renew it.", "1 ok, 1 warning")
