"""Accounts that move to another stack: exported and imported sealed, then sealed anew under that stack's key."""

import base64
import json
import os
import re
import stat
from pathlib import Path

import boto3
import pytest
from pydantic import SecretStr

from infra.cli.stacks import chosen_stack
from mcpist.aws.clients import AwsError
from mcpist.memory import forget_all
from tests.infra.cli.conftest import TABLE, Mcpist
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, StoredGrant, Tokens

TOKENS = Tokens(SecretStr("access-canary"), SecretStr("refresh-canary"))
ACCOUNT = GrantedAccount(services=("github",), account_id="7", account_name="uma-at-github", client_id="c")


@pytest.fixture
def keys(mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:  # noqa: ARG001 - its environment
    """The VaultKeys of the former and of the new stack; this one has the former."""
    former, new = (boto3.client("kms").create_key()["KeyMetadata"]["Arn"] for _ in range(2))
    monkeypatch.setenv("VAULT_KEY", former)
    forget_all()
    return former, new


def save(organization: str = "acme", owner: str = "user#uma") -> StoredGrant:
    return grants.save(organization, "github", owner, account=ACCOUNT, tokens=TOKENS, replaces=0)


def move_to_new_stack(monkeypatch: pytest.MonkeyPatch, keys: tuple[str, str]) -> None:
    """Use the table and the key of another stack, which knows the former key."""
    properties = TABLE["Properties"]
    boto3.client("dynamodb").create_table(TableName="new-Grants", **properties)
    last = json.loads(chosen_stack().facts_file.read_text())
    last["stack"]["GRANTS_TABLE"] = "new-Grants"
    chosen_stack().facts_file.write_text(json.dumps(last))
    for name, value in {"GRANTS_TABLE": "new-Grants", "VAULT_KEY": keys[1], "FORMER_VAULT_KEY": keys[0]}.items():
        monkeypatch.setenv(name, value)
    forget_all()


def test_accounts_move_sealed_and_open_without_the_former_key_once_they_are_sealed_anew(
    mcpist: Mcpist, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save()
    save(owner="role#members")
    save("globex")
    assert mcpist("grant", "export", "accounts.jsonl") == {
        "organization": "acme",
        "grants": 2,
        "texts": ["accounts.jsonl"],
    }
    written = Path("accounts.jsonl").read_text()
    stored = b"".join(base64.b64decode(content) for content in re.findall(r'"B": "([^"]+)"', written))
    assert stored
    assert b"canary" not in written.encode() + stored
    assert "globex" not in written
    assert stat.S_IMODE(os.stat("accounts.jsonl").st_mode) == 0o600
    move_to_new_stack(monkeypatch, keys)
    assert mcpist("grant", "import", "accounts.jsonl")["stored"] == 2
    moved = list(grants.find("acme"))
    assert {grant.owner for grant in moved} == {"user#uma", "role#members"}
    for grant in moved:
        grants.reencrypt(grant)
    monkeypatch.delenv("FORMER_VAULT_KEY")
    boto3.client("kms").schedule_key_deletion(KeyId=keys[0].rpartition("/")[2], PendingWindowInDays=7)
    forget_all()
    found = grants.read("acme", "github", "user#uma")
    assert found
    assert found.tokens() == TOKENS
    assert found.account == ACCOUNT


def test_what_is_sealed_under_the_former_key_does_not_open_without_it(
    mcpist: Mcpist, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save()
    mcpist("grant", "export", "accounts.jsonl")
    move_to_new_stack(monkeypatch, keys)
    monkeypatch.delenv("FORMER_VAULT_KEY")
    forget_all()
    mcpist("grant", "import", "accounts.jsonl")
    found = grants.read("acme", "github", "user#uma")
    assert found
    with pytest.raises(AwsError):
        found.tokens()


def test_an_account_that_is_connected_here_is_kept_and_a_second_import_changes_nothing(
    mcpist: Mcpist, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save()
    mcpist("grant", "export", "accounts.jsonl")
    move_to_new_stack(monkeypatch, keys)
    for stored, kept in ((1, []), (0, [{"owner": "user#uma", "provider": "github"}])):
        assert mcpist("grant", "import", "accounts.jsonl") == {"organization": "acme", "stored": stored, "kept": kept}


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    "line",
    [
        "{",
        "7",
        '{"pk": {"S": "globex#github"}, "sk": {"S": "user#uma"}}',
        '{"pk": {"S": "acme#github"}, "sk": {"S": "lease#user#uma"}}',
        '{"pk": {"S": "acme#github"}, "sk": {"S": "user#uma"}, "access_token": {"B": "no base64"}}',
    ],
)
def test_a_line_that_is_no_account_of_the_organization_stores_nothing(mcpist: Mcpist, line: str) -> None:
    good = '{"pk": {"S": "acme#github"}, "sk": {"S": "user#uma"}}'
    Path("accounts.jsonl").write_text(f"{good}\n{line}\n")
    error = mcpist("grant", "import", "accounts.jsonl", fails=True)
    assert (error["code"], error["details"]["line"]) == ("VALIDATION_ERROR", 2)
    assert list(grants.find("acme")) == []


@pytest.mark.usefixtures("keys")
def test_an_export_overwrites_no_file(mcpist: Mcpist) -> None:
    Path("accounts.jsonl").write_text("mine")
    assert mcpist("grant", "export", "accounts.jsonl", fails=True)["code"] == "VALIDATION_ERROR"
    assert Path("accounts.jsonl").read_text() == "mine"
