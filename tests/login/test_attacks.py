"""The login attacked: other browsers and sites, redirects, codes of other issuers, forged tokens, clients that lie."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import botocore.endpoint
import jwt
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric import ec
from moto.core.botocore_stubber import MockRawResponse

from infra.local.login import LocalLogin
from login import clients, signing
from mcpist import settings
from mcpist.aws import clients as aws_clients
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError
from mcpist.people import client_logins
from mcpist.people.identity import verify_token
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.core.loopback import Service, json_response, serving
from tests.login.conftest import LOOPBACK, REDIRECT, Program, Visitor, query, register, tokens_of, verified

type Door = Callable[..., dict[str, Any]]


# -- browsers and sites --------------------------------------------------------------------------------


def test_a_login_goes_on_only_in_the_browser_that_began_it(door: Door, program: Program, uma: Visitor) -> None:
    back = uma.to_issuer(program.page())
    victim = Visitor(door, "ada", dict(uma.cookies) | {"__Host-mcpist-browser": "v" * 43})
    assert victim.open(back)["statusCode"] == 400
    assert Visitor(door, "ada").open(back)["statusCode"] == 400
    assert uma.open(back)["statusCode"] == 200


def test_an_answer_of_the_issuer_is_taken_once(program: Program, uma: Visitor, login: LocalLogin) -> None:
    page = uma.open(program.page())["headers"]["location"]
    asked, uma.sub = uma.open(uma.choose(page)), "ada"
    # Another code of the issuer for the same login: nobody takes the place of who was asked.
    assert uma.open(uma.choose(page))["statusCode"] == 400
    tokens = program.redeem(query(uma.decide(asked))["code"])
    assert verified(tokens).subject == Subject(login.issuer, "uma")
    assert uma.decide(asked)["statusCode"] == 400


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", f"{PUBLIC_URL}.evil.example"])
def test_a_decision_comes_from_our_own_page(program: Program, uma: Visitor, origin: str) -> None:
    asked = uma.log_in(program.page())
    assert uma.decide(asked, origin=origin)["statusCode"] == 400
    assert "code" in query(uma.decide(asked))


def test_a_decision_before_the_issuer_has_answered_is_refused(door: Door, program: Program, uma: Visitor) -> None:
    state = query(uma.open(program.page()))["state"]
    cookie = "; ".join(f"{name}={value}" for name, value in uma.cookies.items())
    form = {"login": state, "decision": "allow"}
    assert door("POST", "/login/consent", form=form, origin=PUBLIC_URL, cookie=cookie)["statusCode"] == 400


def test_the_question_cannot_be_framed_and_leads_only_to_the_client(program: Program, uma: Visitor) -> None:
    headers = uma.log_in(program.page())["headers"]
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://client.example;" in policy
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    assert "script" not in policy.replace("default-src 'none'", "")


def test_what_a_client_calls_itself_is_text(door: Door, uma: Visitor) -> None:
    name = '<img src=x onerror=alert(1)> "MCPist\u202eadmin'
    page = uma.log_in(Program(door, register(door, client_name=name)["client_id"]).page())["body"]
    assert "<img" not in page
    assert "\u202e" not in page


def test_another_issuers_answer_is_refused(program: Program, uma: Visitor) -> None:
    back = uma.to_issuer(program.page())
    mixed = back.partition("&iss=")[0] + "&iss=" + quote("https://evil.example", safe="")
    assert uma.open(mixed)["statusCode"] == 401
    assert uma.open(back.partition("&iss=")[0])["statusCode"] == 401, "an issuer that names itself does so always"


@pytest.mark.parametrize("claim", ["nonce", "aud", "iss", "exp", "key"])
def test_an_id_token_of_another_login_is_refused(
    program: Program, uma: Visitor, login: LocalLogin, monkeypatch: pytest.MonkeyPatch, claim: str
) -> None:
    sign = LocalLogin._sign
    wrong = {"nonce": "other", "aud": "another-client", "iss": "https://evil.example", "exp": 1}

    def signing_wrongly(self: LocalLogin, claims: dict[str, Any], kind: str, *more: Any) -> str:
        if kind != "JWT":
            return sign(self, claims, kind, *more)
        if claim == "key":
            return jwt.encode({**claims, "iss": login.issuer, "exp": 9e9}, "k" * 32, "HS256", {"kid": login._key_id})
        return sign(self, {**claims, claim: wrong[claim]}, kind, *more)

    monkeypatch.setattr(LocalLogin, "_sign", signing_wrongly)
    assert uma.log_in(program.page())["statusCode"] == 401


# -- requests of clients -------------------------------------------------------------------------------

TRICKS = [
    f"{REDIRECT}/../evil",
    f"{REDIRECT}?next=https://evil.example",
    f"{REDIRECT}#fragment",
    "https://client.example@evil.example/callback",
    "https://client.example.evil.example/callback",
    "https://CLIENT.example/callback",
    "https://client.example:444/callback",
    "http://client.example/callback",
    "http://127.0.0.1.evil.example:4711/callback",
    "http://127.0.0.1:4711@evil.example/callback",
    "http://127.0.0.1:4711/other",
    "https://127.0.0.1:4711/callback",
    "http://localhost:4711/callback",
    "http://[::1/callback",
    "javascript:alert(1)",
    '"><script>alert(1)</script>',
    "\u00e9",
    "",
]


@pytest.mark.parametrize("redirect", TRICKS)
def test_answers_go_to_no_other_address_than_a_client_has(program: Program, uma: Visitor, redirect: str) -> None:
    shown = uma.open(f"{program.page(redirect_uri='')}&{urlencode({'redirect_uri': redirect})}")
    assert (shown["statusCode"], "location" in shown["headers"]) == (400, False)
    assert "<script>alert" not in shown["body"]


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": ""},
        {"code_challenge_method": ""},
        {"code_challenge_method": "plain"},
        {"code_challenge": "short"},
        {"response_type": "token"},
        {"response_type": ""},
    ],
)
def test_a_wrong_request_of_a_known_client_is_told_to_the_client(
    program: Program, uma: Visitor, changes: dict[str, str]
) -> None:
    answer = query(uma.open(replace(program, redirect_uri=LOOPBACK).page(**changes)))
    assert answer["error"] in {"invalid_request", "unsupported_response_type"}
    assert (answer["state"], answer["iss"]) == ("s-1", PUBLIC_URL)
    # No link to us leads a person to another host before they have agreed to it.
    shown = uma.open(program.page(**changes))
    assert shown["statusCode"] == 400
    assert "location" not in shown["headers"]
    assert "token" not in shown["body"], "no text of a link is shown as ours"


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "response_type", "code_challenge"])
def test_a_parameter_that_is_there_twice_is_refused(program: Program, uma: Visitor, name: str) -> None:
    answer = uma.open(f"{program.page()}&{name}=x")
    assert answer["statusCode"] == 400 or query(answer)["error"] == "invalid_request"


@pytest.mark.parametrize(
    "client_id", ["", "unknown", "https://", "https://[::1", "https://x", "http://evil.example/c", "a" * 5_000]
)
def test_an_unknown_client_leads_nowhere(program: Program, uma: Visitor, client_id: str) -> None:
    assert uma.open(program.page(client_id=client_id))["statusCode"] == 400


def test_a_state_comes_back_as_it_was(program: Program, uma: Visitor) -> None:
    state = 'a b&c=d%20"<é>\n'
    assert query(uma.decide(uma.log_in(program.page(state=state))))["state"] == state


@pytest.mark.parametrize("content", ["", "x" * 30_000, "a=b&" * 100, "grant_type=password&username=a", "\u00e9"])
def test_a_token_request_that_makes_no_sense_is_refused(door: Door, content: str) -> None:
    answer = door("POST", "/login/token", content=content)
    assert answer["statusCode"] in {400, 413}
    assert json.loads(answer["body"])["error"]


# -- tokens --------------------------------------------------------------------------------------------


def forged(claims: dict[str, Any], key: Any, algorithm: str) -> str:
    return jwt.encode(claims, key, algorithm, {"kid": client_logins.key_ids()[0], "typ": "at+jwt"})


def test_a_token_that_the_key_has_not_signed_is_refused(program: Program, uma: Visitor) -> None:
    token = tokens_of(program, uma)["access_token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    other = forged({**claims, "sub": "ada"}, "k" * 32, "HS256").split(".")
    public = client_logins.published_keys()["keys"][0]["x"]
    forgeries = [
        forged({**claims, "sub": "ada"}, ec.generate_private_key(ec.SECP256R1()), "ES256"),
        forged({**claims, "sub": "ada"}, public, "HS256"),
        forged({**claims, "sub": "ada"}, None, "none"),
        ".".join([token.split(".")[0], other[1], token.split(".")[2]]),
    ]
    for forgery in forgeries:
        with pytest.raises(AuthenticationError):
            verify_token(forgery, AUDIENCE)


def test_the_issuer_cannot_speak_for_another_issuer(login: LocalLogin, door: Door) -> None:
    assert door
    token = login.mint("mallory", audience=AUDIENCE, idp="https://other.example", sid="x")
    assert verify_token(token, AUDIENCE).subject.issuer == login.issuer
    with pytest.raises(AuthenticationError):
        verify_token(login.mint("ada", audience=AUDIENCE, iss=PUBLIC_URL), AUDIENCE)


@pytest.mark.parametrize("gone", ["sid", "idp", "aud", "exp"])
def test_a_token_of_ours_without_what_it_is_bound_to_is_refused(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    sign = signing._sign
    monkeypatch.setattr(signing, "_sign", lambda claims: sign({k: v for k, v in claims.items() if k != gone}))
    with pytest.raises(AuthenticationError):
        verified(tokens_of(program, uma))


def test_while_nothing_can_be_signed_the_client_may_try_again(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, usual = tokens_of(program, uma), signing.client

    def refusing(_: str) -> Any:
        error = {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}
        raise ClientError(error, "Sign")

    monkeypatch.setattr(signing, "client", refusing)
    failed = program.refresh(tokens["refresh_token"])
    assert (failed["status"], failed["error"]) == (503, "temporarily_unavailable")
    monkeypatch.setattr(signing, "client", usual)
    assert verified(program.refresh(tokens["refresh_token"]))


def test_a_throttled_key_is_asked_a_few_times_alone(
    program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, asked = tokens_of(program, uma), list[str]()
    body = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}).encode()

    def refuse(request: Any, **_: Any) -> AWSResponse:
        asked.append(request.url)
        return AWSResponse(request.url, 400, {}, MockRawResponse(body))

    events = signing.client("kms").meta.events
    events.register_first("before-send.kms.Sign", refuse)
    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda _: None)
    try:
        failed = program.refresh(tokens["refresh_token"])
    finally:
        events.unregister("before-send.kms.Sign", refuse)
    assert (failed["status"], failed["error"]) == (503, "temporarily_unavailable")
    assert 1 < len(asked) <= aws_clients.MAX_ATTEMPTS


def test_no_secret_is_logged(
    program: Program, uma: Visitor, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        code = query(uma.decide(uma.log_in(program.page())))["code"]
        tokens = program.redeem(code)
        program.refresh(tokens["refresh_token"])
    out = capsys.readouterr()
    said = caplog.text + out.out + out.err
    cookie = uma.cookies["__Host-mcpist-browser"]
    for secret in (code, tokens["access_token"], tokens["refresh_token"], program.verifier, cookie):
        assert secret not in said


# -- clients that register or describe themselves -----------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    [
        *("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://client.example/cb", "cursor"),
        *("https://user@client.example/cb", "https://client.example/cb#x", "https://client.example/c b", "https:///cb"),
        *("https://client.example/" + "x" * 1_000, "https://[::1/cb", "https://client.example/\u202e", 7, None),
    ],
)
def test_no_client_registers_an_address_that_is_not_safe(door: Door, uri: Any) -> None:
    answer = register(door, redirect_uris=[REDIRECT, uri])
    assert (answer["status"], answer["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uris": []},
        {"redirect_uris": "x"},
        {"redirect_uris": [REDIRECT] * 21},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": 7},
        {"jwks": "x"},
        {"jwks": {}},
        {"client_uri": "nothing"},
    ],
)
def test_a_registration_that_makes_no_sense_is_refused(door: Door, changes: dict[str, Any]) -> None:
    assert register(door, **changes)["status"] == 400


@pytest.mark.parametrize("content", ["", "[]", "x", "[" * 10_000, '"' + "x" * 30_000 + '"'])
def test_what_is_no_registration_is_refused(door: Door, content: str) -> None:
    assert door("POST", "/login/register", content=content)["statusCode"] in {400, 413}


def test_a_client_that_nobody_uses_expires(
    door: Door, program: Program, uma: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused = Program(door, register(door)["client_id"])
    tokens_of(program, uma)
    now = clients.time.time()
    monkeypatch.setattr(clients.time, "time", lambda: now + clients.UNUSED_SECONDS + 1)
    assert clients.find(unused.client_id) is None
    assert clients.find(program.client_id)


@pytest.fixture
def home(door: Door) -> Iterator[Service]:
    """The host of a client that describes itself."""
    assert door
    with serving() as service:
        yield service


def described(service: Service, **changes: Any) -> dict[str, Any]:
    usual = {"client_id": f"{service.url}/client.json", "client_name": "Editor", "redirect_uris": [REDIRECT, LOOPBACK]}
    return {name: value for name, value in (usual | changes).items() if value is not None}


def test_a_client_is_what_its_own_document_says(home: Service, door: Door, uma: Visitor) -> None:
    home.replies = [json_response(described(home))]
    program = Program(door, f"{home.url}/client.json")
    page = uma.log_in(program.page())
    assert "Let Editor act for you?" in page["body"]
    assert "127.0.0.1" in page["body"]
    assert verified(program.redeem(query(uma.decide(page))["code"])).client_id == program.client_id
    assert len(home.received) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "https://claude.ai/client.json"},
        {"client_id": None},
        {"redirect_uris": None},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"client_name": "x" * 50_000},
    ],
)
def test_a_document_that_lies_or_is_huge_describes_nobody(
    home: Service, door: Door, uma: Visitor, changes: dict[str, Any]
) -> None:
    home.replies = [json_response(described(home, **changes))]
    assert uma.open(Program(door, f"{home.url}/client.json").page())["statusCode"] == 400


@pytest.mark.parametrize("status", [301, 404, 500])
def test_a_document_is_read_at_its_own_address_alone(home: Service, door: Door, uma: Visitor, status: int) -> None:
    answer = json_response(described(home), status=status)
    answer.headers["location"] = f"{home.url}/elsewhere.json"
    home.replies = [answer]
    assert uma.open(Program(door, f"{home.url}/client.json").page())["statusCode"] == 400
    assert len(home.received) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("https://169.254.169.254/latest", "https://10.0.0.1/c", "https://[::1]/c", "https://localhost/c"),
        *("https://user:secret@client.example/c", "https://client.example/", "https://client.example/c#x"),
    ],
)
def test_no_document_is_read_from_inside(door: Door, uma: Visitor, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_SERVICES", "off")
    monkeypatch.setenv("ISSUER", "https://login.example.com")
    aws_clients.session.cache_clear()
    settings.settings.cache_clear()
    assert clients.find(url) is None
    assert door
    assert uma


def test_a_person_sees_that_a_programs_description_cannot_be_read(home: Service, door: Door, uma: Visitor) -> None:
    home.replies = [json_response({}, status=503)]
    page = uma.open(Program(door, f"{home.url}/client.json").page())
    assert (page["statusCode"], "cannot read a valid description" in page["body"]) == (400, True)
    assert f"{home.url}/client.json" in page["body"]
    assert "cannot read" not in uma.open(Program(door, "nobody").page())["body"]


def test_a_client_whose_document_changed_is_checked_anew(home: Service, door: Door, uma: Visitor) -> None:
    home.replies = [json_response(described(home)), json_response(described(home, redirect_uris=[f"{REDIRECT}/new"]))]
    program = Program(door, f"{home.url}/client.json")
    back = uma.to_issuer(program.page())
    clients.documents.clear()
    assert uma.open(back)["statusCode"] == 400
