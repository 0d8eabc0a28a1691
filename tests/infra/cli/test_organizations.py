"""`mcpist org`."""

import json
from pathlib import Path

import boto3
import pytest

from infra.cli.main import run
from infra.local.names import REGION
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.settings import settings
from tests.infra.cli.conftest import TABLE, Mcpist


def test_an_organization_is_created_listed_and_shown(mcpist: Mcpist) -> None:
    made = mcpist("org", "create", "globex", "--name", "Globex", "--disabled", "notion.*, rag.put_doc")
    assert {change["path"] for change in made["changes"]} == {"name", "disabled"}
    assert mcpist("org", "list")["organizations"] == [
        {"organization": "acme", "name": "Acme", "roles": 1, "users": 2, "administrators": ["ada"]},
        {"organization": "globex", "name": "Globex", "roles": 0, "users": 0, "administrators": []},
    ]
    assert mcpist("org", "show", "globex")["disabled"] == ["notion.*", "rag.put_doc"]
    assert "already" in mcpist("org", "create", "globex", "--name", "Other", fails=True)["message"]
    assert "/" in mcpist("org", "create", "a/b", "--name", "Other", fails=True)["message"]


def test_the_only_organization_needs_no_name(mcpist: Mcpist) -> None:
    assert mcpist("org", "show")["organization"] == "acme"
    mcpist("org", "create", "globex", "--name", "Globex")
    error = mcpist("org", "show", fails=True)
    assert error["message"] == "Which organization? There are acme, globex."
    assert "--org" in error["hint"]
    assert mcpist("role", "list", "--org", "globex")["roles"] == []
    assert "acme, globex" in mcpist("role", "list", "--org", "initech", fails=True)["message"]


def test_tools_are_switched_off_and_on_for_everybody(mcpist: Mcpist) -> None:
    off = mcpist("org", "set", "--disable", "rag.get_*,notion.*")
    (effect,) = off["effects"]
    assert (effect["users"], effect["roles"], effect["appear"]) == (["ada", "uma"], ["members"], [])
    assert {"rag.get_doc", "notion.search"} <= set(effect["vanish"])
    assert mcpist("org", "set", "--disable", "notion.*")["changes"] == []
    on = mcpist("org", "set", "--enable", "rag.get_*", "--name", "Acme Inc.")
    assert [effect["appear"] for effect in on["effects"]] == [["rag.get_doc"]]
    assert mcpist("org", "show")["disabled"] == ["notion.*"]
    error = mcpist("org", "set", "--enable", "notion.search", fails=True)
    assert error["message"] == 'enable: "notion.search" is not a mask that is switched off (notion.*)'


def test_a_dry_run_shows_the_same_and_changes_nothing(mcpist: Mcpist) -> None:
    dry = mcpist("org", "set", "--disable", "rag.*", "--dry-run")
    assert dry["dry_run"]
    assert mcpist("org", "show")["disabled"] == []
    assert mcpist("org", "set", "--disable", "rag.*") == {**dry, "dry_run": False, "version": dry["version"] + 1}


def test_a_mask_that_matches_nothing_is_stored_with_a_warning(mcpist: Mcpist) -> None:
    warned = mcpist("org", "set", "--disable", "guthub.*")
    assert warned["warnings"] == ["disabled: the mask guthub.* matches no tool of this release"]
    assert mcpist("org", "set", "--name", "Other")["warnings"] == []


def test_an_export_is_the_organization_and_its_import_changes_nothing(mcpist: Mcpist, tmp_path: Path) -> None:
    directory.put_role("acme", Role("writers", ("rag", "jira"), ("rag.put_doc", "jira.*"), ("*.delete_*",), True))
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
    (text,) = json.loads(capsys.readouterr().out)["metadata"]["texts"]
    assert text.startswith("organization: acme\nname: Acme\n")
    assert mcpist("org", "export", "--file", "no/such/folder", fails=True)["code"] == "FILE_NOT_FOUND"


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
    assert mcpist("org", "import", "acme.yaml") == {**dry, "dry_run": False, "version": dry["version"] + 1}
    assert mcpist("org", "import", "acme.yaml")["changes"] == []
    assert list(directory.read("acme").roles) == ["people"]


def test_an_import_creates_an_organization_elsewhere(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    file.write_text(file.read_text().replace("organization: acme", "organization: globex"))
    assert mcpist("org", "import", "acme.yaml")["organization"] == "globex"
    assert directory.read("globex").users == directory.read("acme").users


def test_an_import_without_an_administrator_is_refused_and_changes_nothing(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    before = directory.read("acme")
    file.write_text(file.read_text().replace("system_role: admin", "system_role: user").replace("Acme", "Other"))
    for more in ((), ("--dry-run",)):
        error = mcpist("org", "import", "acme.yaml", *more, fails=True)
        assert "acme would have no administrator" in error["message"]
        assert error["details"]["line"] == 10
    assert directory.read("acme") == before


def test_a_file_that_is_wrong_is_refused_with_its_line(mcpist: Mcpist, tmp_path: Path) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    file = tmp_path / "acme.yaml"
    file.write_text(file.read_text().replace("roles: [members]", "roles: [bosses]"))
    error = mcpist("org", "import", "acme.yaml", fails=True)
    assert error["message"] == 'Line 15: users.ada.roles: there is no role "bosses" (roles: members)'
    assert mcpist("org", "import", "none.yaml", fails=True)["code"] == "FILE_NOT_FOUND"


def test_a_stack_in_an_account_is_administered_alike(
    mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"Resources": dict.fromkeys(("Ledger", "Directory", "Grants"), TABLE)})
    boto3.client("cloudformation").create_stack(StackName="other", TemplateBody=body)
    monkeypatch.delenv("DIRECTORY_TABLE")
    there = ("--stack", "other", "--region", REGION)
    mcpist("org", "create", "globex", "--name", "Globex", *there)
    assert [one["organization"] for one in mcpist("org", "list", *there)["organizations"]] == ["globex"]
    assert [one["organization"] for one in mcpist("org", "list")["organizations"]] == ["acme"]
    assert run(["org", "list", "--stack", "nowhere", "--region", REGION]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "UPSTREAM_UNAVAILABLE"


def test_a_refusal_by_aws_is_a_typed_error(mcpist: Mcpist) -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().directory_table)
    error = mcpist("org", "list", fails=True)
    assert error["code"] == "UPSTREAM_UNAVAILABLE"
    assert "ResourceNotFoundException" in error["message"]


def test_people_at_a_terminal_read_yaml(
    mcpist: Mcpist, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mcpist("org", "show")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["org", "show"]) == 0
    assert "  members:\n    modules: [" in capsys.readouterr().out
