"""The pages' login at the issuer."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from console import cookies, login
from mcpist import settings
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.console.conftest import CLIENT, Browser

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


def test_the_issuers_metadata_is_read_once_an_hour(browser: Browser) -> None:
    first = login.metadata()
    assert login.metadata() is first
    assert browser.get("/connect")["statusCode"] == 303
    assert login.metadata() is first


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
