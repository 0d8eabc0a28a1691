"""A person logs in for a client: what each of them gets, and what nobody gets."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.local.login import LocalLogin
from login import tokens as login_tokens
from login.handler import handler
from login.metadata import METADATA_PATHS, describe
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError
from mcpist.http import bearer
from mcpist.http.request import HttpRequest
from mcpist.people import client_logins
from mcpist.settings import settings
from tests.clock import Clock
from tests.conftest import AUDIENCE, PUBLIC_URL, TEMPLATE
from tests.login.conftest import LOOPBACK, REDIRECT, Context, Program, Visitor, query, register, tokens_of, verified
from token_broker.message import Status
from token_broker.proof import authenticate

type Door = Callable[..., dict[str, Any]]


def test_a_client_that_knows_nothing_but_the_address_acts_for_a_person(
    program: Program, uma: Visitor, login: LocalLogin
) -> None:
    asked = uma.log_in(program.page())
    assert "Let Claude act for you?" in asked["body"]
    assert all(text in asked["body"] for text in ("uma@example.com", "acme", "https://client.example", "only itself"))
    answer = uma.decide(asked)
    assert answer["headers"]["location"].startswith(f"{REDIRECT}?")
    assert {name: value for name, value in query(answer).items() if name != "code"} == {
        "state": "s-1",
        "iss": PUBLIC_URL,
    }
    tokens = program.redeem(query(answer)["code"])
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 600, "mcp")
    known = verified(tokens)
    assert (known.subject, known.client_id) == (Subject(login.issuer, "uma"), program.client_id)
    (shown,) = client_logins.find(known.subject)
    assert (shown.client_name, shown.redirect_uri) == ("Claude", REDIRECT)


@pytest.mark.parametrize("path", METADATA_PATHS)
def test_the_metadata_has_all_that_clients_need(door: Door, path: str) -> None:
    answer = door("GET", path)
    found = json.loads(answer["body"])
    assert answer["headers"]["access-control-allow-origin"] == "*"
    assert (found["issuer"], found["code_challenge_methods_supported"]) == (PUBLIC_URL, ["S256"])
    places = [found[name] for name in found if name.endswith("_endpoint") or name == "jwks_uri"]
    assert all(place.startswith(f"{PUBLIC_URL}/login/") for place in places)
    (key,) = json.loads(door("GET", "/login/jwks.json")["body"])["keys"]
    assert (key["kty"], key["alg"], set(key) & {"d", "k"}) == ("EC", "ES256", set())


@pytest.mark.parametrize(("local", "announced"), [("on", False), ("off", True)])
def test_a_stack_on_one_machine_has_clients_register_since_it_may_reach_no_document(
    local: str, announced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_SERVICES", local)
    settings.cache_clear()
    assert describe(PUBLIC_URL)["client_id_metadata_document_supported"] is announced
    settings.cache_clear()


@pytest.mark.usefixtures("door")
def test_a_request_as_api_gateway_sends_it_is_answered() -> None:
    event = json.loads((TEMPLATE.parent / "events/login_metadata.json").read_text("utf-8"))
    answer = handler(event, Context())
    assert (answer["statusCode"], json.loads(answer["body"])["issuer"]) == (200, PUBLIC_URL)


def test_a_page_of_another_origin_may_log_in_as_a_client(door: Door) -> None:
    answer = door("OPTIONS", "/login/token", origin="https://inspector.example")
    assert (answer["statusCode"], answer["headers"]["access-control-allow-origin"]) == (204, "*")
    assert "access-control-allow-origin" not in door("GET", "/login/callback?state=x")["headers"]


def test_other_paths_and_methods_are_refused(door: Door) -> None:
    assert door("GET", "/login/other")["statusCode"] == 404
    refused = door("GET", "/login/token")
    assert (refused["statusCode"], json.loads(refused["body"])["error"]) == (405, "invalid_request")


def test_a_login_adds_two_redirects_and_one_page_and_no_page_the_next_time(
    door: Door, program: Program, uma: Visitor
) -> None:
    for pages in (1, 0):
        answers = [uma.open(program.page())]
        answers.append(uma.open(uma.choose(answers[0]["headers"]["location"])))
        if pages:
            answers.append(uma.decide(answers[-1]))
        assert query(answers[-1])["code"]
        assert [answer["statusCode"] for answer in answers] == [303, *[200] * pages, 303]
    assert door


def test_a_person_may_refuse(program: Program, uma: Visitor) -> None:
    answer = query(uma.decide(uma.log_in(program.page()), "refuse"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "s-1", PUBLIC_URL)


def test_a_person_who_refuses_at_the_issuer_has_refused(program: Program, uma: Visitor) -> None:
    sent = uma.open(program.page())
    state = query(sent)["state"]
    answer = uma.open(f"/login/callback?error=access_denied&state={state}&iss={query_issuer(sent)}")
    assert query(answer)["error"] == "access_denied"


def query_issuer(sent: dict[str, Any]) -> str:
    return str(sent["headers"]["location"]).partition("/authorize")[0]


def test_who_has_agreed_is_not_asked_again_for_the_same_client_and_address(
    door: Door, program: Program, uma: Visitor, ada: Visitor
) -> None:
    tokens_of(program, uma)
    assert "code" in query(uma.log_in(program.page()))
    assert uma.log_in(program.page(redirect_uri=LOOPBACK))["statusCode"] == 200
    assert uma.log_in(Program(door, register(door)["client_id"]).page())["statusCode"] == 200
    assert ada.log_in(program.page())["statusCode"] == 200


def test_a_program_on_loopback_is_asked_about_each_time_and_takes_any_port(program: Program, uma: Visitor) -> None:
    program.redirect_uri = "http://127.0.0.1:50001/callback"
    for _ in range(2):
        asked = uma.log_in(program.page())
        assert "a program on this computer" in asked["body"]
        answer = uma.decide(asked)
        assert answer["headers"]["location"].startswith(program.redirect_uri)
        assert verified(program.redeem(query(answer)["code"]))


def test_a_client_that_registers_with_a_secret_must_prove_it(door: Door, uma: Visitor) -> None:
    made = register(door, token_endpoint_auth_method="client_secret_post")
    program = Program(door, made["client_id"])
    code = query(uma.decide(uma.log_in(program.page())))["code"]
    assert program.redeem(code)["error"] == "invalid_client"
    assert program.redeem(code, client_secret="guessed")["error"] == "invalid_client"
    assert verified(program.redeem(code, client_secret=made["client_secret"]))


def test_somebody_without_a_membership_gives_a_client_nothing(program: Program, eve: Visitor) -> None:
    answer = eve.log_in(program.page())
    assert (answer["statusCode"], "not a member yet" in answer["body"]) == (403, True)


def test_the_console_logs_in_without_a_question_and_also_who_is_no_member_yet(door: Door, eve: Visitor) -> None:
    console = Program(door, client_logins.CONSOLE_CLIENT, f"{PUBLIC_URL}/connect/login")
    answer = eve.log_in(console.page())
    tokens = console.redeem(query(answer)["code"])
    assert "refresh_token" not in tokens
    assert client_logins.find(verified(tokens).subject) == []


# -- codes ---------------------------------------------------------------------------------------------


def test_a_code_that_is_used_twice_ends_what_it_began(program: Program, uma: Visitor) -> None:
    code = query(uma.decide(uma.log_in(program.page())))["code"]
    tokens = program.redeem(code)
    assert verified(tokens)
    assert program.redeem(code)["error"] == "invalid_grant"
    client_logins.live_logins.clear()
    with pytest.raises(AuthenticationError, match="ended"):
        verified(tokens)
    assert program.refresh(tokens["refresh_token"])["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "changes", [{"code_verifier": "w" * 64}, {"code_verifier": ""}, {"redirect_uri": f"{REDIRECT}2"}]
)
def test_a_code_is_good_for_its_request_alone(program: Program, uma: Visitor, changes: dict[str, str]) -> None:
    code = query(uma.decide(uma.log_in(program.page())))["code"]
    assert program.redeem(code, **changes)["status"] == 400
    assert program.redeem(code)["error"] == "invalid_grant", "whoever guesses uses it up"


def test_a_code_is_good_for_its_client_alone(door: Door, program: Program, uma: Visitor) -> None:
    code = query(uma.decide(uma.log_in(program.page())))["code"]
    other = Program(door, register(door)["client_id"], verifier=program.verifier)
    assert other.redeem(code)["error"] == "invalid_grant"


def test_a_code_ends_after_a_minute(program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    code = query(uma.decide(uma.log_in(program.page())))["code"]
    clock = Clock(login_tokens.time.time() + login_tokens.AUTHORIZATION_CODE_SECONDS + 1)
    monkeypatch.setattr(login_tokens.time, "time", clock)
    assert program.redeem(code)["error"] == "invalid_grant"


# -- refresh tokens ------------------------------------------------------------------------------------


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = login_tokens.time.time()
    monkeypatch.setattr(login_tokens.time, "time", lambda: now + seconds)


def test_a_refresh_token_is_replaced_by_the_next(program: Program, uma: Visitor) -> None:
    first = tokens_of(program, uma)
    second = program.refresh(first["refresh_token"])
    third = program.refresh(second["refresh_token"])
    assert len({first["refresh_token"], second["refresh_token"], third["refresh_token"]}) == 3
    assert verified(third).subject == verified(first).subject


def test_a_client_whose_answer_got_lost_gets_the_same_successor(program: Program, uma: Visitor) -> None:
    first = tokens_of(program, uma)
    second, again = program.refresh(first["refresh_token"]), program.refresh(first["refresh_token"])
    assert second["refresh_token"] == again["refresh_token"]


def test_a_thief_of_a_refresh_token_and_its_owner_both_lose_it(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stolen = tokens_of(program, uma)["refresh_token"]
    fresh = program.refresh(stolen)
    later(monkeypatch, login_tokens.REPEAT_SECONDS + 1)
    assert program.refresh(stolen)["error"] == "invalid_grant"
    client_logins.live_logins.clear()
    assert program.refresh(fresh["refresh_token"])["error"] == "invalid_grant"
    with pytest.raises(AuthenticationError):
        verified(fresh)


def test_a_refresh_token_is_good_for_its_client_alone(door: Door, program: Program, uma: Visitor) -> None:
    token = tokens_of(program, uma)["refresh_token"]
    assert Program(door, register(door)["client_id"]).refresh(token)["error"] == "invalid_grant"


@pytest.mark.parametrize("token", ["", "x", "x.y.z", "aHR0cHM6Ly94CnVtYQ.0.1", "ÿ.1.2"])
def test_what_is_no_refresh_token_is_refused(program: Program, token: str) -> None:
    assert program.refresh(token)["status"] == 400


def test_a_login_that_nobody_uses_ends_after_a_month(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tokens_of(program, uma)["refresh_token"]
    later(monkeypatch, login_tokens.LOGIN_SECONDS + 1)
    assert program.refresh(token)["error"] == "invalid_grant"


@pytest.mark.parametrize("kind", ["refresh_token", "access_token"])
def test_a_client_that_revokes_a_token_is_refused_at_every_door(
    door: Door, program: Program, uma: Visitor, kind: str
) -> None:
    tokens = tokens_of(program, uma)
    stranger = {"token": tokens[kind], "client_id": register(door)["client_id"]}
    assert door("POST", "/login/revoke", form=stranger)["statusCode"] == 400
    assert verified(tokens)
    assert door("POST", "/login/revoke", form={**stranger, "client_id": program.client_id})["statusCode"] == 200
    with pytest.raises(AuthenticationError):
        verified(tokens)
    assert program.refresh(tokens["refresh_token"])["error"] == "invalid_grant"


def test_a_person_ends_a_clients_access(program: Program, uma: Visitor) -> None:
    tokens = tokens_of(program, uma)
    subject = verified(tokens).subject
    client_logins.end(subject, client_logins.find(subject)[0].id)
    with pytest.raises(AuthenticationError):
        verified(tokens)
    assert client_logins.find(subject) == []
    assert client_logins.LIVE_CACHE_SECONDS <= 5


def test_a_client_that_was_ended_elsewhere_is_refused_at_every_door_after_five_seconds(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, clock = tokens_of(program, uma)["access_token"], Clock()
    monkeypatch.setattr(client_logins.live_logins, "clock", clock)
    request = HttpRequest({"headers": {"authorization": f"Bearer {token}", "host": "mcp.example.com"}})
    message = {
        "operation": "status",
        "proof": {"kind": "jwt", "value": token},
        "organization": "acme",
        "services": [],
        "roles": [],
    }
    doors: list[Callable[[], Any]] = [
        lambda: bearer.authorize(request),  # the endpoint, REST
        lambda: bearer.memberships(request),
        lambda: bearer.verify(token, PUBLIC_URL),  # the console
        lambda: authenticate(Status.model_validate(message)),  # the broker
    ]
    for door in doors:
        door()
    subject = verified({"access_token": token}).subject
    (login,) = client_logins.find(subject)
    # As in another sandbox, which has nothing to forget here.
    client_logins.logins_table().delete(client_logins.person_key(subject), f"{client_logins.CLIENT_PREFIX}{login.id}")
    clock.advance(5)
    for door in doors:
        with pytest.raises(AuthenticationError, match="ended"):
            door()


def test_tokens_are_for_the_endpoint_alone(program: Program, uma: Visitor) -> None:
    program = replace(program, redirect_uri=LOOPBACK)
    refused = uma.open(program.page(resource="https://elsewhere.example/mcp"))
    assert query(refused)["error"] == "invalid_target"
    assert uma.open(program.page(resource=f"{AUDIENCE}/acme/readonly"))["statusCode"] == 303
    assert uma.open(program.page(resource=f"{AUDIENCE}.evil.example"))["statusCode"] == 303
    assert query(uma.open(program.page(resource=f"{AUDIENCE}.evil.example")))["error"] == "invalid_target"


def test_the_console_alone_is_told_a_persons_address_if_the_issuer_verified_it(
    door: Door, program: Program, ada: Visitor, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Program(door, client_logins.CONSOLE_CLIENT, f"{PUBLIC_URL}/connect/login")
    assert verified(tokens_of(console, ada)).email == "ada@example.com"
    assert verified(tokens_of(program, uma)).email == ""
    sign = LocalLogin._sign
    unverified = {"email_verified": False}
    monkeypatch.setattr(LocalLogin, "_sign", lambda self, claims, *more: sign(self, claims | unverified, *more))
    assert verified(tokens_of(console, ada)).email == ""
