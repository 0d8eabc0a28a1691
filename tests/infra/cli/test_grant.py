"""`mcpist grant`: requests to a fake broker on loopback, and the output for its answers."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.cli.main import run
from mcpist.errors import AuthorizationError, to_message
from tests.core.loopback import listening
from tests.core.running.test_broker import Lambda

PROOF = {
    "owner": "user#uma",
    "provider": "github",
    "services": ["github"],
    "account_id": "1",
    "account_name": "octocat",
    "at_provider": "revoked",
    "deleted": True,
    "forgotten_by": 1_795_000_060,
}
ROW = {"owner": "user#uma", "services": ["github"], "account_name": "octocat", "works": True, "updated_at": 1}
OUTCOME = {"service": "github", "provider": "github", "role": ""}
QUESTION = {
    **OUTCOME,
    "outcome": "asks",
    "question": "0" * 64,
    "reasons": ["replaces"],
    "old": {"id": "1", "name": "octocat"},
    "new": {"id": "2", "name": "hubot"},
}
KEY = "github_pat_canary"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    """The broker of the last `up`, in a folder of its own."""
    api = Lambda()
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcpist").mkdir()
    environment = {
        "AWS_ENDPOINT_URL_LAMBDA": api.url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    facts = {
        "organization": "demo",
        "access_token": "umas",
        "administrator_token": "adas",
        "aws": environment,
        "stack": {"TOKEN_BROKER": "broker", "PUBLIC_URL": "http://127.0.0.1:3000"},
    }
    (tmp_path / ".mcpist/up.json").write_text(json.dumps(facts))
    with listening(api.server):
        yield api


def says(api: Lambda, *results: dict[str, Any]) -> None:
    """Set the broker's answers, in their order."""
    api.answers = [(200, {}, json.dumps({"result": result}).encode()) for result in results]


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["grant", *arguments])
    (line,) = capsys.readouterr().out.splitlines()
    document: dict[str, Any] = json.loads(line)
    return code, document


def test_a_list_asks_for_all_pages_as_the_administrator(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    says(api, {"grants": [ROW], "cursor": "x"}, {"grants": [ROW], "cursor": ""})
    code, document = command(capsys, "list", "--service", "github")
    assert (code, len(document["metadata"]["grants"])) == (0, 2)
    proof = {"kind": "jwt", "value": "adas"}
    asked = {"operation": "list", "proof": proof, "organization": "demo", "service": "github"}
    assert api.payloads == [asked | {"cursor": ""}, asked | {"cursor": "x"}]


def test_an_account_is_connected_on_a_page(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = command(capsys, "connect", "github", "--role", "members")
    assert code == 0
    assert document["metadata"]["texts"] == ["http://127.0.0.1:3000/connect/github?organization=demo&role=members"]
    assert api.payloads == []


def test_a_key_is_read_from_standard_input_and_shown_nowhere(
    api: Lambda, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    says(api, {**OUTCOME, "outcome": "connected"})
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    code, document = command(capsys, "connect", "github", "--key", "-")
    assert (code, document["metadata"]["outcome"]) == (0, "connected")
    assert (api.payloads[0]["key"], api.payloads[0]["proof"]["value"]) == (KEY, "umas")
    assert KEY not in json.dumps(document)


def test_a_key_on_the_command_line_is_refused(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = command(capsys, "connect", "github", "--key", KEY)
    assert (code, document["error"]["code"]) == (1, "VALIDATION_ERROR")
    assert KEY not in json.dumps(document)
    assert api.payloads == []


def test_another_account_is_replaced_only_with_replace(
    api: Lambda, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    says(api, QUESTION)
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    code, document = command(capsys, "connect", "github", "--key", "-")
    assert (code, document["error"]["code"]) == (1, "CONFLICT")
    assert document["error"]["message"] == "github would be connected as hubot instead of octocat."
    says(api, QUESTION, {**OUTCOME, "outcome": "connected"})
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    code, _ = command(capsys, "connect", "github", "--key", "-", "--replace")
    assert code == 0
    assert (api.payloads[-1]["question"], api.payloads[-1]["agreed"]) == ("0" * 64, True)


def test_a_revocation_returns_its_proof(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    says(api, {"revoked": True, "kept": [], "proof": PROOF})
    code, document = command(capsys, "revoke", "github")
    assert (code, document["metadata"]["proof"]) == (0, PROOF)
    assert api.payloads[0]["proof"]["value"] == "umas"
    command(capsys, "revoke", "github", "--role", "members")
    assert (api.payloads[1]["proof"]["value"], api.payloads[1]["role"]) == ("adas", "members")


def test_a_kill_continues_until_no_connection_is_left(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    says(
        api,
        {"killed": [], "dropped": 16, "more": True},
        {"killed": [PROOF] * 16, "dropped": 1, "more": True},
        {"killed": [PROOF], "dropped": 0, "more": False},
    )
    code, document = command(capsys, "kill", "--everything")
    assert (code, len(document["metadata"]["killed"]), document["metadata"]["dropped"]) == (0, 17, 17)
    assert [payload["everything"] for payload in api.payloads] == [True] * 3


def test_a_kill_without_progress_ends_with_an_error(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    says(
        api,
        {"killed": [PROOF, PROOF | {"deleted": False}], "dropped": 0, "more": True},
        {"killed": [PROOF | {"deleted": False}], "dropped": 0, "more": True},
    )
    code, document = command(capsys, "kill", "--user", "uma")
    assert (code, document["error"]["code"]) == (1, "CONFLICT")
    assert document["error"]["details"]["killed"] == [PROOF]
    assert len(api.payloads) == 2


def test_encrypting_again_continues_to_the_end_and_reports_failures(
    api: Lambda, capsys: pytest.CaptureFixture[str]
) -> None:
    says(api, {"resealed": 50, "failed": [], "cursor": "x"}, {"resealed": 3, "failed": [], "cursor": ""})
    code, document = command(capsys, "reencrypt")
    assert (code, document["metadata"]["resealed"]) == (0, 53)
    says(api, {"resealed": 1, "failed": [ROW | {"code": "INTEGRITY_ERROR"}], "cursor": ""})
    code, document = command(capsys, "reencrypt", "--cursor", "x")
    assert (code, document["error"]["code"]) == (1, "INTEGRITY_ERROR")
    assert api.payloads[-1]["cursor"] == "x"


def test_the_brokers_error_is_the_commands(api: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    api.answer({"error": to_message(AuthorizationError(name="the organization's connections"))})
    code, document = command(capsys, "kill", "--everything")
    assert (code, document["error"]["code"]) == (1, "AUTHORIZATION_ERROR")


def test_a_terminal_gets_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, api: Lambda
) -> None:
    says(api, {"killed": [PROOF], "dropped": 0, "more": False})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["grant", "kill", "--user", "uma"]) == 0
    head, row, _ = capsys.readouterr().out.splitlines()
    assert head.split() == ["owner", "provider", "account", "name", "at", "provider", "deleted", "forgotten", "by"]
    assert row.split() == ["user#uma", "github", "octocat", "revoked", "yes", "2026-11-18T11:07:40+00:00"]
