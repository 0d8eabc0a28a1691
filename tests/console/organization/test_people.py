"""Administrators add, change and remove users and roles, and see first what that does."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcpist.audit import record as audit
from mcpist.audit import search as audit_search
from mcpist.caller import Caller, Role, Subject
from mcpist.people import directory, edits
from mcpist.people.organization import Organization
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.console.conftest import Browser
from tests.full_issuer import FullIssuer


def organization() -> Organization:
    return directory.read_version("acme")[1]


def fill(browser: Browser, path: str, having: str, **values: str) -> dict[str, Any]:
    """Send the form of a page and return the page that reviews it."""
    shown = browser.submit(path, having, **values)
    assert shown["statusCode"] == 200, shown["body"]
    return shown


def test_a_user_is_added_after_a_review(ada: Browser) -> None:
    shown = fill(ada, "/users?new=1", "create", id="ben", name="Ben", sub="ben")
    assert "Add the user ben" in shown["body"]
    assert "ben" not in organization().users
    done = ada.submit_form(shown["body"], "reviewed")
    assert done["headers"]["location"].endswith("/users?id=ben&done=user_created")
    assert organization().user("ben").subject == Subject(organization().user("ada").subject.issuer, "ben")
    assert "Ben" in ada.get("/users?q=ben")["body"]


def test_a_change_shows_who_loses_what(ada: Browser) -> None:
    shown = ada.post("/roles", [("action", "update"), ("id", "members")])
    assert "Loses" in shown["body"]
    assert "uma" in shown["body"]
    assert organization().role("members").modules
    ada.submit_form(shown["body"], "reviewed")
    assert organization().role("members").modules == ()


@pytest.mark.parametrize("tab", ["", "&tab=permissions", "&tab=users", "&tab=accounts"])
def test_a_role_has_a_panel_with_tabs(ada: Browser, tab: str) -> None:
    page = ada.get(f"/roles?id=members{tab}")
    assert page["statusCode"] == 200
    assert 'aria-labelledby="panel-heading"' in page["body"]


def test_the_accounts_of_a_role_lead_to_services_that_have_accounts(ada: Browser) -> None:
    every = ["files", "rag", "github", "jira", "people"]
    ada.submit_form(
        ada.post("/roles", [("action", "update"), ("id", "members"), *(("modules", one) for one in every)])["body"],
        "reviewed",
    )
    page = ada.get("/roles?id=members&tab=accounts")["body"]
    assert re.findall(r"/connect/(\w+)\?role=members", page) == ["github", "jira"]
    panel = ada.get("/roles?id=members&service=jira")["body"]
    assert re.findall(r"/connect/(\w+)\?role=members", panel) == ["jira"]
    assert ada.get("/connect/jira?role=members")["statusCode"] == 200


def choice(page: str, tool: str) -> str:
    """Return what a page of a role's tools says of one."""
    found = re.search(rf'name="use.{tool}">.*?value="(\w+)" selected', page)
    assert found
    return found[1]


def test_the_tools_of_a_role_are_allowed_asked_and_blocked(ada: Browser) -> None:
    page = ada.get("/roles?id=members&module=github")["body"]
    assert (choice(page, "get_me"), choice(page, "create_issue")) == ("allow", "block")
    form = [("action", "tools"), ("id", "members"), ("module", "github")]
    shown = ada.post("/roles", [*form, ("use.create_issue", "allow"), ("use.get_me", "block")])
    ada.submit_form(shown["body"], "reviewed")
    assert "github.create_issue" in organization().role("members").allow
    assert "github.get_me" in organization().role("members").deny
    assert ada.post("/roles", [*form, ("use.get_me", "perhaps")])["statusCode"] == 400


def test_all_tools_of_an_effect_are_chosen_at_once(ada: Browser) -> None:
    form = [("action", "tools"), ("id", "members"), ("module", "rag"), ("all.destroys", "ask"), ("all.reads", "block")]
    ada.submit_form(ada.post("/roles", form)["body"], "reviewed")
    role, tools = organization().role("members"), CATALOGUE.index.modules["rag"].tools.values()
    destroying = {f"rag.{tool.name}" for tool in tools if tool.effect == "destroys"}
    assert destroying
    assert set(role.approval) == destroying
    assert set(role.deny) == {f"rag.{tool.name}" for tool in tools if tool.reads}
    assert organization().role("members").allow == tuple(f"rag.{t.name}" for t in tools if t.effect == "destroys")


