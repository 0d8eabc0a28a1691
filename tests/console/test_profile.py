"""The person's own page: what the roles allow, the connected accounts with their last use, and the language."""

import re
from dataclasses import replace
from html import unescape

from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Role, Subject
from mcpist.people import directory
from tests import members
from tests.console.conftest import GITHUB_KEY, Browser, audited
from tests.core.loopback import Service
from tests.full_issuer import FullIssuer


def caller_of(login: FullIssuer, user: str) -> Caller:
    directory.access_cache.clear()
    return directory.identify(Subject(login.issuer, user))


def test_a_person_sees_what_the_roles_allow_by_effect_with_links_to_the_tools(uma: Browser) -> None:
    page = unescape(uma.get("/profile")["body"])
    link, count = re.findall(r'<a href="(/tools\?module=rag&effect=reads)">(\d+)</a>', page)[0]
    assert f"{count} tools" in uma.get(link)["body"]
    assert "effect=destroys" not in page, "no role of this person may destroy"


def test_each_of_several_roles_shows_what_it_alone_allows(uma: Browser, login: FullIssuer) -> None:
    members.put_role("acme", Role("writers", modules=("rag",), allow=("rag.put_doc",)))
    subject = Subject(login.issuer, "uma")
    members.put_user("acme", "uma", name="Uma", subject=subject, roles=["members", "writers"])
    directory.access_cache.clear()
    cards = {name: role_card(uma, name) for name in ("members", "writers")}
    assert "effect=writes" not in cards["members"]
    assert re.findall(r'module=(\w+)&effect=writes">(\d+)</a>', cards["writers"]) == [("rag", "1")]
    assert "module=github" in cards["members"]
    assert "module=github" not in cards["writers"]
    members.put_user("acme", "uma", name="Uma", subject=subject, roles=["members"])
    directory.access_cache.clear()
    assert "<details>" not in role_card(uma, "members"), "the table below says it already"


def test_a_connected_account_is_shown_with_its_last_use_and_its_program(uma: Browser, service: Service) -> None:
    uma.post("/connect/github", [("action", "paste"), ("key", GITHUB_KEY)])
    card = account_card(uma)
    assert "octocat" in card
    assert "Not in the last 30 days" in card
    assert service.received


def test_a_use_by_another_account_is_not_the_last_use(uma: Browser, service: Service, login: FullIssuer) -> None:
    uma.post("/connect/github", [("action", "paste"), ("key", GITHUB_KEY)])
    for account in ("octocat", "somebody-else"):
        caller = replace(caller_of(login, "uma"), client=ClientInfo(f"client-of-{account}", "1"))
        audit.record_use(caller, "github", "get_me", outcome="succeeded", request="r", account=account, measures={})
    card = account_card(uma)
    assert service.received
    assert "client-of-octocat" in card
    assert "somebody-else" not in card


def test_an_account_is_disconnected_from_the_profile(uma: Browser, service: Service) -> None:
    uma.post("/connect/github", [("action", "paste"), ("key", GITHUB_KEY)])
    assert uma.submit("/profile", having="disconnect")["statusCode"] == 303
    assert "You have connected no account" in uma.get("/profile")["body"]
    assert service.received


def test_the_chosen_language_is_stored_with_the_user_for_every_door(uma: Browser, login: FullIssuer) -> None:
    assert caller_of(login, "uma").locale == "en"
    try:
        uma.submit("/profile", having="language", language="ja")
        assert caller_of(login, "uma").locale == "ja"
        row = audited(user="uma", text="profile.update")[0]
        assert (row["target"], row["outcome"]) == ("users.uma", "succeeded")
        uma.cookies.pop("__Host-mcpist-language")
        uma.language = ""
        assert "プロフィール" in uma.get("/profile")["body"]
    finally:
        uma.post("/profile", [("action", "language"), ("language", "en")])
    assert caller_of(login, "uma").locale == "en"


def test_a_language_changes_nothing_else_of_the_user(uma: Browser, login: FullIssuer) -> None:
    before = caller_of(login, "uma")
    uma.post("/profile", [("action", "language"), ("language", "en"), ("system_role", "admin"), ("user", "ada")])
    assert caller_of(login, "uma") == before


def role_card(browser: Browser, role: str) -> str:
    """Return the card of a role."""
    page: str = unescape(browser.get("/profile")["body"])
    return page.partition(f"<h3>{role}</h3>")[2].partition('<div class="card">')[0].partition("</section>")[0]


def account_card(browser: Browser) -> str:
    """Return the part of the page about connected accounts."""
    return browser.get("/profile")["body"].partition("Your connected accounts")[2].partition("<section>")[0]
