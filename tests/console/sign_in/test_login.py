"""The pages' login at the issuer."""

import time
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from console import cookies
from console.sign_in import login
from mcpist import settings
from mcpist.caller import Subject
from mcpist.people import browsers, directory
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.console.conftest import CLIENT, Browser, audited
from tests.core.loopback import json_response, serving
from tests.full_issuer import FullIssuer

FLAGS = "; HttpOnly; SameSite=Lax; Secure"


def asked(sent: dict[str, Any]) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(sent["headers"]["location"]).query).items()}


def test_a_person_without_a_session_is_sent_to_the_issuer_with_pkce_and_the_resource(browser: Browser) -> None:
    sent = browser.get("/connect/github?organization=acme&user=uma")
    assert sent["statusCode"] == 303
    assert sent["headers"]["location"].startswith(f"{browser.login.issuer}/authorize?")
    told = asked(sent)
    assert (len(told.pop("state")), len(told.pop("code_challenge"))) == (43, 43)
    assert told == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": f"{PUBLIC_URL}/connect/login",
        "code_challenge_method": "S256",
        "resource": AUDIENCE,
    }
    (cookie,) = sent["cookies"]
    assert cookie.startswith("__Host-mcpist-login=")
    assert cookie.endswith(f"; Path=/; Max-Age={cookies.LOGIN_SECONDS}{FLAGS}")


def test_the_login_leads_back_to_the_requested_page(browser: Browser) -> None:
    back = browser.decide(browser.get("/connect/github?organization=acme&user=uma"), sub="uma")
    landed = browser.get(back)
    assert landed["headers"]["location"] == f"{PUBLIC_URL}/connect/github?organization=acme&user=uma"
    kept, dropped = landed["cookies"]
    assert kept.startswith("__Host-mcpist-session=organization=acme&user=uma&session=")
    assert kept.endswith(FLAGS)
    assert int(kept.partition("Max-Age=")[2].partition(";")[0]) in range(3590, 3601)
    assert dropped.startswith("__Host-mcpist-login=;")
    assert browser.get("/connect")["statusCode"] == 200


