"""The issuer of a local deployment: a person is chosen on its page, and its ID token says who it is."""

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
import pytest

from infra.local.login import LocalLogin, Person
from infra.local.server import PortInUse, listen
from infra.local.state import opened_state

AUDIENCE = "http://127.0.0.1:3000/mcp"
REDIRECT = "http://127.0.0.1:3000/login/callback"
ADA = Person("ada", "Ada <Admin>", "ada@example.com", "admin")
VERIFIER = secrets.token_urlsafe(48)


@pytest.fixture
def login() -> Iterator[LocalLogin]:
    with LocalLogin([ADA], audience=AUDIENCE) as made:
        made.register("mcpist", redirect_uri=REDIRECT)
        yield made


@pytest.fixture
def web(login: LocalLogin) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=login.issuer) as client:
        yield client


def page_of(**more: str) -> str:
    """The address to which our login leads a browser."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
    asked = {"response_type": "code", "client_id": "mcpist", "redirect_uri": REDIRECT, "state": "s-1", "nonce": "n-1"}
    return f"/authorize?{urlencode({**asked, 'code_challenge': challenge, 'code_challenge_method': 'S256', **more})}"


def choose(web: httpx2.Client, **form: str) -> dict[str, str]:
    """Choose on the page, and return what the redirect says."""
    return query(web.post(page_of(), data=form).headers["location"])


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def redeem(web: httpx2.Client, **more: str) -> httpx2.Response:
    form = {"grant_type": "authorization_code", "client_id": "mcpist", "redirect_uri": REDIRECT}
    return web.post("/token", data={**form, "code_verifier": VERIFIER, **more})


def claims(login: LocalLogin, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
    key = jwt.PyJWKClient(f"{login.issuer}/jwks.json").get_signing_key_from_jwt(token)
    found: dict[str, Any] = jwt.decode(token, key, ["RS256"], audience=audience, issuer=login.issuer)
    return found


def test_a_person_who_is_chosen_is_named_in_the_id_token(login: LocalLogin, web: httpx2.Client) -> None:
    shown = web.get(page_of())
    assert "Ada &lt;Admin&gt;" in shown.text
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    back = choose(web, sub="ada")
    assert (back["state"], back["iss"]) == ("s-1", login.issuer)
    tokens = redeem(web, code=back["code"]).json()
    found = claims(login, tokens["id_token"], "mcpist")
    assert (found["sub"], found["email"], found["nonce"]) == ("ada", ADA.email, "n-1")
    assert claims(login, tokens["access_token"])["sub"] == "ada"


@pytest.mark.parametrize(
    "wrong", [{"code_verifier": "w" * 64}, {"client_id": "other"}, {"redirect_uri": f"{REDIRECT}/x"}, {"code": "x"}]
)
def test_a_code_works_once_and_only_for_its_request(web: httpx2.Client, wrong: dict[str, str]) -> None:
    code = choose(web, sub="ada")["code"]
    assert redeem(web, **{"code": code, **wrong}).json()["error"] == "invalid_grant"
    code = choose(web, sub="ada")["code"]
    assert redeem(web, code=code).status_code == 200
    assert redeem(web, code=code).json()["error"] == "invalid_grant"


def test_a_person_may_deny(web: httpx2.Client) -> None:
    assert choose(web, deny="1")["error"] == "access_denied"


def test_a_one_time_link_answers_one_login(login: LocalLogin, web: httpx2.Client) -> None:
    link = login.one_time_link("ada", "http://127.0.0.1:3000/")
    opened = web.get(link)
    assert (opened.status_code, opened.headers["location"]) == (303, "http://127.0.0.1:3000/")
    landed = web.get(page_of())
    assert (landed.status_code, "code=" in landed.headers["location"]) == (303, True)
    assert web.get(link).status_code == 404
    assert web.get(page_of()).status_code == 200, "the next login asks again"


def test_an_unknown_person_cannot_be_chosen(web: httpx2.Client) -> None:
    assert web.post(page_of(), data={"sub": "mallory"}).status_code == 200


@pytest.mark.parametrize(
    "wrong", [{"client_id": "other"}, {"redirect_uri": "http://localhost:1/x"}, {"code_challenge_method": "plain"}]
)
def test_a_request_of_nobody_who_is_known_leads_nowhere(web: httpx2.Client, wrong: dict[str, str]) -> None:
    assert web.get(page_of(**wrong)).status_code == 400


def test_a_foreign_host_header_is_refused(web: httpx2.Client) -> None:
    assert web.get("/jwks.json", headers={"Host": "rebound.example"}).status_code == 400


def test_mint_signs_any_claims(login: LocalLogin) -> None:
    token = login.mint("uma", audience="https://x", expires_in=60, scope="a b")
    found = claims(login, token, "https://x")
    assert (found["sub"], found["scope"], found["exp"] - found["iat"]) == ("uma", "a b", 60)


def test_a_login_on_a_bridge_has_the_bridges_address_as_its_name() -> None:
    bridge = "127.0.0.2"  # Linux has all of 127.0.0.0/8
    with LocalLogin([ADA], audience=AUDIENCE, host=bridge) as login, httpx2.Client(base_url=login.issuer) as web:
        assert urlsplit(login.issuer).hostname == bridge
        told = web.get("/.well-known/openid-configuration").json()
        assert (told["issuer"], told["token_endpoint"]) == (login.issuer, f"{login.issuer}/token")
        assert claims(login, login.mint("ada"))["iss"] == login.issuer


def test_a_state_keeps_the_issuer_and_its_key(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state, LocalLogin([ADA], audience=AUDIENCE, state=state) as login:
        issuer, token = login.issuer, login.mint("ada")
    with opened_state(tmp_path / "state") as state, LocalLogin([ADA], audience=AUDIENCE, state=state) as login:
        assert login.issuer == issuer
        assert claims(login, token)["sub"] == "ada"
        with opened_state(tmp_path / "other") as other:
            other.put("login", "port", issuer.rpartition(":")[2].encode())
            with pytest.raises(PortInUse):
                LocalLogin([ADA], audience=AUDIENCE, state=other).__enter__()


def test_an_issuer_takes_the_port_that_it_is_given_if_it_is_free(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as taken, opened_state(tmp_path / "state") as state:
        port = taken.getsockname()[1]
        with LocalLogin([ADA], audience=AUDIENCE, state=state, port=port) as login:
            assert login.issuer != f"http://127.0.0.1:{port}"
        assert state.get("login", "port") == login.issuer.rpartition(":")[2].encode()
    with LocalLogin([ADA], audience=AUDIENCE, port=port) as login:
        assert login.issuer == f"http://127.0.0.1:{port}"
