"""`mcpist org`."""

import json
import stat
from pathlib import Path

import boto3
import pytest

from infra.cli.document import TRY_AGAIN
from infra.cli.main import run
from infra.local.login import LocalLogin
from infra.local.names import REGION
from mcpist.aws.table import Table
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.settings import settings
from tests import members
from tests.infra.cli.conftest import TABLE, Mcpist

FIRST = ("--administrator", "zoe", "--sub", "z-1")


def test_an_organization_is_created_with_its_first_administrator(mcpist: Mcpist, login: LocalLogin) -> None:
    made = mcpist("org", "create", "globex", "--name", "Globex", *FIRST)
    assert {change["path"] for change in made["changes"]} == {"name", "users.zoe"}
    zoe = login.mint("z-1")
    shown = mcpist("org", "show", "--token", zoe)
    assert (shown["organization"], shown["users"]["zoe"]["system_role"]) == ("globex", "admin")
    assert mcpist("org", "list")["organizations"] == [
        {"organization": "acme", "user": "ada", "system_role": "admin", "roles": ["members"], "default": True}
    ]
    (row, _) = mcpist("audit", "--token", zoe)["rows"]
    assert (row["user"], row["tool"]) == ("operator", "organization.create")
    assert "already" in mcpist("org", "create", "globex", *FIRST, fails=True)["message"]
    assert "/" in mcpist("org", "create", "a/b", *FIRST, fails=True)["message"]


def test_an_organization_in_which_nobody_can_log_in_gets_an_administrator(mcpist: Mcpist, login: LocalLogin) -> None:
    mcpist("org", "create", "acme", "--restore", "--administrator", "uma", "--sub", "u-2")
    restored = directory.read("acme").user("uma")
    assert (restored.system_role, restored.subject, restored.roles, restored.acceptance) == (
        *("admin", Subject(login.issuer, "u-2"), ("members",), "accepted"),
    )
    row = mcpist("audit")["rows"][0]
    assert (row["tool"], row["target"], row["before"]["system_role"]) == ("organization.restore", "users.uma", "user")


def test_nobody_gets_the_accounts_of_a_user_by_becoming_the_administrator(mcpist: Mcpist) -> None:
    for owner in ("role#uma", "user#umas", "default#user#uma"):
        Table(settings().grants_table, "grants").put({"pk": "acme#github", "sk": owner})
    restored = ("org", "create", "acme", "--restore", "--administrator", "uma", "--sub", "u-2")
    assert mcpist(*restored, "--dry-run")["dry_run"]
    for place in (("acme#github", "user#uma#work"), ("globex#jira", "user#uma")):
        Table(settings().grants_table, "grants").put(dict(zip(("pk", "sk"), place, strict=True)))
    before = directory.read("acme")
    for more in ((), ("--dry-run",)):
        error = mcpist(*restored, *more, fails=True)
        assert error["message"] == "Accounts are connected for user uma: github."
        assert "another id" in error["hint"]
    assert directory.read("acme") == before


def test_the_only_organization_needs_no_name(mcpist: Mcpist, login: LocalLogin) -> None:
    assert mcpist("org", "show")["organization"] == "acme"
    mcpist("org", "create", "globex", "--administrator", "ada", "--sub", "ada")
    directory.access_cache.clear()
    error = mcpist("org", "show", fails=True)
    assert error["message"] == "You are a member of several organizations: acme, globex."
    assert mcpist("role", "list", "--org", "globex")["roles"] == []
    assert mcpist("org", "show", "globex")["users"]["ada"]["subject"]["issuer"] == login.issuer
    assert mcpist("role", "list", "--org", "initech", fails=True)["code"] == "AUTHORIZATION_ERROR"


def test_tools_are_switched_off_and_on_for_everybody(mcpist: Mcpist) -> None:
    off = mcpist("org", "set", "--disable", "rag.get_*,notion.*")
    (effect,) = off["effects"]
    assert (effect["users"], effect["roles"], effect["appear"]) == (["ada", "uma"], ["members"], [])
    assert {"rag.get_doc", "notion.search"} <= set(effect["vanish"])
    assert mcpist("org", "set", "--disable", "notion.*")["changes"] == []
    on = mcpist("org", "set", "--enable", "rag.get_*", "--name", "Acme Inc.")
    assert [effect["appear"] for effect in on["effects"]] == [["rag.get_doc"]]
    assert mcpist("org", "show")["disabled"] == ["notion.*"]
    kept = mcpist("org", "set", "--undoable")["changes"]
    assert kept == [{"path": "undoable", "before": False, "after": True}]
    assert mcpist("org", "set", "--no-undoable")["version"]
    error = mcpist("org", "set", "--enable", "notion.search", fails=True)
    assert error["message"] == 'enable: "notion.search" is not a mask that is switched off (notion.*)'


def test_a_dry_run_shows_the_same_and_changes_nothing(mcpist: Mcpist) -> None:
    dry = mcpist("org", "set", "--disable", "rag.*", "--dry-run")
    assert dry["dry_run"]
    assert mcpist("org", "show")["disabled"] == []
    assert mcpist("org", "set", "--disable", "rag.*") == {
        **dry,
        "dry_run": False,
        "refused_calls": None,
        "asked_calls": None,
        "version": dry["version"] + 1,
    }


def test_a_mask_that_matches_nothing_is_stored_with_a_warning(mcpist: Mcpist) -> None:
    warned = mcpist("org", "set", "--disable", "guthub.*")
    assert warned["warnings"] == ["disabled: the mask guthub.* matches no tool of this release"]
    assert mcpist("org", "set", "--name", "Other")["warnings"] == []


