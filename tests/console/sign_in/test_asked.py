"""Memberships in the console: a person who was added accepts or declines, and chooses a default organization."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcpist.aws.table import directory_table
from mcpist.caller import Role, Subject
from mcpist.errors import AcceptanceRequired, MembershipRequired
from mcpist.people import directory
from mcpist.people.organization import User
from tests import members
from tests.conftest import PUBLIC_URL
from tests.console.conftest import Browser, audited
from tests.full_issuer import FullIssuer


@pytest.fixture(autouse=True)
def globex(messages: list[dict[str, Any]], login: FullIssuer) -> Iterator[None]:
    """Another organization, which has added Uma of acme, and Eve of none; afterwards it does not exist."""
    assert messages == []
    members.put_organization("globex", name="Globex")
    members.put_role("globex", Role("readers", modules=("rag",)))
    subjects = [Subject(login.issuer, sub) for sub in ("uma", "eve")]
    for one in subjects:
        asked = User(one.sub, one.sub.title(), one, roles=("readers",), acceptance="waiting")
        directory.change("globex", lambda before, asked=asked: before.with_user(asked))
    directory.access_cache.clear()
    yield
    table = directory_table()
    keys = [(item["pk"], item["sk"]) for item in table.query("org#globex")]
    keys += [(directory.subject_key(one), f"{kind}#globex") for one in subjects for kind in ("org", "waiting")]
    for key in [*keys, ("orgs", "org#globex"), *((directory.subject_key(one), "default") for one in subjects)]:
        table.delete(*key)
    directory.access_cache.clear()
    directory.organization_cache.clear()


def sign_in(browser: Browser, sub: str, path: str = "/") -> dict[str, Any]:
    return browser.get(browser.decide(browser.get(path), sub=sub))


def answer(browser: Browser, given: str, sub: str) -> dict[str, Any]:
    """Answer on the page that asks, sign in again, and return the page that this ends with."""
    sent = browser.post("/join", [("organization", "globex"), ("answer", given), ("csrf", "")])
    return browser.get(browser.decide(sent, sub=sub))


def test_who_is_only_asked_is_shown_the_question_and_gets_no_session(browser: Browser, login: FullIssuer) -> None:
    shown = sign_in(browser, "eve")
    assert shown["statusCode"] == 200
    for text in ("An organization has added you", "globex", "readers", 'value="accepted"', 'value="declined"'):
        assert text in shown["body"]
    assert "__Host-mcpist-session" not in browser.cookies
    with pytest.raises(AcceptanceRequired):
        directory.identify(Subject(login.issuer, "eve"))


def test_who_accepts_is_signed_in_to_the_organization(browser: Browser, login: FullIssuer) -> None:
    sign_in(browser, "eve")
    landed = answer(browser, "accepted", "eve")
    assert (landed["statusCode"], landed["headers"]["location"]) == (303, f"{PUBLIC_URL}/")
    assert "globex" in browser.get("/profile")["body"]
    assert directory.identify(Subject(login.issuer, "eve")).role_names == ("readers",)


def test_who_declines_is_told_so_and_not_asked_again(browser: Browser, login: FullIssuer) -> None:
    sign_in(browser, "eve")
    assert "You declined" in answer(browser, "declined", "eve")["body"]
    assert sign_in(browser, "eve")["statusCode"] == 403
    with pytest.raises(MembershipRequired):
        directory.identify(Subject(login.issuer, "eve"))


def test_whoever_signs_in_has_answered(browser: Browser, login: FullIssuer) -> None:
    sign_in(browser, "eve")
    assert answer(browser, "accepted", "ada")["statusCode"] == 403
    with pytest.raises(AcceptanceRequired):
        directory.identify(Subject(login.issuer, "eve"))


@pytest.mark.parametrize("given", ["accepted", "declined"])
def test_another_site_answers_for_nobody(browser: Browser, given: str) -> None:
    form = [("organization", "globex"), ("answer", given), ("csrf", "")]
    refused = browser.post("/join", form, origin="https://evil.example")
    assert (refused["statusCode"], refused.get("cookies")) == (400, [])


def test_an_answer_is_yes_or_no(browser: Browser) -> None:
    assert browser.post("/join", [("organization", "globex"), ("answer", "x"), ("csrf", "")])["statusCode"] == 400


def test_a_link_to_an_organization_that_added_somebody_accepts_nothing(browser: Browser, login: FullIssuer) -> None:
    assert "An organization has added you" in sign_in(browser, "uma", "/?organization=globex")["body"]
    with pytest.raises(AcceptanceRequired):
        directory.identify(Subject(login.issuer, "uma"), organization="globex")
    assert not [row for row in audited() if "globex" in str(row)], "nor does the own organization learn of it"


def test_a_member_is_signed_in_as_ever_and_asked_on_the_pages(uma: Browser, login: FullIssuer) -> None:
    assert "globex has added you" in uma.get("/")["body"]
    done = uma.submit("/profile", having="accepted")
    assert done["headers"]["location"] == f"{PUBLIC_URL}/profile?done=membership_accepted"
    page = uma.get("/profile")["body"]
    assert "globex" in page
    assert 'value="accepted"' not in page
    assert directory.identify(Subject(login.issuer, "uma")).organization == "acme"
    uma.submit("/profile", having="default")
    assert directory.identify(Subject(login.issuer, "uma")).organization == "globex"
    assert sign_in(Browser(uma.login), "uma")["statusCode"] == 303, "nobody is asked which organization any more"


def test_a_member_declines_on_the_profile(uma: Browser, login: FullIssuer) -> None:
    done = uma.submit("/profile", having="declined")
    assert done["headers"]["location"] == f"{PUBLIC_URL}/profile?done=membership_declined"
    assert "globex" not in uma.get("/profile")["body"]
    assert directory.read("globex").user("uma").acceptance == "declined"
    assert directory.identify_all(Subject(login.issuer, "uma"))[0].organization == "acme"


@pytest.mark.parametrize("action", ["accepted", "declined", "default"])
def test_nobody_answers_or_chooses_what_is_not_theirs(uma: Browser, action: str) -> None:
    assert uma.post("/profile", [("action", action), ("organization", "initech")])["statusCode"] == 403


def test_an_administrator_sees_who_has_not_accepted(ada: Browser, login: FullIssuer) -> None:
    members.put_user("acme", "zed", name="Zed", subject=Subject(login.issuer, "zed"))
    asked = directory.read("acme").user("zed")
    directory.change("acme", lambda before: before.with_user(User("zed", "Zed", asked.subject, acceptance="waiting")))
    try:
        assert "Not accepted yet" in ada.get("/users")["body"]
        assert "cannot do anything here" in ada.get("/users?id=zed")["body"]
    finally:
        directory.change("acme", lambda before: before.without_user("zed"))
