"""The page of the company's directory: a token that is shown once, days, and roles of groups after a review."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.errors import AuthenticationError
from mcpist.people import company_logins, directory, provisioning
from mcpist.people.company import Group
from mcpist.people.organization import Organization, TrustedIssuer
from mcpist.settings import settings
from tests.conftest import PUBLIC_URL
from tests.console.conftest import Browser


@pytest.fixture(autouse=True)
def before(messages: list[dict[str, Any]]) -> Iterator[Organization]:
    assert messages == []
    known = directory.read("acme")
    yield known
    directory.change("acme", lambda _: known)
    directory.access_cache.clear()


def make(browser: Browser) -> str:
    shown = browser.submit("/directory", "token")
    assert shown["statusCode"] == 200, shown["body"]
    (token,) = re.findall(r"scim_[\w.-]+", unescape(shown["body"]))
    return str(token)


def test_a_token_is_made_replaced_and_revoked(ada: Browser) -> None:
    first = make(ada)
    assert provisioning.identify(first).organization == "acme"
    second = make(ada)
    with pytest.raises(AuthenticationError):
        provisioning.identify(first)
    assert second not in ada.get("/directory")["body"]
    reviewed: dict[str, Any] = ada.post("/directory", [("action", "revoke_token")])
    assert provisioning.identify(second)
    done = ada.submit_form(reviewed["body"], "reviewed")
    assert done["headers"]["location"].endswith("/directory?done=directory_disconnected")
    with pytest.raises(AuthenticationError):
        provisioning.identify(second)


def test_roles_of_a_group_and_days_are_reviewed_first(ada: Browser) -> None:
    group = Group("g1", "Engineers")
    members = {"groups": ("g1",), "roles": ()}
    directory.change(
        "acme",
        lambda now: replace(now, groups={"g1": group}).with_user(replace(now.user("uma"), **members)),
    )
    assert "Engineers" in ada.get("/directory?id=g1")["body"]
    shown = ada.post("/directory", [("action", "group"), ("id", "g1"), ("roles", "members")])
    assert "Gains" in shown["body"]
    assert directory.read("acme").groups["g1"].roles == ()
    ada.submit_form(shown["body"], "reviewed")
    assert directory.read("acme").groups["g1"].roles == ("members",)
    shown = ada.post("/directory", [("action", "days"), ("days", "7")])
    ada.submit_form(shown["body"], "reviewed")
    assert directory.read("acme").directory.grant_days == 7
    for wrong in ("", "1000", "-1", "366", "x"):
        assert ada.post("/directory", [("action", "days"), ("days", wrong)])["statusCode"] == 400


def test_only_administrators_see_it(uma: Browser) -> None:
    assert uma.get("/directory")["statusCode"] == 403
    assert uma.post("/directory", [("action", "token")])["statusCode"] == 403


def test_a_login_is_checked_switched_on_and_removed(
    ada: Browser, login: LocalLogin, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Login of your people" not in ada.get("/directory")["body"]  # without a login of the deployment's own
    monkeypatch.setenv("LOGIN_SECRETS", "/mcpist/stack/login")
    settings.cache_clear()
    login.register("company", redirect_uri=f"{PUBLIC_URL}/login/callback/globex.com")
    assert f"{PUBLIC_URL}/mcp/acme" in ada.get("/directory?login=new")["body"]
    fields = [("action", "login"), ("domain", "globex.com"), ("issuer", login.issuer), ("client_secret", "s3cret")]
    refused = ada.post("/directory?login=new", [*fields, ("client_id", "other")])
    assert (refused["statusCode"], "the issuer does not know this client" in unescape(refused["body"])) == (400, True)
    assert "s3cret" not in refused["body"]
    assert ada.post("/directory?login=new", [*fields, ("client_id", "company")])["statusCode"] == 303
    page = ada.get("/directory?login=globex.com")["body"]
    assert ("s3cret" in page, 'value="company"' in page) == (False, True)
    assert ada.post("/directory", [("action", "remove_login"), ("domain", "globex.com")])["statusCode"] == 303
    assert company_logins.find("acme") == []


def test_clients_and_issuers_are_reviewed_first(ada: Browser) -> None:
    shown = ada.post("/directory", [("action", "clients"), ("clients", " chatgpt.com \r\n\r\nClaude Code\r\n")])
    assert directory.read("acme").clients == ()
    ada.submit_form(shown["body"], "reviewed")
    assert directory.read("acme").clients == ("chatgpt.com", "Claude Code")

    assert "Add an issuer" in ada.get("/directory?issuer=new")["body"]
    fields = [("action", "issuer"), ("shown", ""), ("issuer", "https://id.example.com/")]
    shown = ada.post("/directory?issuer=new", [*fields, ("adds_people", "yes"), ("roles", "members")])
    assert "https://id.example.com" in shown["body"]
    assert "TrustedIssuer" not in shown["body"]
    ada.submit_form(shown["body"], "reviewed")
    assert directory.read("acme").trusted_issuers == (TrustedIssuer("https://id.example.com", True, ("members",)),)

    page = ada.get("/directory?issuer=https%3A%2F%2Fid.example.com")["body"]
    assert re.search(r'name="adds_people" value="yes" checked', page)
    fields = [("action", "issuer"), ("shown", "https://id.example.com"), ("issuer", "https://login.example.com")]
    ada.submit_form(ada.post("/directory", fields)["body"], "reviewed")
    assert directory.read("acme").trusted_issuers == (TrustedIssuer("https://login.example.com"),)

    for wrong in ("http://id.example.com", "id.example.com", "https://id.example.com/#a", ""):
        refused = ada.post("/directory?issuer=new", [("action", "issuer"), ("shown", ""), ("issuer", wrong)])
        assert refused["statusCode"] == 400
        assert 'id="field-issuer"' in refused["body"]  # what was typed stays
    removed = [("action", "remove_issuer"), ("shown", "https://login.example.com")]
    ada.submit_form(ada.post("/directory", removed)["body"], "reviewed")
    assert directory.read("acme").trusted_issuers == ()
