"""A whole login as a client does it, and what is refused."""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest

from infra.local.login import LocalLogin, Person
from infra.local.server import PortInUse, listen
from infra.local.state import opened_state
from tests.core.loopback import has_ipv6

AUDIENCE = "http://127.0.0.1:3000/mcp"
REDIRECT = "http://localhost:8787/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
ADA = Person("ada", "Ada <Admin>", "ada@example.com", "admin")


@pytest.fixture(scope="module")
def login() -> Iterator[LocalLogin]:
    with LocalLogin([ADA], audience=AUDIENCE, resources=["http://127.0.0.1:3000/mcp/acme"]) as made:
        yield made


@pytest.fixture
def web(login: LocalLogin) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=login.issuer) as client:
        yield client


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_localhost_is_answered_on_ipv6_too(login: LocalLogin) -> None:
    port = urlsplit(login.issuer).port
    answer = httpx2.get(f"http://[::1]:{port}/jwks.json", headers={"host": f"localhost:{port}"})
    assert answer.status_code == 200


def register(web: httpx2.Client, redirect: str = REDIRECT) -> httpx2.Response:
    body = {"redirect_uris": [redirect], "token_endpoint_auth_method": "none", "client_name": "Test <client>"}
    return web.post("/register", json=body)


def authorize(web: httpx2.Client, client_id: str, **more: str) -> httpx2.Response:
    parameters = {
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "s-1",
        **more,
    }
    return web.get("/authorize", params=parameters)


def choose(web: httpx2.Client, page: str, **form: str) -> dict[str, str]:
    request = parse_qs(urlsplit(page).query)["request"][0]
    answer = web.post("/login", data={"request": request, **form})
    assert answer.status_code == 303
    return query(answer.headers["location"])


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def exchange(web: httpx2.Client, client_id: str, **more: str) -> httpx2.Response:
    form = {"client_id": client_id, "redirect_uri": REDIRECT, "code_verifier": VERIFIER, **more}
    return web.post("/token", data={"grant_type": "authorization_code", **form})


