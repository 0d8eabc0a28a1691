"""Fixtures of the login: a real issuer on loopback, browsers that keep cookies, and clients that log people in."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import boto3
import httpx2
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from infra.local.login import LocalLogin, Person
from login.handler import handler
from mcpist import settings
from mcpist.memory import forget_entries
from mcpist.people.identity import AccessToken, verify_token
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.mocked_aws import make_once

LOGIN_CLIENT = "mcpist"
REDIRECT = "https://client.example/callback"
LOOPBACK = "http://127.0.0.1:4711/callback"


class Context(LambdaContext):
    _aws_request_id = "request-1"

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 29_000


@pytest.fixture(scope="session")
def login() -> Iterator[LocalLogin]:
    """The issuer that says who people are."""
    people = [Person(name, name.title(), f"{name}@example.com", "user") for name in ("ada", "uma", "eve")]
    with LocalLogin(people, audience=AUDIENCE) as made:
        made.register(LOGIN_CLIENT, redirect_uri=f"{PUBLIC_URL}/login/callback")
        yield made


@pytest.fixture(scope="session")
def login_client() -> str:
    return LOGIN_CLIENT


@pytest.fixture
def door(aws: list[str], organization: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """The function: takes a method and a path, and returns a response."""
    assert organization == "acme"
    made = make_once(
        "login key", lambda: boto3.client("kms").create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")
    )
    monkeypatch.setenv("LOGIN_KEYS", made["KeyMetadata"]["Arn"])
    settings.settings.cache_clear()
    forget_entries()
    aws.clear()
    return send


def send(
    method: str, url: str, *, form: dict[str, str] | None = None, content: str = "", **headers: str
) -> dict[str, Any]:
    place = urlsplit(url)
    body = urlencode(form) if form is not None else content
    event = {
        "version": "2.0",
        "rawPath": place.path,
        "rawQueryString": place.query,
        "queryStringParameters": {name: values[0] for name, values in parse_qs(place.query).items()},
        "headers": {"host": "mcp.example.com", **{name.replace("_", "-"): value for name, value in headers.items()}},
        "cookies": headers.pop("cookie", "").split("; ") if "cookie" in headers else [],
        "requestContext": {"http": {"method": method}, "requestId": "r-1", "domainName": "mcp.example.com"},
        "body": base64.b64encode(body.encode()).decode(),
        "isBase64Encoded": True,
    }
    answer: dict[str, Any] = json.loads(json.dumps(handler(event, Context())))
    return answer


@dataclass
class Visitor:
    """A person's browser."""

    door: Callable[..., dict[str, Any]]
    sub: str
    cookies: dict[str, str] = field(default_factory=dict)

    def open(self, url: str) -> dict[str, Any]:
        return self.kept(self.door("GET", url, cookie=self._cookie()))

    def to_issuer(self, url: str) -> str:
        """Begin a login, choose who to be at the issuer, and return where that leads."""
        sent = self.open(url)
        assert sent["statusCode"] == 303, sent["body"]
        return self.choose(sent["headers"]["location"])

    def choose(self, page: str) -> str:
        return str(httpx2.post(page, data={"sub": self.sub}).headers["location"])

    def log_in(self, url: str) -> dict[str, Any]:
        """Begin a login, be known to the issuer, and return our answer."""
        return self.open(self.to_issuer(url))

    def decide(self, page: dict[str, Any], decision: str = "allow", origin: str = PUBLIC_URL) -> dict[str, Any]:
        """Answer the question of a page."""
        handle = re.search(r'name="login" value="(.*?)"', page["body"])
        assert handle, page["body"]
        form = {"login": handle[1], "decision": decision}
        return self.kept(self.door("POST", "/login/consent", form=form, origin=origin, cookie=self._cookie()))

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def kept(self, answer: dict[str, Any]) -> dict[str, Any]:
        for cookie in answer.get("cookies", ()):
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return answer


@dataclass
class Program:
    """A client of the login."""

    door: Callable[..., dict[str, Any]]
    client_id: str
    redirect_uri: str = REDIRECT
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def page(self, **changes: str) -> str:
        """The address to which it leads a person; a change to an empty text leaves a parameter out."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "s-1",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": AUDIENCE,
        }
        return f"/login/authorize?{urlencode({n: v for n, v in (asked | changes).items() if v})}"

    def redeem(self, code: str, **changes: str) -> dict[str, Any]:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        return self.ask(**{**form, "code_verifier": self.verifier, **changes})

    def refresh(self, token: str, **changes: str) -> dict[str, Any]:
        return self.ask(**{"grant_type": "refresh_token", "refresh_token": token, **changes})

    def ask(self, **form: str) -> dict[str, Any]:
        answer = self.door("POST", "/login/token", form={"client_id": self.client_id, **form})
        return {"status": answer["statusCode"], **json.loads(answer["body"])}


@pytest.fixture
def uma(door: Callable[..., dict[str, Any]]) -> Visitor:
    return Visitor(door, "uma")


@pytest.fixture
def ada(door: Callable[..., dict[str, Any]]) -> Visitor:
    return Visitor(door, "ada")


@pytest.fixture
def eve(door: Callable[..., dict[str, Any]]) -> Visitor:
    """Somebody whom the issuer knows, and no organization."""
    return Visitor(door, "eve")


@pytest.fixture
def program(door: Callable[..., dict[str, Any]]) -> Program:
    """A client that has registered."""
    return Program(door, register(door)["client_id"])


def register(door: Callable[..., dict[str, Any]], **changes: Any) -> dict[str, Any]:
    described = {"client_name": "Claude", "redirect_uris": [REDIRECT, LOOPBACK], "token_endpoint_auth_method": "none"}
    answer = door("POST", "/login/register", content=json.dumps(described | changes))
    return {"status": answer["statusCode"], **json.loads(answer["body"])}


def query(answer: dict[str, Any]) -> dict[str, str]:
    """What a redirect says."""
    return dict(parse_qsl(urlsplit(answer["headers"]["location"]).query))


def tokens_of(program: Program, visitor: Visitor) -> dict[str, Any]:
    """Log a person in who agrees, and return the tokens."""
    answer = visitor.log_in(program.page())
    if answer["statusCode"] == 200:
        answer = visitor.decide(answer)
    return program.redeem(query(answer)["code"])


def verified(tokens: dict[str, Any]) -> AccessToken:
    return verify_token(tokens["access_token"], AUDIENCE)