def test_what_was_used_lately_stands_beside_the_choice_and_in_the_review(ada: Browser, login: FullIssuer) -> None:
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    uma = Caller("acme", "uma", Subject(login.issuer, "uma"), "user", ())
    for tool, times in (("delete_doc", 2), ("list_docs", 3)):
        for _ in range(times):
            audit.record_use(uma, "rag", tool, outcome="succeeded", request="r")
    page = ada.get("/roles?id=members&module=rag&calls=1")["body"]
    assert re.search(r'name="use.list_docs".*?<small>3 calls</small>', page, re.DOTALL)
    assert "· 5 calls" in ada.get("/roles?id=members&calls=1")["body"]
    form = [("action", "tools"), ("id", "members"), ("module", "rag"), ("use.delete_doc", "ask")]
    shown = ada.post("/roles", [*form, ("use.list_docs", "block")])["body"]
    asked, refused = shown.index("would have waited for an approval"), shown.index("would have been refused")
    assert refused < shown.index("rag.list_docs</code>", refused) < asked < shown.index("rag.delete_doc</code>", asked)


def test_a_review_of_another_version_is_refused(ada: Browser) -> None:
    shown = fill(ada, "/roles?new=1", "create", id="writers")
    fill(ada, "/roles?new=1", "create", id="readers")
    ada.submit_form(ada.submit("/roles?new=1", "create", id="readers")["body"], "reviewed")
    assert ada.submit_form(shown["body"], "reviewed")["statusCode"] == 412
    assert "writers" not in organization().roles


def test_the_last_administrator_cannot_be_removed(ada: Browser) -> None:
    refused = ada.post("/users", [("action", "delete"), ("id", "ada")])
    assert refused["statusCode"] == 409
    assert "Make somebody else an administrator first." in refused["body"]
    assert "ada" in organization().users


def test_nothing_different_is_no_change(ada: Browser) -> None:
    version, _ = directory.read_version("acme")
    done = ada.submit("/users?id=uma", "update")
    assert done["headers"]["location"].endswith("done=unchanged")
    assert directory.read_version("acme")[0] == version


@pytest.mark.parametrize(
    "path", ["/users", "/users?id=ada", "/users?new=1", "/roles", "/roles?id=members&tab=accounts"]
)
def test_others_see_no_administrators_page_and_leave_a_row(uma: Browser, path: str) -> None:
    assert uma.get(path)["statusCode"] == 403
    rows = [row for row in rows_of("uma") if row["event"] == "look"]
    assert rows[-1]["outcome"] == "AUTHORIZATION_ERROR"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/users", [("action", "delete"), ("id", "ada")]),
        ("/users", [("action", "kill"), ("id", "ada")]),
        ("/roles", [("action", "update"), ("id", "members"), ("reviewed", "1")]),
    ],
)
def test_others_change_nothing(uma: Browser, path: str, form: list[tuple[str, str]]) -> None:
    before = organization()
    assert uma.post(path, form)["statusCode"] == 403
    assert organization() == before


@pytest.mark.parametrize("path", ["/users?id=nobody", "/roles?id=none", "/roles?id=members&module=none"])
def test_what_does_not_exist_is_said_plainly(ada: Browser, path: str) -> None:
    assert ada.get(path)["statusCode"] == 404


def test_the_list_goes_on_after_fifty(ada: Browser) -> None:
    for number in range(60):
        directory.change("acme", edits.add_user(f"user{number:02}", sub=f"s{number}", name=f"User {number}"))
    first = ada.get("/users")["body"]
    cursor = re.search(r'href="(/users\?cursor=.*?)" rel="next"', first)
    assert cursor
    assert "User 59" in ada.get(cursor[1])["body"]
    assert "User 59" not in first


def test_roles_and_the_users_of_a_role_are_shown_by_fifty(ada: Browser) -> None:
    def edit(before: Organization) -> Organization:
        roles = {f"role{number:02}": Role(f"role{number:02}") for number in range(60)}
        given = dict.fromkeys((f"user{number:02}" for number in range(60)), before.users["uma"])
        users = {name: replace(user, id=name, subject=Subject("https://i", name)) for name, user in given.items()}
        return replace(before, roles={**before.roles, **roles}, users={**before.users, **users})

    directory.change("acme", edit)
    first = ada.get("/roles")["body"]
    assert "role48" in first
    assert "role59" not in first
    assert "role59" in follow(ada, first)
    assert re.findall(r"/roles\?[^\"]*id=(role\d+)", ada.get("/roles?q=ROLE59")["body"]) == ["role59"]
    assert "No role was found." in ada.get("/roles?q=nothing")["body"]
    holders = ada.get("/roles?id=members&tab=users")["body"].partition('id="panel"')[2]
    assert "user59" not in holders
    assert "user59" in follow(ada, holders)


def follow(browser: Browser, page: str) -> str:
    """Return the next page of a list."""
    found = re.search(r'href="([^"]*)" rel="next"', page)
    assert found
    return str(browser.get(found[1].replace("&amp;", "&"))["body"])


def rows_of(user: str) -> list[dict[str, Any]]:
    """A user's rows of the audit, the oldest first."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    page = audit_search.find("acme", since=now - timedelta(days=1), until=now, filters=audit_search.Filters(user=user))
    return page.rows[::-1]
