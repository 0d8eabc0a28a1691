"""Invitations by link: one person joins by each, once, and only while it waits."""

import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Subject
from mcpist.errors import MembershipRequired
from mcpist.people import directory, edits, invitations
from tests.conftest import PUBLIC_URL
from tests.console.conftest import Browser, audited
from tests.full_issuer import FullIssuer

FORM = {"action": "invite", "id": "eve", "name": "Eve", "roles": "members", "locale": "ja", "days": "7"}


@pytest.fixture(autouse=True)
def alone(messages: list[dict[str, Any]], login: FullIssuer) -> Iterator[None]:
    """The organization as other tests know it, before and afterwards."""
    assert messages == []
    yield
    for one in invitations.find("acme"):
        directory_table().delete("invitations#acme", one.key)
    if "eve" in directory.read("acme").users:
        directory.change("acme", edits.remove_user("eve"))
    directory.access_cache.clear()
    assert login


def invite(browser: Browser, **changes: str) -> str:
    """Invite somebody on the page, and return the path of the link."""
    answer = browser.post("/users", list({**FORM, **changes}.items()))
    assert answer["statusCode"] == 200, answer["body"]
    (link,) = re.findall(rf"{PUBLIC_URL}(/join\?[^<\s]+)", unescape(answer["body"]))
    return str(link)


def join(login: FullIssuer, link: str, sub: str) -> tuple[dict[str, Any], Browser]:
    """Agree to an invitation in a new browser, and log in there; return the page that this ends with."""
    browser = Browser(login)
    shown = browser.get(link)
    assert shown["statusCode"] == 200, shown["body"]
    form = [(name, value[0]) for name, value in parse_qs(urlsplit(link).query).items()]
    sent = browser.post("/join", [*form, ("csrf", "")])
    return browser.get(browser.decide(sent, sub=sub)), browser


def caller_of(login: FullIssuer, sub: str) -> Caller:
    directory.access_cache.clear()
    return directory.identify(Subject(login.issuer, sub))


def test_the_first_person_who_signs_in_by_a_link_joins_with_its_roles(ada: Browser, login: FullIssuer) -> None:
    link = invite(ada)
    assert "Eve" in ada.get("/users")["body"].partition("Invitations that wait")[2]
    landed, browser = join(login, link, "eve")
    assert (landed["statusCode"], landed["headers"]["location"]) == (303, f"{PUBLIC_URL}/")
    eve = caller_of(login, "eve")
    assert (eve.user, eve.system_role, eve.role_names, eve.locale) == ("eve", "user", ("members",), "ja")
    assert browser.get("/users")["statusCode"] == 403
    assert "Invitations that wait" not in ada.get("/users")["body"]
    assert [row["tool"] for row in audited(text="invitations.")][::-1][-2:] == [
        "invitations.create",
        "invitations.accept",
    ]


def test_a_used_link_admits_nobody_else(ada: Browser, login: FullIssuer) -> None:
    link = invite(ada)
    join(login, link, "eve")
    assert Browser(login).get(link)["statusCode"] == 410
    secret = parse_qs(urlsplit(link).query)["code"][0]
    mallory = Subject(login.issuer, "mallory")
    assert invitations.accept("acme", secret, mallory, "request-1") == "invalid"
    with pytest.raises(MembershipRequired):
        caller_of(login, "mallory")


def test_of_two_people_who_use_a_link_at_once_the_second_stays_outside(ada: Browser, login: FullIssuer) -> None:
    secret = parse_qs(urlsplit(invite(ada)).query)["code"][0]
    found = invitations.read("acme", secret)
    assert found
    eve, mallory = Subject(login.issuer, "eve"), Subject(login.issuer, "mallory")
    assert invitations.claim("acme", found, eve)
    assert invitations.accept("acme", secret, mallory, "request-1") == "invalid"
    assert invitations.accept("acme", secret, eve, "request-1") == "joined", "an interrupted acceptance can go on"


def test_a_withdrawn_link_admits_nobody(ada: Browser, login: FullIssuer) -> None:
    link = invite(ada)
    assert ada.submit("/users", having="withdraw")["statusCode"] == 303
    assert Browser(login).get(link)["statusCode"] == 410
    assert audited(text="invitations.delete")


def test_a_link_ends_after_its_days(ada: Browser) -> None:
    secret = parse_qs(urlsplit(invite(ada, days="1")).query)["code"][0]
    (item,) = directory_table().query("invitations#acme")
    assert item["expires_at"] - time.time() == pytest.approx(86_400, abs=60)
    directory_table().put({**item, "expires_at": int(time.time()) - 1})
    assert invitations.read("acme", secret) is None
    assert invitations.find("acme") == []


def test_a_link_ends_with_the_administration_of_who_made_it(ada: Browser, login: FullIssuer) -> None:
    secret = parse_qs(urlsplit(invite(ada)).query)["code"][0]
    directory.change("acme", edits.change_user("uma", system_role="admin"))
    directory.change("acme", edits.change_user("ada", system_role="user"))
    try:
        assert invitations.accept("acme", secret, Subject(login.issuer, "eve"), "request-1") == "invalid"
    finally:
        directory.change("acme", edits.change_user("ada", system_role="admin"))
        directory.change("acme", edits.change_user("uma", system_role="user"))
    assert "eve" not in directory.read("acme").users


def test_a_member_who_opens_a_link_is_signed_in_and_leaves_it_unused(ada: Browser, login: FullIssuer) -> None:
    link = invite(ada)
    landed, _ = join(login, link, "uma")
    assert landed["statusCode"] == 303
    assert caller_of(login, "uma").user == "uma"
    assert Browser(login).get(link)["statusCode"] == 200


def test_a_look_at_a_link_uses_up_nothing_and_stores_no_secret(ada: Browser, login: FullIssuer) -> None:
    link = invite(ada)
    secret = parse_qs(urlsplit(link).query)["code"][0]
    page = Browser(login).get(link)["body"]
    assert "ada" in page
    assert "members" in page
    (item,) = directory_table().query("invitations#acme")
    assert secret not in str(item)


def test_another_site_cannot_begin_to_join(ada: Browser, login: FullIssuer) -> None:
    form = [(name, value[0]) for name, value in parse_qs(urlsplit(invite(ada)).query).items()]
    answer = Browser(login).post("/join", [*form, ("csrf", "")], origin="https://evil.example")
    assert answer["statusCode"] == 400
    assert not answer.get("cookies")


@pytest.mark.parametrize(
    "changes",
    [{"days": "0"}, {"days": "31"}, {"days": "x"}, {"id": "uma"}, {"id": "a/b"}, {"roles": "absent"}, {"locale": "fr"}],
    ids=["no day", "too many days", "no number", "a taken id", "no id", "an unknown role", "an unknown language"],
)
def test_an_invitation_that_could_not_be_used_is_refused(ada: Browser, changes: dict[str, str]) -> None:
    answer = ada.post("/users", list({**FORM, **changes}.items()))
    assert 400 <= answer["statusCode"] < 500
    assert not invitations.find("acme")


def test_only_administrators_invite(uma: Browser) -> None:
    assert uma.post("/users", list(FORM.items()))["statusCode"] == 403
    assert not invitations.find("acme")
