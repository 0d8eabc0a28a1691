import ast
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.audit import search as audit_search
from mcpist.aws.clients import AwsError
from mcpist.caller import Caller, Role, Subject
from mcpist.errors import AuthorizationError, Conflict, GrantsRemain, LastAdministrator, McpistError, StoreUnavailable
from mcpist.people import directory, edits
from mcpist.people.administration import Administration, ConnectedAccount, operator
from mcpist.people.change import ChangeOptions
from mcpist.people.organization import Organization, User
from mcpist.settings import settings
from tests import members
from tests.core.people.conftest import FakeAccounts

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("organization")


def rows(organization: str = "acme") -> list[dict[str, Any]]:
    """Return the audit rows, the oldest first."""
    now = datetime.now(UTC)
    found = audit_search.find(
        organization, since=now - timedelta(hours=1), until=now + timedelta(hours=1), limit=1_000
    ).rows
    return sorted(found, key=lambda row: (row["time"], row["target"]))


def test_a_change_and_its_row_are_one_transaction(ada: Administration, aws: list[str]) -> None:
    aws.clear()
    applied = ada.change("users.update", "users.uma", edits.change_user("uma", name="Uma Two", roles=()))
    assert aws.count("TransactWriteItems") == 1
    (row,) = rows()
    assert (row["event"], row["user"], row["tool"], row["target"], row["outcome"], row["request"]) == (
        *("change", "ada", "users.update", "users.uma", "succeeded", "r1"),
    )
    assert (row["client_name"], row["client_version"], row["client_id"]) == ("code", "1.2", "c-1")
    assert (row["before"]["name"], row["before"]["roles"]) == ("Uma", ["members"])
    assert (row["after"]["name"], row["after"]["roles"]) == ("Uma Two", [])
    assert applied.change.version == directory.read_version("acme")[0]


def test_the_row_of_a_role_has_its_fields_before_and_after(ada: Administration) -> None:
    ada.change("roles.update", "roles.members", edits.change_role("members", modules=["rag"], allow=["rag.*"]))
    (row,) = rows()
    assert set(row["before"]) == set(row["after"]) == {field.name for field in fields(Role)} - {"name"}
    assert (row["after"]["modules"], row["after"]["allow"]) == (["rag"], ["rag.*"])


def test_nothing_changes_where_no_row_can_be_written(ada: Administration, monkeypatch: pytest.MonkeyPatch) -> None:
    before = directory.read_version("acme")
    monkeypatch.setenv("AUDIT_TABLE", "gone")
    settings.cache_clear()
    with pytest.raises(AwsError):
        ada.change("users.update", "users.uma", edits.change_user("uma", name="Uma Two"))
    assert directory.read_version("acme") == before


@pytest.mark.parametrize(
    ("action", "edit"),
    [
        ("users.create", edits.add_user("eve", sub="e", name="Eve")),
        ("users.update", edits.change_user("uma", system_role="admin")),
        ("roles.update", edits.change_role("members", destructive=True)),
        ("organization.update", edits.change_own_fields(name="Mine")),
    ],
)
def test_who_is_no_administrator_changes_nothing_and_is_in_the_audit(
    uma: Administration, action: str, edit: directory.Edit
) -> None:
    before = directory.read_version("acme")
    for options in (ChangeOptions(), ChangeOptions(dry_run=True)):
        with pytest.raises(AuthorizationError):
            uma.change(action, "somewhere", edit, options)
    assert directory.read_version("acme") == before
    assert {(row["event"], row["user"], row["tool"], row["outcome"]) for row in rows()} == {
        ("change", "uma", action, "AUTHORIZATION_ERROR")
    }


def test_an_administrator_of_one_organization_replaces_no_other(ada: Administration) -> None:
    members.put_organization("globex", name="Globex")
    stolen = Organization("globex", "Mine", users={"ada": User("ada", "Ada", ada.caller.subject, "admin")})
    with pytest.raises(AuthorizationError):
        ada.replace(stolen)
    assert directory.read("globex").name == "Globex"


def test_a_refused_change_is_in_the_audit(ada: Administration) -> None:
    with pytest.raises(LastAdministrator):
        ada.change("users.delete", "users.ada", edits.remove_user("ada"))
    (row,) = rows()
    assert (row["tool"], row["target"], row["outcome"]) == ("users.delete", "users.ada", "CONFLICT")


def test_a_dry_run_leaves_no_row(ada: Administration) -> None:
    applied = ada.change("users.delete", "users.uma", edits.remove_user("uma"), ChangeOptions(dry_run=True))
    assert "uma" not in applied.change.after.users
    assert "uma" in directory.read("acme").users
    assert rows() == []


