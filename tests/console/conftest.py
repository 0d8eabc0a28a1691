"""Fixtures of the console: an issuer on loopback, and the real broker in place of its Lambda function."""

import base64
import gzip
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import boto3
import httpx2
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from console.handler import handler
from infra.local.login import Person
from mcpist import settings
from mcpist.audit import search as audit_search
from mcpist.aws import clients
from mcpist.memory import forget_entries
from mcpist_services import providers
from tests.conftest import AUDIENCE, PUBLIC_URL, TEMPLATE
from tests.core.loopback import Service, json_response, serving
from tests.full_issuer import FullIssuer
from tests.mocked_aws import make_once
from token_broker.handler import handler as broker

CLIENT = "connect"
EVENTS = TEMPLATE.parent / "events"
GITHUB_KEY = "github_pat_canary00000000000000"


class Context(LambdaContext):
    """The context of an invocation that may last as long as API Gateway waits."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 29_000


class Form(HTMLParser):
    """The first form of a page that has a field with a given value."""

    def __init__(self, page: str, having: str) -> None:
        super().__init__()
        self.fields: list[tuple[str, str]] = []
        self.action = ""
        self._open: tuple[str, list[tuple[str, str]]] | None = None
        self._having = having
        self._select = ""
        self.feed(page)
        assert self.action, f"no form has {having}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = given["action"], []
        elif tag == "button" and self._open and given.get("value") == self._having:
            self._open[1].append((given["name"], given["value"]))
        elif tag == "select" and self._open:
            self._select = given["name"]
        elif tag == "option" and self._open and (self._select not in dict(self._open[1]) or "selected" in given):
            self._open[1][:] = [
                *((n, v) for n, v in self._open[1] if n != self._select),
                (self._select, given["value"]),
            ]
        elif tag == "input" and self._open and (given["type"] not in {"radio", "checkbox"} or "checked" in given):
            self._open[1].append((given["name"], given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._open and not self.action and self._having in dict(self._open[1]).values():
            self.action, self.fields = self._open


@dataclass
class Browser:
    """A browser that keeps cookies; its requests are API Gateway's events."""

    login: FullIssuer
    cookies: dict[str, str] = field(default_factory=dict)
    language: str = "en-US,en;q=0.9"

    def get(self, path: str) -> dict[str, Any]:
        place = urlsplit(path)
        name = {"/connect": "overview", "/connect/login": "login"}.get(place.path, "service")
        if place.path.startswith("/connect/callback/"):
            name = "callback"
        elif place.path.startswith("/connect/clients/"):
            name = "client"
        elif place.path.startswith("/assets/"):
            name = "asset"
        elif place.path == "/":
            name = "home"
        elif "/" not in place.path[1:] and place.path != "/connect":
            name = "page"
        last = place.path.rpartition("/")[2]
        parameters = dict.fromkeys(("service", "provider", "page", "file"), last)
        return self.send(name, rawPath=place.path, query=place.query, parameters=parameters)

    def post(self, path: str, form: list[tuple[str, str]], **headers: str) -> dict[str, Any]:
        """Send a form with a valid token, unless it has one."""
        name = "confirm" if path == "/connect/confirm" else "begin" if path.startswith("/connect/") else "sign_out"
        token = [] if any(field == "csrf" for field, _ in form) else [("csrf", self.token())]
        body = base64.b64encode(urlencode([*form, *token]).encode()).decode()
        place = urlsplit(path)
        parameters = dict.fromkeys(("service", "page"), place.path.rpartition("/")[2])
        return self.send(name, rawPath=place.path, query=place.query, body=body, parameters=parameters, headers=headers)

    def submit(self, path: str, having: str, **changes: str) -> dict[str, Any]:
        """Send the form of a page that has a field or a button with a value, with some fields changed."""
        form = Form(self.get(path)["body"], having=having)
        return self.post(form.action, [(name, changes.get(name, value)) for name, value in form.fields])

    def submit_form(self, page: str, having: str) -> dict[str, Any]:
        """Send the form of a page that is shown, which has a field of this name."""
        for found in re.findall(r'<form method="post" action="(.*?)">(.*?)</form>', page, re.DOTALL):
            fields = re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', found[1], re.DOTALL)
            if having in dict(fields):
                plain = [(html.unescape(name), html.unescape(value)) for name, value in fields if name != "csrf"]
                return self.post(html.unescape(found[0]), plain)
        raise AssertionError(f"no form has {having}")

    def token(self) -> str:
        """Return the token of a form of this browser; empty if nobody is signed in."""
        found = re.search(r'name="csrf" value="(.*?)"', self.get("/profile")["body"])
        return found[1] if found else ""

    def send(self, name: str, **changes: Any) -> dict[str, Any]:
        """Send one of events/console_*.json with this browser's cookies and return the response."""
        event = json.loads((EVENTS / f"console_{name}.json").read_text("utf-8"))
        if "query" in changes:
            found = changes.pop("query")
            event |= {"rawQueryString": found, "queryStringParameters": {k: v[0] for k, v in parse_qs(found).items()}}
        parameters = changes.pop("parameters", None)
        if "pathParameters" in event and parameters:
            event["pathParameters"] = {name: parameters[name] for name in event["pathParameters"]}
        event["headers"] |= {"accept-language": self.language} | changes.pop("headers", {})
        event["headers"] = {name: value for name, value in event["headers"].items() if value}
        event["cookies"] = [f"{name}={value}" for name, value in self.cookies.items()]
        context = Context()
        context._aws_request_id = "request-1"
        answer: dict[str, Any] = json.loads(json.dumps(handler({**event, **changes}, context)))
        if answer["headers"].get("content-encoding") == "gzip":
            answer["body"] = gzip.decompress(base64.b64decode(answer["body"])).decode()
        for cookie in answer.get("cookies", ()):
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0]
            if "Max-Age=0" in cookie:
                del self.cookies[name]
        return answer

    def log_in(self, sub: str, path: str = "/connect") -> dict[str, Any]:
        """Log in at the issuer and return the requested page."""
        back = self.decide(self.get(path), sub=sub)
        target = self.get(back)["headers"]["location"]
        assert target.startswith(PUBLIC_URL)
        return self.get(target.removeprefix(PUBLIC_URL))

    def decide(self, sent: dict[str, Any], **answer: str) -> str:
        """Answer the issuer's page and return the path of the callback."""
        assert sent["statusCode"] == 303, sent["body"]
        with httpx2.Client() as web:
            page = web.get(sent["headers"]["location"]).headers["location"]
            request = parse_qs(urlsplit(page).query)["request"][0]
            landed = web.post(f"{self.login.issuer}/login", data={"request": request, **answer}).headers["location"]
        return str(landed.removeprefix(PUBLIC_URL))