def test_on_a_loopback_address_without_tls_the_cookies_have_plain_names(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:8000")
    settings.settings.cache_clear()
    (cookie,) = browser.get("/connect")["cookies"]
    assert cookie.startswith("mcpist-login=")
    assert "Secure" not in cookie


def test_a_response_for_another_browser_logs_nobody_in(browser: Browser, messages: list[dict[str, Any]]) -> None:
    """Otherwise an attacker could log in a victim's browser as the attacker, and get the victim's accounts."""
    attacker = Browser(browser.login)
    back = attacker.decide(attacker.get("/connect"), sub="uma")
    assert browser.get(back)["statusCode"] == 400
    browser.get("/connect")
    assert browser.get(back)["statusCode"] == 400, "nor one that has begun its own"
    assert "__Host-mcpist-session" not in browser.cookies
    assert messages == []


def test_a_login_response_is_accepted_once(browser: Browser) -> None:
    back = browser.decide(browser.get("/connect"), sub="uma")
    assert browser.get(back)["statusCode"] == 303
    assert browser.get(back)["statusCode"] == 400


@pytest.mark.parametrize("iss", ["iss=https%3A%2F%2Fattacker.example.com", ""])
def test_another_issuers_response_is_refused(browser: Browser, messages: list[dict[str, Any]], iss: str) -> None:
    back = browser.decide(browser.get("/connect"), sub="uma")
    ours = next(part for part in back.partition("?")[2].split("&") if part.startswith("iss="))
    assert browser.get(back.replace(ours, iss))["statusCode"] == 401
    assert messages == []


def test_a_code_that_the_issuer_does_not_know_is_refused(browser: Browser, messages: list[dict[str, Any]]) -> None:
    back = browser.decide(browser.get("/connect"), sub="uma")
    code = next(part for part in back.partition("?")[2].split("&") if part.startswith("code="))
    assert browser.get(back.replace(code, "code=made-up"))["statusCode"] == 401
    assert messages == []


def test_a_person_who_denies_the_login_can_start_again(browser: Browser) -> None:
    back = browser.decide(browser.get("/connect/github"), deny="1")
    denied = browser.get(back)
    assert denied["statusCode"] == 403
    assert "You did not log in" in denied["body"]
    assert "has ended" not in denied["body"]
    assert 'href="/connect/github"' in denied["body"]
    assert browser.cookies == {}


def test_a_person_without_an_organization_is_told_so(browser: Browser) -> None:
    page = browser.get(browser.decide(browser.get("/connect"), sub="eve"))
    assert page["statusCode"] == 403
    assert "You are not a member of an organization here." in page["body"]
    assert 'href="/?again=1"' in page["body"]


@pytest.mark.parametrize("target", ["https://attacker.example.com/", "//attacker.example.com", "/mcp", "/connect\r\nx"])
def test_a_login_never_redirects_to_another_site(browser: Browser, target: str) -> None:
    back = browser.decide(browser.get("/connect"), sub="uma")
    name = "__Host-mcpist-login"
    browser.cookies[name] = browser.cookies[name].replace("%2Fconnect", target.replace("\r\n", "%0D%0A"))
    assert browser.get(back)["headers"]["location"] == f"{PUBLIC_URL}/"


def test_the_link_of_another_organization_begins_a_login_for_it(uma: Browser) -> None:
    sent = uma.get("/connect/github?organization=globex&user=uma")
    assert sent["statusCode"] == 303
    page = uma.get(uma.decide(sent, sub="uma"))
    assert (page["statusCode"], "not a member" in page["body"]) == (403, True)


def test_another_person_can_log_in_instead(uma: Browser) -> None:
    sent = uma.get("/connect/github?again=1")
    assert asked(sent)["prompt"] == "login"
    landed = uma.get(uma.decide(sent, sub="ada"))
    assert landed["headers"]["location"] == f"{PUBLIC_URL}/connect/github", "and is not asked again for ever"
    assert "<b>ada</b>" in uma.get("/connect/github")["body"]


def test_without_a_client_id_the_page_says_what_is_missing(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONNECT_CLIENT_ID", "")
    settings.settings.cache_clear()
    page = browser.get("/connect")
    assert page["statusCode"] == 503
    assert "ConnectClientId" in page["body"]


def test_an_unreachable_issuer_is_answered_with_status_503(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISSUER", "http://127.0.0.1:9")
    settings.settings.cache_clear()
    assert browser.get("/connect")["statusCode"] == 503


@pytest.mark.parametrize("named", ["https://attacker.example.com", "", None])
def test_metadata_that_name_another_issuer_are_not_believed(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    with serving() as service:
        places = {f"{name}_endpoint": f"{service.url}/{name}" for name in ("authorization", "token")}
        monkeypatch.setenv("ISSUER", service.url)
        settings.settings.cache_clear()
        service.reply_with(json_response(places | {"issuer": named}))
        assert browser.get("/connect")["statusCode"] == 503
        service.reply_with(json_response(places | {"issuer": service.url}))
        assert browser.get("/connect")["headers"]["location"].startswith(f"{service.url}/authorization?")


def test_the_issuers_metadata_is_read_once_an_hour(browser: Browser) -> None:
    issuer = browser.login.issuer
    first = login.metadata(issuer)
    assert login.metadata(issuer) is first
    assert browser.get("/connect")["statusCode"] == 303
    assert login.metadata(issuer) is first


def test_a_login_never_continues_a_session_that_the_browser_had(browser: Browser) -> None:
    """An attacker may have put a session of their own into the browser."""
    attacker = Browser(browser.login)
    attacker.log_in("ada")
    name = "__Host-mcpist-session"
    planted = attacker.cookies[name]
    browser.cookies[name] = planted
    landed = browser.get(browser.decide(browser.get("/profile?again=1"), sub="uma"))
    assert landed["statusCode"] == 303
    assert browser.cookies[name] != planted
    assert "<b>uma</b>" in browser.get("/profile")["body"]
    assert "<b>ada</b>" in attacker.get("/profile")["body"]


def test_a_person_signs_out_here_there_and_everywhere(uma: Browser) -> None:
    name = "__Host-mcpist-session"
    other, third = Browser(uma.login), Browser(uma.login)
    other.log_in("uma")
    third.log_in("uma")
    stolen = dict(third.cookies)
    assert third.submit("/profile", having="sign_out")["headers"]["location"] == f"{PUBLIC_URL}/signed-out"
    assert name not in third.cookies
    third.cookies = stolen
    assert third.get("/profile")["statusCode"] == 303, "a stolen cookie leads to the login"
    assert other.get("/profile")["statusCode"] == 200
    uma.submit("/profile", having="sign_out_everywhere")
    assert other.get("/profile")["statusCode"] == 303
    assert "You are signed out" in uma.get("/signed-out")["body"]


def test_each_sign_in_and_sign_out_has_a_row(uma: Browser) -> None:
    other, third = Browser(uma.login), Browser(uma.login)
    for browser in (other, third):
        browser.log_in("uma")
    third.submit("/profile", having="sign_out")
    uma.submit("/profile", having="sign_out_everywhere")
    rows = [(row["tool"], row["outcome"], row["target"]) for row in audited(user="uma", service="administration")]
    known = {target for tool, _, target in rows if tool == "console.sign_in"}
    assert len(known) == 3
    assert Counter((tool, outcome) for tool, outcome, _ in rows) == {
        ("console.sign_in", "succeeded"): 3,
        ("console.sign_out", "succeeded"): 1,
        ("console.sign_out_everywhere", "succeeded"): 2,
    }
    assert {target for tool, _, target in rows if tool != "console.sign_in"} == known
    (ended,) = audited(event="sign_out", tool="console.sign_out")
    (began,) = (row for row in audited(event="sign_in") if row["target"] == ended["target"])
    assert (began["after"], ended["before"]) == ({"browser": "Chrome, Linux"},) * 2
    assert {row["client_name"] for row in (began, ended)} == {"mcpist-console"}


def test_a_sign_in_beyond_the_most_browsers_signs_the_oldest_out_with_a_row(
    browser: Browser, login: FullIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject(login.issuer, "uma")
    oldest = browsers.sign_in(subject, "id", "acme", "", expires_at=int(time.time()) + 60)
    monkeypatch.setattr(browsers, "MAX_BROWSERS", 1)
    browser.log_in("uma")
    (row,) = audited(event="sign_out")
    assert (row["tool"], row["target"]) == ("console.sign_out", f"browsers.{oldest.key}")


def test_a_session_that_is_used_after_its_end_is_refused_with_one_row(uma: Browser) -> None:
    thief = Browser(uma.login, dict(uma.cookies))
    uma.submit("/profile", having="sign_out")
    for _ in range(3):
        assert thief.get("/profile")["statusCode"] == 303
        assert thief.post("/profile", [("action", "sign_out"), ("csrf", "x")])["statusCode"] == 401
    (row,) = audited(event="sign_in", outcome="AUTHENTICATION_ERROR")
    (ended,) = audited(event="sign_out")
    assert (row["user"], row["target"]) == ("uma", ended["target"])


def test_a_removed_person_is_refused_with_a_row(uma: Browser) -> None:
    directory.change("acme", lambda before: before.without_user("uma"))
    assert uma.get("/profile")["statusCode"] == 403
    assert [row["outcome"] for row in audited(user="uma", event="sign_in")] == ["AUTHORIZATION_ERROR", "succeeded"]


def test_a_sign_in_to_an_organization_of_others_is_refused_with_a_row_in_the_own_one(uma: Browser) -> None:
    page = uma.get(uma.decide(uma.get("/connect/github?organization=globex&user=uma"), sub="uma"))
    assert page["statusCode"] == 403
    (row,) = audited(event="sign_in", outcome="AUTHORIZATION_ERROR")
    assert (row["user"], row["tool"], row["target"]) == ("uma", "console.sign_in", "organizations.globex")
