"""`mcpist grant`: the token broker's answers by REST, and those of the broker itself for `reencrypt`."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.cli.document import CALLER
from infra.cli.main import run
from infra.local.names import REGION
from mcpist.aws.clients import client
from mcpist.errors import AuthorizationError, to_message
from tests.core.loopback import listening
from tests.core.running.test_broker import Lambda
from tests.infra.cli.conftest import Mcpist
from tests.rest_api.fake_broker import GRANT, FakeBroker

PROOF = {
    "owner": "user#uma",
    "label": "main",
    "provider": "github",
    "services": ["github"],
    "account_id": "1",
    "account_name": "octocat",
    "at_provider": "revoked",
    "deleted": True,
    "forgotten_by": 1_795_000_060,
}
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


def sent(broker: FakeBroker) -> list[dict[str, Any]]:
    """Return what the messages ask for, apart from who asks."""
    about = {"proof", "organization", "roles", "client", "correlation", "traceparent"}
    return [{name: value for name, value in message.items() if name not in about} for message in broker.messages]


def test_a_list_asks_for_all_pages_as_the_administrator(mcpist: Mcpist, broker: FakeBroker) -> None:
    pages = [{"grants": [GRANT], "cursor": "x"}, {"grants": [GRANT], "cursor": ""}]
    broker.answers["list"] = lambda _: pages.pop(0)
    assert len(mcpist("grant", "list", "--service", "github")["grants"]) == 2
    asked = {"operation": "list", "service": "github"}
    assert sent(broker) == [asked | {"cursor": ""}, asked | {"cursor": "x"}]


def test_an_account_is_connected_on_a_page(mcpist: Mcpist, broker: FakeBroker, rest: str) -> None:
    (page,) = mcpist("grant", "connect", "github", "--role", "members")["texts"]
    assert page == f"{rest}/connect/github?organization=acme&role=members"
    assert [message["operation"] for message in broker.messages] == ["status"]


def test_one_of_several_accounts_is_connected_chosen_and_revoked_by_its_label(
    mcpist: Mcpist, broker: FakeBroker, rest: str
) -> None:
    (page,) = mcpist("grant", "connect", "github", "--account", "work")["texts"]
    assert page == f"{rest}/connect/github?organization=acme&account=work"
    broker.answers["default"] = {"service": "github", "owner": "user#uma", "label": "work", "account_name": "octocat"}
    broker.answers["revoke"] = {"revoked": True, "kept": [], "proof": PROOF}
    mcpist("grant", "default", "github", "work")
    mcpist("grant", "default", "github", "work", "--role", "members")
    mcpist("grant", "revoke", "github", "--account", "work")
    chosen = {"operation": "default", "service": "github", "account": "work"}
    revoked = {"operation": "revoke", "service": "github", "account": "work"}
    assert sent(broker)[1:] == [chosen, chosen | {"role": "members"}, revoked]


def test_a_service_that_does_not_exist_has_no_page(mcpist: Mcpist) -> None:
    error = mcpist("grant", "connect", "githbu", fails=True)
    assert (error["code"], error["message"]) == ("MODULE_NOT_FOUND", 'There is no module "githbu".')
    assert "github" in error["hint"]
    assert "files" not in error["hint"], "its tools need no account"


def test_a_key_is_read_from_standard_input_and_shown_nowhere(
    mcpist: Mcpist, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.answers["paste"] = {**OUTCOME, "outcome": "connected"}
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    answer = mcpist("grant", "connect", "github", "--key", "-")
    assert (answer["outcome"], KEY in json.dumps(answer)) == ("connected", False)
    assert sent(broker) == [{"operation": "paste", "service": "github", "key": KEY}]


def test_a_key_on_the_command_line_is_refused(mcpist: Mcpist, broker: FakeBroker) -> None:
    error = mcpist("grant", "connect", "github", "--key", KEY, fails=True)
    assert (error["code"], KEY in json.dumps(error)) == ("VALIDATION_ERROR", False)
    assert broker.messages == []


def test_another_account_is_replaced_only_with_replace(
    mcpist: Mcpist, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.answers |= {"paste": QUESTION, "confirm": {**OUTCOME, "outcome": "connected"}}
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    error = mcpist("grant", "connect", "github", "--key", "-", fails=True)
    assert error["code"] == "CONFLICT"
    assert error["message"] == "github would be connected as hubot instead of octocat."
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY))
    mcpist("grant", "connect", "github", "--key", "-", "--replace")
    assert sent(broker)[-1] == {"operation": "confirm", "question": "0" * 64, "agreed": True}


def test_a_revocation_returns_its_proof(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.answers["revoke"] = {"revoked": True, "kept": [], "proof": PROOF}
    assert mcpist("grant", "revoke", "github")["proof"] == PROOF
    mcpist("grant", "revoke", "github", "--role", "members")
    assert [message.get("role") for message in sent(broker)] == [None, "members"]
    own, shared = (message["proof"]["value"] for message in broker.messages)
    assert own != shared  # beside an `up`, its user and its administrator


def in_turn(*answers: dict[str, Any]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that gives one answer after the other."""
    left = list(answers)
    return lambda _: left.pop(0)