def test_an_export_is_the_organization_and_its_import_changes_nothing(mcpist: Mcpist, tmp_path: Path) -> None:
    members.put_role("acme", Role("writers", ("rag", "jira"), ("rag.put_doc", "jira.*"), ("*.delete_*",), True))
    mcpist("user", "set", "uma", "--roles", "writers,members", "--name", "Ümä 'no' 山田", "--locale", "ja")
    assert mcpist("org", "export", "--file", "acme.yaml") == {
        "organization": "acme",
        "roles": 2,
        "users": 2,
        "texts": ["acme.yaml"],
    }
    before = directory.read("acme")
    again = mcpist("org", "import", "acme.yaml")
    assert (again["changes"], again["effects"], again["warnings"]) == ([], [], [])
    assert directory.read("acme") == before
    mcpist("org", "export", "--file", "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "acme.yaml").read_text()


def test_an_export_without_a_file_is_printed(mcpist: Mcpist, capsys: pytest.CaptureFixture[str]) -> None:
    assert mcpist("org", "show")["organization"] == "acme"
    assert run(["org", "export"]) == 0
    (text,) = json.loads(capsys.readouterr().out.splitlines()[-1])["metadata"]["texts"]
    assert text.startswith("organization: acme\nname: Acme\n")
    assert mcpist("org", "export", "--file", "no/such/folder", fails=True)["code"] == "FILE_NOT_FOUND"


def test_a_deletion_asks_for_the_id_and_an_archive_replaces_no_file(mcpist: Mcpist, tmp_path: Path) -> None:
    for more in ((), ("--yes", "globex")):
        assert mcpist("org", "delete", "acme", *more, fails=True)["message"].startswith("Nothing was deleted")
    assert mcpist("org", "delete", "globex", "--yes", "globex", fails=True)["message"].endswith("organization globex.")
    assert mcpist("org", "archive", "acme", "acme.zip")["archived"]["directory"] > 1
    assert stat.S_IMODE((tmp_path / "acme.zip").stat().st_mode) == 0o600
    assert mcpist("org", "archive", "acme", "acme.zip", fails=True)["code"] == "VALIDATION_ERROR"


def test_an_import_makes_the_organization_what_the_file_says(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    text = file.read_text().replace("name: Acme", "name: Acme Inc.").replace("members", "people")
    file.write_text(text.replace("deny: []", "deny: [rag.*]"))
    dry = mcpist("org", "import", "acme.yaml", "--dry-run")
    assert {change["path"] for change in dry["changes"]} == {
        "name",
        "roles.members",
        "roles.people",
        "users.ada.roles",
        "users.uma.roles",
    }
    users = next(effect for effect in dry["effects"] if effect["users"])
    assert users["users"] == ["ada", "uma"]
    assert users["appear"] == []
    assert "rag.get_doc" in users["vanish"]
    assert directory.read("acme").name == "Acme"
    assert mcpist("org", "import", "acme.yaml") == {
        **dry,
        "dry_run": False,
        "refused_calls": None,
        "asked_calls": None,
        "version": dry["version"] + 1,
    }
    assert mcpist("org", "import", "acme.yaml")["changes"] == []
    assert list(directory.read("acme").roles) == ["people"]


def test_an_import_without_an_administrator_is_refused_and_changes_nothing(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    before = directory.read("acme")
    file.write_text(file.read_text().replace("system_role: admin", "system_role: user").replace("Acme", "Other"))
    for more in ((), ("--dry-run",)):
        error = mcpist("org", "import", "acme.yaml", *more, fails=True)
        assert "acme would have no administrator" in error["message"]
        assert error["details"]["line"] == 17
    assert directory.read("acme") == before


def test_a_file_that_is_wrong_is_refused_with_its_line(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    file.write_text(file.read_text().replace("roles: [members]", "roles: [bosses]"))
    error = mcpist("org", "import", "acme.yaml", fails=True)
    assert error["message"] == 'Line 22: users.ada.roles: there is no role "bosses" (roles: members)'
    assert mcpist("org", "import", "none.yaml", fails=True)["code"] == "FILE_NOT_FOUND"


def test_an_organization_is_created_in_a_stack_in_an_account(
    mcpist: Mcpist, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"Resources": dict.fromkeys(("Ledger", "Directory", "Grants", "Audit"), TABLE)})
    boto3.client("cloudformation").create_stack(StackName="other", TemplateBody=body)
    there = ("--stack", "other", "--region", REGION)
    assert "--issuer" in mcpist("org", "create", "globex", *FIRST, *there, fails=True)["hint"]
    made = mcpist("org", "create", "globex", *FIRST, "--issuer", "https://login.example.com", *there)
    assert made["organization"] == "globex"
    assert [one["organization"] for one in mcpist("org", "list")["organizations"]] == ["acme"]
    assert (
        run(["org", "create", "x", *FIRST, "--issuer", "https://i", "--stack", "nowhere", "--region", REGION])
        == TRY_AGAIN
    )
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["error"]["code"] == "UPSTREAM_UNAVAILABLE"


def test_a_refusal_by_aws_is_a_typed_error(mcpist: Mcpist) -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().directory_table)
    error = mcpist("org", "create", "globex", *FIRST, fails=True)
    assert error["code"] == "UPSTREAM_UNAVAILABLE"
    assert "ResourceNotFoundException" in error["message"]


def test_people_at_a_terminal_read_yaml(
    mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mcpist("org", "show")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["org", "show"]) == 0
    assert "  members:\n    modules: [" in capsys.readouterr().out
