"""`mcpist role`."""

import pytest

from mcpist.caller import Role
from mcpist.errors import RoleNotFound
from mcpist.people import directory
from mcpist.people.organization import Organization
from mcpist.tools.access.effects import unmatched_patterns
from mcpist_services.catalogue import CATALOGUE
from tests.infra.cli.conftest import Mcpist
from tests.rest_api.fake_broker import GRANT, FakeBroker


def test_a_role_is_created_shown_and_listed(mcpist: Mcpist) -> None:
    made = mcpist("role", "create", "writers", "--modules", "rag, jira", "--allow", "rag.put_doc", "--destructive")
    (change,) = made["changes"]
    assert (change["path"], change["before"]) == ("roles.writers", None)
    (effect,) = made["effects"]
    assert (effect["users"], effect["roles"]) == ([], ["writers"])
    assert {"rag.put_doc", "jira.search"} <= set(effect["appear"])
    stored = directory.read("acme").role("writers")
    assert stored == Role("writers", ("rag", "jira"), ("rag.put_doc",), (), destructive=True)
    shown = mcpist("role", "show", "members")
    assert (shown["name"], shown["users"], shown["destructive"]) == ("members", ["ada", "uma"], False)
    assert [row["name"] for row in mcpist("role", "list")["roles"]] == ["members", "writers"]
    assert "already" in mcpist("role", "create", "writers", fails=True)["message"]


def test_only_what_is_named_changes_and_an_empty_list_clears(mcpist: Mcpist) -> None:
    mcpist(
        "role", "create", "writers", "--modules", "rag", "--allow", "rag.*", "--deny", "rag.delete_*", "--destructive"
    )
    mcpist("role", "set", "writers", "--deny", "", "--no-destructive")
    assert directory.read("acme").role("writers") == Role("writers", ("rag",), ("rag.*",))
    assert mcpist("role", "set", "nobody", "--deny", "", fails=True)["hint"] == "Roles: members, writers."


def test_a_dry_run_shows_which_tools_would_appear_and_vanish_for_which_users(mcpist: Mcpist) -> None:
    mcpist("role", "create", "readers", "--modules", "rag")
    mcpist("user", "set", "uma", "--roles", "members,readers")
    dry = mcpist("role", "set", "members", "--modules", "github", "--allow", "github.create_issue", "--dry-run")
    ada, uma, role = (
        next(effect for effect in dry["effects"] if who in effect[kind])
        for kind, who in (("users", "ada"), ("users", "uma"), ("roles", "members"))
    )
    assert ada is role
    assert ada["appear"] == uma["appear"] == ["github.create_issue"]
    assert set(ada["vanish"]) - set(uma["vanish"]) == {f"rag.{name}" for name in seen(mcpist, "readers", "rag")}
    assert mcpist("role", "show", "members")["allow"] == []


def seen(mcpist: Mcpist, role: str, module: str) -> dict[str, str]:
    """The names of a module's tools in a role's preview."""
    modules = mcpist("role", "preview", role, "--tools")["modules"]
    names: dict[str, str] = next(one["names"] for one in modules if one["module"] == module)
    return names


def test_a_preview_shows_the_permitted_tools(mcpist: Mcpist) -> None:
    mcpist("role", "create", "writers", "--modules", "rag", "--allow", "rag.*")
    names = seen(mcpist, "writers", "rag")
    assert (names["get_doc"], names["put_doc"]) == ("reads", "writes")
    assert "delete_doc" not in names
    mcpist("role", "set", "writers", "--destructive")
    assert seen(mcpist, "writers", "rag")["delete_doc"] == "destroys"
    mcpist("org", "set", "--disable", "rag.put_*")
    preview = mcpist("role", "preview", "writers")
    assert preview["modules"] == [{"module": "rag", "tools": preview["tools"], "of": preview["tools"] + 1, "names": {}}]
    assert "put_doc" not in seen(mcpist, "writers", "rag")


def test_unknown_modules_are_stored_with_a_warning(mcpist: Mcpist) -> None:
    warned = mcpist("role", "create", "writers", "--modules", "gihub", "--allow", "gihub.*")["warnings"]
    assert warned == [
        "roles.writers.modules: this release has no module gihub",
        "roles.writers.allow: the mask gihub.* matches no tool of this release",
    ]


@pytest.mark.parametrize(
    ("mask", "may_match"),
    [("notes.read.*", True), ("notes.*", True), ("no*", True), ("notes.read.find_note", True), ("nots.*", False)],
)
def test_a_mask_of_an_upstreams_category_is_no_mistake(mask: str, may_match: bool) -> None:
    organization = Organization("acme", "Acme", roles={"readers": Role("readers", allow=(mask,))})
    assert (unmatched_patterns(organization, CATALOGUE, ["notes.read"]) == []) is may_match


def test_saved_batches_and_automations_are_modules_of_this_release(mcpist: Mcpist) -> None:
    modules = ("--modules", "saved,automations", "--allow", "saved.save,automations.*")
    assert mcpist("role", "create", "writers", *modules)["warnings"] == []


def test_a_role_that_somebody_has_is_not_removed(mcpist: Mcpist) -> None:
    error = mcpist("role", "remove", "members", fails=True)
    assert error["message"] == 'These users have the role "members": ada, uma.'
    for user in ("ada", "uma"):
        mcpist("user", "set", user, "--roles", "")
    mcpist("role", "remove", "members")
    with pytest.raises(RoleNotFound):
        directory.read("acme").role("members")
    assert "no role" in mcpist("role", "remove", "members", fails=True)["message"]


def test_a_role_with_shared_accounts_is_removed_only_with_them(mcpist: Mcpist, broker: FakeBroker) -> None:
    mcpist("role", "create", "writers")
    broker.grants = [GRANT | {"owner": "role#writers", "services": ["jira"]}]
    assert "jira" in mcpist("role", "remove", "writers", fails=True)["message"]
    assert mcpist("role", "remove", "writers", "--with-grants")["forgotten_grants"] == ["jira of role writers"]
    assert broker.grants == []