def test_a_kill_continues_until_no_connection_is_left(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.answers["kill"] = in_turn(
        {"killed": [], "dropped": 16, "more": True},
        {"killed": [PROOF] * 16, "dropped": 1, "more": True},
        {"killed": [PROOF], "dropped": 0, "more": False},
    )
    killed = mcpist("grant", "kill", "--everything")
    assert (len(killed["killed"]), killed["dropped"]) == (17, 17)
    assert sent(broker) == [{"operation": "kill", "everything": True}] * 3


def test_a_kill_without_progress_ends_with_an_error(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.answers["kill"] = in_turn(
        {"killed": [PROOF, PROOF | {"deleted": False}], "dropped": 0, "more": True},
        {"killed": [PROOF | {"deleted": False}], "dropped": 0, "more": True},
    )
    error = mcpist("grant", "kill", "--user", "uma", fails=True)
    assert (error["code"], error["details"]["killed"]) == ("CONFLICT", [PROOF])
    assert len(broker.messages) == 2


def test_the_brokers_error_is_the_commands(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.refusal = to_message(AuthorizationError(name="the organization's connections"))
    assert mcpist("grant", "kill", "--everything", fails=True)["code"] == "AUTHORIZATION_ERROR"


def test_a_terminal_gets_a_table(
    mcpist: Mcpist, broker: FakeBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mcpist("org", "list")
    broker.answers["kill"] = in_turn({"killed": [PROOF], "dropped": 0, "more": False})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["grant", "kill", "--user", "uma"]) == 0
    head, row, _ = capsys.readouterr().out.splitlines()[-3:]
    assert head.split() == [
        "owner",
        "label",
        "provider",
        "account",
        "name",
        "at",
        "provider",
        "deleted",
        "forgotten",
        "by",
    ]
    assert row.split() == ["user#uma", "main", "github", "octocat", "revoked", "yes", "2026-11-18", "11:07:40"]


# -- encrypting again ----------------------------------------------------------------------------------


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
    facts = {"organization": "demo", "administrator_token": "adas", "aws": environment}
    (tmp_path / ".mcpist/up.json").write_text(json.dumps(facts | {"stack": {"TOKEN_BROKER": "broker"}}))
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


def test_encrypting_again_continues_to_the_end_and_reports_failures(
    api: Lambda, capsys: pytest.CaptureFixture[str]
) -> None:
    says(api, {"resealed": 50, "failed": [], "cursor": "x"}, {"resealed": 3, "failed": [], "cursor": ""})
    code, document = command(capsys, "reencrypt")
    assert (code, document["metadata"]["resealed"]) == (0, 53)
    says(api, {"resealed": 1, "failed": [GRANT | {"code": "INTEGRITY_ERROR"}], "cursor": ""})
    code, document = command(capsys, "reencrypt", "--cursor", "x")
    assert (code, document["error"]["code"]) == (1, "INTEGRITY_ERROR")
    assert api.payloads[-1]["cursor"] == "x"


@pytest.mark.usefixtures("deployed")
def test_an_app_is_stored_where_the_broker_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = {"client_id": "us", "client_secret": "hush"}
    (tmp_path / "app.json").write_text(json.dumps(app))
    words = ["grant", "app", "github", str(tmp_path / "app.json"), "--stack", "acme-mcpist", "--region", REGION]
    assert run(words) == 0
    assert "hush" not in capsys.readouterr().out
    stored = client("ssm").get_parameter(Name="/mcpist/acme-mcpist/oauth/github", WithDecryption=True)["Parameter"]
    assert (stored["Type"], json.loads(stored["Value"])) == ("SecureString", app)


@pytest.mark.parametrize("text", ["", "[]", '{"client": "us"}', '{"client_id": "us", "authorize_url": "ftp://x"}'])
def test_what_is_no_app_is_not_stored(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "app.json").write_text(text)
    assert run(["grant", "app", "github", str(tmp_path / "app.json"), "--stack", "acme-mcpist"]) == CALLER
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "VALIDATION_ERROR"
