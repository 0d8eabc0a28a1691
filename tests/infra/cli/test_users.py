"""`mcpist user`."""

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.errors import MembershipRequired
from mcpist.people import directory, memberships
from mcpist.people.organization import User
from tests.infra.cli.conftest import Mcpist
from tests.rest_api.fake_broker import GRANT, FakeBroker


def test_a_user_is_created_shown_and_listed(mcpist: Mcpist, login: LocalLogin) -> None:
    mcpist("role", "create", "readers", "--modules", "rag")
    made = mcpist(
        "user", "create", "eve", "--name", "Eve", "--sub", "e-1", "--roles", "readers,members", "--locale", "ja"
    )
    assert [change["path"] for change in made["changes"]] == ["users.eve"]
    assert made["effects"][0]["users"] == ["eve"]
    eve = Subject(login.issuer, "e-1")
    new = User("eve", "Eve", eve, "user", ("readers", "members"), "ja", "waiting")
    assert directory.read("acme").user("eve") == new
    assert made["changes"][0]["after"]["acceptance"] == "waiting"
    memberships.answer(eve, "acme", "accepted", "r1")
    caller = directory.identify(eve)
    assert (caller.user, caller.role_names, caller.locale) == ("eve", ("readers", "members"), "ja")
    shown = mcpist("user", "show", "eve")
    assert (shown["user"], shown["subject"]) == ("eve", {"issuer": login.issuer, "sub": "e-1"})
    assert [row["user"] for row in mcpist("user", "list")["users"]] == ["ada", "eve", "uma"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["create", "eve", "--name", "Eve", "--sub", "uma"],
            "users.eve.subject: another user of acme has this subject: uma",
        ),
        (["create", "eve", "--name", "Eve", "--sub", "e", "--roles", "bosses"], "(roles: members)"),
        (["create", "eve", "--name", "Eve"], "--sub"),
        (["set", "uma", "--locale", "de"], "--locale"),
    ],
)
def test_an_impossible_change_is_a_typed_error(mcpist: Mcpist, arguments: list[str], problem: str) -> None:
    before = directory.read("acme")
    error = mcpist("user", *arguments, fails=True)
    assert error["code"] == "VALIDATION_ERROR"
    assert problem in error["message"]
    assert directory.read("acme") == before


@pytest.mark.parametrize("command", ["set", "show", "preview", "remove"])
def test_an_unknown_user_is_not_found(mcpist: Mcpist, command: str) -> None:
    error = mcpist("user", command, "eve", fails=True)
    assert (error["code"], error["hint"]) == ("USER_NOT_FOUND", "Users: ada, uma.")


def test_the_id_of_a_user_is_given_once(mcpist: Mcpist) -> None:
    error = mcpist("user", "create", "uma", "--name", "Uma", "--sub", "2", fails=True)
    assert (error["code"], error["message"]) == ("CONFLICT", 'There is a user "uma" already.')


def test_only_what_is_named_changes(mcpist: Mcpist, login: LocalLogin) -> None:
    mcpist("user", "set", "uma", "--sub", "u-2", "--system-role", "admin")
    changed = directory.read("acme").user("uma")
    assert changed == User("uma", "Uma", Subject(login.issuer, "u-2"), "admin", ("members",), "en", "waiting")
    with pytest.raises(MembershipRequired):
        directory.identify(Subject(login.issuer, "uma"))


def test_a_preview_shows_the_tools_of_all_roles_of_a_user(mcpist: Mcpist) -> None:
    mcpist("role", "create", "writers", "--modules", "rag", "--allow", "rag.put_doc")
    before = mcpist("user", "preview", "uma")["tools"]
    dry = mcpist("user", "set", "uma", "--roles", "members,writers", "--dry-run")
    assert dry["effects"] == [{"users": ["uma"], "roles": [], "appear": ["rag.put_doc"], "vanish": []}]
    assert mcpist("user", "preview", "uma")["tools"] == before
    mcpist("user", "set", "uma", "--roles", "members,writers")
    after = mcpist("user", "preview", "uma", "--tools")
    assert after["tools"] == before + 1
    assert "put_doc" in next(one["names"] for one in after["modules"] if one["module"] == "rag")


@pytest.mark.parametrize("arguments", [["set", "ada", "--system-role", "user"], ["remove", "ada"]])
def test_the_last_administrator_stays(mcpist: Mcpist, arguments: list[str]) -> None:
    for more in ((), ("--dry-run",)):
        assert mcpist("user", *arguments, *more, fails=True)["message"] == "acme would have no administrator."
    mcpist("user", "set", "uma", "--system-role", "admin")
    mcpist("user", *arguments)
    assert directory.read("acme").administrators == ("uma",)


def test_a_user_with_connected_accounts_is_removed_only_with_them(mcpist: Mcpist, broker: FakeBroker) -> None:
    broker.grants = [GRANT | {"owner": "user#uma", "services": ["github", "upstream:x"]}]
    error = mcpist("user", "remove", "uma", fails=True)
    assert error["message"] == "Accounts are connected for user uma: github, upstream:x."
    assert "--with-grants" in error["hint"]
    assert "uma" in directory.read("acme").users
    dry = mcpist("user", "remove", "uma", "--with-grants", "--dry-run")
    assert sorted(dry["forgotten_grants"]) == ["github of user uma", "upstream:x of user uma"]
    assert broker.grants
    mcpist("user", "remove", "uma", "--with-grants")
    assert "uma" not in directory.read("acme").users
    assert not broker.grants


def test_an_import_that_removes_a_user_needs_with_grants_for_their_accounts(mcpist: Mcpist, broker: FakeBroker) -> None:
    mcpist("org", "export", "--file", "acme.yaml")
    mcpist("user", "create", "eve", "--name", "Eve", "--sub", "e")
    broker.grants = [GRANT | {"services": ["jira"]}]
    assert "user eve: jira" in mcpist("org", "import", "acme.yaml", fails=True)["message"]
    assert mcpist("org", "import", "acme.yaml", "--with-grants")["forgotten_grants"] == ["jira of user eve"]
    assert "eve" not in directory.read("acme").users


def test_who_is_no_administrator_is_refused(mcpist: Mcpist, login: LocalLogin) -> None:
    error = mcpist("user", "set", "uma", "--system-role", "admin", "--token", login.mint("uma"), fails=True)
    assert error["code"] == "AUTHORIZATION_ERROR"
    assert directory.read("acme").user("uma").system_role == "user"


def test_a_person_is_invited_by_a_link_that_can_be_withdrawn(mcpist: Mcpist) -> None:
    made = mcpist("user", "invite", "eve", "--name", "Eve", "--roles", "members", "--days", "2")
    assert made["link"].startswith("http")
    assert "/join?organization=acme&code=" in made["link"]
    (waiting,) = mcpist("user", "invitations")["invitations"]
    assert (waiting["user"], waiting["roles"]) == ("eve", ["members"])
    assert mcpist("user", "withdraw", "eve")["withdrawn"] is True
    assert mcpist("user", "invitations")["invitations"] == []
    assert mcpist("user", "withdraw", "eve", fails=True)["code"] == "INVITATION_NOT_FOUND"