def claims(login: LocalLogin, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
    key = jwt.PyJWKClient(f"{login.issuer}/jwks.json").get_signing_key_from_jwt(token)
    found: dict[str, Any] = jwt.decode(token, key, ["RS256"], audience=audience, issuer=login.issuer)
    return found


def test_a_client_registers_logs_in_and_refreshes(login: LocalLogin, web: httpx2.Client) -> None:
    client_id = register(web).json()["client_id"]
    page = authorize(web, client_id, scope="mcp", resource=AUDIENCE).headers["location"]
    shown = web.get(page)
    assert "Ada &lt;Admin&gt;" in shown.text
    assert "Test &lt;client&gt;" in shown.text
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    back = choose(web, page, sub="ada")
    assert (back["state"], back["iss"]) == ("s-1", login.issuer)
    tokens = exchange(web, client_id, code=back["code"]).json()
    found = claims(login, tokens["access_token"])
    assert (found["sub"], found["client_id"], found["scope"]) == ("ada", client_id, "mcp")
    assert jwt.get_unverified_header(tokens["access_token"])["typ"] == "at+jwt"
    again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": client_id}
    assert claims(login, web.post("/token", data=again).json()["access_token"])["sub"] == "ada"
    assert web.post("/token", data=again).json()["error"] == "invalid_grant"


def test_a_code_works_once_and_only_with_its_verifier(web: httpx2.Client) -> None:
    client_id = register(web).json()["client_id"]
    code = choose(web, authorize(web, client_id).headers["location"], sub="ada")["code"]
    assert exchange(web, client_id, code=code, code_verifier="w" * 64).json()["error"] == "invalid_grant"
    assert exchange(web, client_id, code=code).status_code == 200
    assert exchange(web, client_id, code=code).json()["error"] == "invalid_grant"


def test_another_clients_code_is_refused(web: httpx2.Client) -> None:
    mine, other = register(web).json()["client_id"], register(web).json()["client_id"]
    code = choose(web, authorize(web, mine).headers["location"], sub="ada")["code"]
    assert exchange(web, other, code=code).json()["error"] == "invalid_grant"


def test_a_person_may_deny(web: httpx2.Client) -> None:
    client_id = register(web).json()["client_id"]
    page = authorize(web, client_id).headers["location"]
    assert choose(web, page, deny="1")["error"] == "access_denied"
    assert web.get(page).status_code == 404


def test_a_one_time_link_answers_one_login(login: LocalLogin, web: httpx2.Client) -> None:
    client_id = register(web).json()["client_id"]
    link = login.one_time_link("ada", "http://127.0.0.1:3000/")
    opened = web.get(link)
    assert (opened.status_code, opened.headers["location"]) == (303, "http://127.0.0.1:3000/")
    page = authorize(web, client_id).headers["location"]
    landed = web.get(page)
    assert (landed.status_code, "code=" in landed.headers["location"]) == (303, True)
    assert web.get(link).status_code == 404
    assert web.get(authorize(web, client_id).headers["location"]).status_code == 200, "the next login asks again"


def test_an_unknown_person_cannot_be_chosen(web: httpx2.Client) -> None:
    page = authorize(web, register(web).json()["client_id"]).headers["location"]
    request = parse_qs(urlsplit(page).query)["request"][0]
    assert web.post("/login", data={"request": request, "sub": "mallory"}).status_code == 200


def test_the_audience_is_the_resource_that_was_asked_for(login: LocalLogin, web: httpx2.Client) -> None:
    client_id = register(web).json()["client_id"]
    page = authorize(web, client_id, resource=f"{AUDIENCE}/acme").headers["location"]
    token = exchange(web, client_id, code=choose(web, page, sub="ada")["code"]).json()["access_token"]
    assert claims(login, token, f"{AUDIENCE}/acme")["aud"] == f"{AUDIENCE}/acme"


def test_a_foreign_resource_is_refused(web: httpx2.Client) -> None:
    answer = authorize(web, register(web).json()["client_id"], resource="https://elsewhere.example/mcp")
    assert query(answer.headers["location"])["error"] == "invalid_target"


def test_an_unknown_redirect_is_refused_without_a_redirect(web: httpx2.Client) -> None:
    answer = authorize(web, register(web).json()["client_id"], redirect_uri="http://localhost:1/other")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("redirect", ["javascript:alert(1)", "http://evil.example/callback"])
def test_a_dangerous_redirect_cannot_be_registered(web: httpx2.Client, redirect: str) -> None:
    answer = register(web, redirect)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("path", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"])
def test_the_metadata_has_all_that_clients_need(login: LocalLogin, web: httpx2.Client, path: str) -> None:
    metadata = web.get(path).json()
    assert metadata["issuer"] == login.issuer
    assert metadata["jwks_uri"] == f"{login.issuer}/jwks.json"
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert "none" in metadata["token_endpoint_auth_methods_supported"]
    assert metadata["registration_endpoint"] == f"{login.issuer}/register"


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
        told = web.get("/.well-known/oauth-authorization-server").json()
        assert (told["issuer"], told["token_endpoint"]) == (login.issuer, f"{login.issuer}/token")
        client_id = register(web).json()["client_id"]
        page = authorize(web, client_id).headers["location"]
        assert page.startswith(f"{login.issuer}/login?")
        token = exchange(web, client_id, code=choose(web, page, sub="ada")["code"]).json()["access_token"]
        assert claims(login, token)["iss"] == login.issuer


def test_a_state_keeps_the_issuer_its_key_its_clients_and_their_logins(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state, LocalLogin([ADA], audience=AUDIENCE, state=state) as login:
        issuer, token = login.issuer, login.mint("ada")
        with httpx2.Client(base_url=issuer) as web:
            client_id = register(web).json()["client_id"]
            page = authorize(web, client_id, resource=AUDIENCE).headers["location"]
            first = exchange(web, client_id, code=choose(web, page, sub="ada")["code"]).json()
    with opened_state(tmp_path / "state") as state, LocalLogin([ADA], audience=AUDIENCE, state=state) as login:
        assert login.issuer == issuer
        assert claims(login, token)["sub"] == "ada"
        with httpx2.Client(base_url=issuer) as web:
            form = {"grant_type": "refresh_token", "client_id": client_id}
            renewed = web.post("/token", data={**form, "refresh_token": first["refresh_token"]}).json()
            assert claims(login, renewed["access_token"])["sub"] == "ada"
            assert web.post("/token", data={**form, "refresh_token": first["refresh_token"]}).status_code == 400
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
