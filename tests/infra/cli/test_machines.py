"""`mcpist machine list`, against a stack in an account."""

import json
from typing import Any

import pytest

from infra.cli.document import TRY_AGAIN
from infra.cli.main import run
from infra.local.names import ACCOUNT, REGION
from mcpist.aws.clients import client
from mcpist.batch.machine import machine_usage
from mcpist.batch.machine.definition import Machine


def make(name: str) -> None:
    client("stepfunctions").create_state_machine(
        name=name, definition="{}", roleArn=f"arn:aws:iam::{ACCOUNT}:role/machines", type="EXPRESS"
    )


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(list(arguments))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


def test_the_machines_of_a_stack_are_listed_with_their_use(
    deployed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    never, used = (Machine({"Comment": word}, 1).name(deployed, "role") for word in ("never", "used"))
    for name in (never, used, f"{deployed}-relay", "somebody-elses"):
        make(name)
    assert machine_usage.record_use(used, 12)
    monkeypatch.delenv("LEDGER_TABLE")
    code, document = command(capsys, "machine", "list", "--stack", "acme-mcpist", "--region", REGION)
    assert code == 0, document
    listed = {machine["name"]: machine for machine in document["metadata"]["machines"]}
    assert set(listed) == {never, used}
    assert (listed[used]["states"], listed[never]["states"], listed[never]["last_used"]) == (12, None, None)
    assert listed[used]["last_used"].startswith("20")
    assert document["metadata"]["in_account"] == 4


@pytest.mark.usefixtures("aws")
def test_a_missing_stack_is_a_typed_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = command(capsys, "machine", "list", "--stack", "nowhere", "--region", REGION)
    assert (code, document["error"]["code"]) == (TRY_AGAIN, "UPSTREAM_UNAVAILABLE")
    assert "--stack" in document["error"]["hint"]