@pytest.fixture
def messages(
    aws: list[str], organization: str, login: FullIssuer, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """The messages that the real broker receives."""
    assert organization == "acme"
    made = make_once(f"key beside {login.issuer}", lambda: boto3.client("kms").create_key())
    monkeypatch.setenv("VAULT_KEY", made["KeyMetadata"]["Arn"])
    monkeypatch.setenv("CONNECT_CLIENT_ID", CLIENT)
    monkeypatch.setenv("PUBLIC_URL", PUBLIC_URL)
    settings.settings.cache_clear()
    forget_entries()
    aws.clear()
    asked: list[dict[str, Any]] = []

    def invoke(params: dict[str, Any], **_: Any) -> Any:
        asked.append(json.loads(params["body"]))
        context = LambdaContext()
        context._aws_request_id = "request-2"
        payload = {"Payload": io.BytesIO(json.dumps(broker(asked[-1], context)).encode())}
        return type("Response", (), {"status_code": 200}), payload | {"ResponseMetadata": {"RequestId": "request-2"}}

    clients.session().register("before-call.lambda.Invoke", invoke)
    return asked


@pytest.fixture(scope="session")
def login() -> Iterator[FullIssuer]:
    """The issuer of the pages' logins."""
    people = [Person("ada", "Ada", "ada@example.com", "admin"), Person("uma", "Uma", "uma@example.com", "user")]
    people.append(Person("eve", "Eve", "eve@example.com", "nobody"))
    with FullIssuer(people, audience=AUDIENCE) as login:
        login.register(CLIENT, redirect_uri=f"{PUBLIC_URL}/connect/login")
        yield login


@pytest.fixture
def browser(messages: list[dict[str, Any]], login: FullIssuer) -> Browser:
    assert messages == []
    return Browser(login)


@pytest.fixture
def uma(browser: Browser, aws: list[str], messages: list[dict[str, Any]]) -> Browser:
    """A browser in which Uma is logged in."""
    sign_in(browser, "uma", aws)
    messages.clear()
    return browser


@pytest.fixture
def ada(browser: Browser, aws: list[str], messages: list[dict[str, Any]]) -> Browser:
    """A browser in which Ada, the administrator, is logged in."""
    sign_in(browser, "ada", aws)
    messages.clear()
    return browser


def sign_in(browser: Browser, sub: str, sent: list[str]) -> None:
    """Log in at the issuer, once in this process: other tests get the same session."""

    def log_in() -> dict[str, str]:
        browser.log_in(sub)
        return dict(browser.cookies)

    if sent:  # putting the stores back would undo what another fixture has stored
        browser.log_in(sub)
    else:
        browser.cookies |= make_once(f"session of {sub} at {browser.login.issuer}", log_in)
        browser.get("/profile")  # the sandbox knows the session, as after a login


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """GitHub's API on loopback."""
    with serving() as service:
        service.replies = [json_response({"id": 583231, "login": "octocat", "type": "User"})]
        github = replace(providers()["github"], account_url=f"{service.url}/user")
        monkeypatch.setitem(providers(), "github", github)
        yield service


def put_app(provider: str = "github", *, forget: bool = True, **parameter: str) -> None:
    """Set up our app at a provider; unless `forget`, sandboxes have what they read before."""
    value = json.dumps({"client_id": "Iv1.canary", "client_secret": "secret-canary", **parameter})
    name = f"{settings.settings().oauth_parameters}/{provider}"
    boto3.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString")
    if forget:
        forget_entries()


def audited(**filters: str) -> list[dict[str, Any]]:
    """Return the audit rows that filters admit, the newest first; a worker's sign-in may be as old as its run."""
    now = datetime.now(UTC)
    wanted = audit_search.Filters(**filters)
    found = audit_search.find("acme", since=now - timedelta(days=1), until=now + timedelta(minutes=1), filters=wanted)
    return list(found.rows)