def test_a_change_of_another_version_is_a_conflict(ada: Administration) -> None:
    version, _ = ada.read()
    ada.change("roles.create", "roles.a", edits.add_role("a"), ChangeOptions(expected_version=version))
    with pytest.raises(Conflict):
        ada.change("roles.create", "roles.b", edits.add_role("b"), ChangeOptions(expected_version=version))
    assert "b" not in directory.read("acme").roles


def test_an_import_has_a_row_for_each_part_that_differs(ada: Administration) -> None:
    _, before = ada.read()
    roles = {**before.roles, **{f"r{number:03}": Role(f"r{number:03}") for number in range(120)}}
    ada.replace(replace(before, name="Acme Inc.", roles=roles))
    assert [row["target"] for row in rows() if not row["target"].startswith("roles.r")] == ["organization"]
    assert len(rows()) == 121
    assert {row["tool"] for row in rows()} == {"organization.replace"}


def test_accounts_of_a_removed_user_are_revoked_first_or_the_user_stays(
    ada: Administration, accounts: FakeAccounts
) -> None:
    accounts.connected = [ConnectedAccount("github", "user#uma"), ConnectedAccount("github", "role#uma")]
    remove = ("users.delete", "users.uma", edits.remove_user("uma"))
    with pytest.raises(GrantsRemain, match="user uma: github"):
        ada.change(*remove)
    assert ada.change(*remove, ChangeOptions(dry_run=True, with_grants=True)).accounts == (accounts.connected[0],)
    assert accounts.revoked == set()
    assert "uma" in directory.read("acme").users
    ada.change(*remove, ChangeOptions(with_grants=True))
    assert accounts.revoked == {"user#uma"}
    assert "uma" not in directory.read("acme").users


@pytest.mark.parametrize(
    "edit", [edits.change_user("uma", sub="u-2"), edits.change_user("uma", issuer="https://other.example")]
)
def test_accounts_of_a_person_are_not_the_next_ones_under_the_same_id(
    ada: Administration, accounts: FakeAccounts, edit: edits.Edit
) -> None:
    accounts.connected = [ConnectedAccount("github", "user#uma"), ConnectedAccount("github", "user#ada")]
    with pytest.raises(GrantsRemain, match="user uma: github"):
        ada.change("users.update", "users.uma", edit)
    ada.change("users.update", "users.uma", edits.change_user("uma", name="Uma II"))
    assert accounts.revoked == set()
    ada.change("users.update", "users.uma", edit, ChangeOptions(with_grants=True))
    assert accounts.revoked == {"user#uma"}


def test_an_organization_is_created_by_the_operator(login: LocalLogin, accounts: FakeAccounts) -> None:
    first = User("zoe", "Zoe", Subject(login.issuer, "zoe"), "admin")
    creation = Administration(operator("globex"), "", accounts)
    creation.create(Organization("globex", "Globex", users={"zoe": first}))
    assert [(row["user"], row["target"], row["before"]) for row in rows("globex")] == [
        ("operator", "organization", None),
        ("operator", "users.zoe", None),
    ]
    with pytest.raises(McpistError, match="already"):
        creation.create(Organization("globex", "Mine"))


def test_a_transient_failure_is_no_refusal(ada: Administration) -> None:
    with pytest.raises(StoreUnavailable), ada.permitted("users.list"):
        raise StoreUnavailable(store="directory")
    assert rows() == []


def test_the_operator_has_no_roles() -> None:
    caller: Caller = operator("acme")
    assert (caller.user, caller.system_role, caller.roles, caller.proof) == ("operator", "admin", (), None)


def test_no_door_and_no_module_changes_an_organization_without_a_row() -> None:
    changing = {"change", "create", "replace_organization", "put_organization", "put_role", "put_user"}
    found: dict[str, set[str]] = {}
    for folder in ("functions", "layers/core", "layers/services"):
        for file in (ROOT / folder).rglob("*.py"):
            for call in (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)):
                if ast.unparse(call.func) in {f"directory.{name}" for name in changing}:
                    given = {keyword.arg for keyword in call.keywords}
                    assert "journal" in given, f"{file}:{call.lineno}"
                    found.setdefault(file.name, set()).add(ast.unparse(call.func))
    assert found == {
        "administration.py": {f"directory.{name}" for name in ("change", "create", "replace_organization")},
        "enterprise.py": {"directory.change"},
        "invitations.py": {"directory.change"},
        "memberships.py": {"directory.change"},
        "provisioning.py": {"directory.change"},
        "services.py": {"directory.change"},
    }
