"""The broker's surroundings: AWS on moto, an issuer on loopback, and two organizations with their people."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import SecretStr

from infra.local.login import LocalLogin
from infra.local.template import Template, read_template
from mcpist import settings
from mcpist.caller import Role, Subject
from mcpist.memory import forget_entries
from mcpist.people import browsers
from mcpist.telemetry import invocation
from mcpist_services import provider_name
from tests import members
from tests.core.loopback import Service, serving
from tests.mocked_aws import make_once, mocked_aws
from tests.token_broker.authorization_server import AuthorizationServer
from tests.token_broker.provider_fakes import NAMES, FakeProvider, fake_provider
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, StoredGrant, Tokens
from token_broker.handler import DOOR, handler

if TYPE_CHECKING:
    from tests.token_broker.stack import BrokerStack

ROOT = Path(__file__).parents[2]
PUBLIC_URL = "https://mcp.example.com"
ACCESS, REFRESH = "ghu_personal_access_canary", "ghr_personal_refresh_canary"
FAR_FUTURE = 4102444800
PEOPLE = {"ada": "acme", "bob": "acme", "grace": "acme", "hal": "globex", "eve": ""}


@pytest.fixture
def under_way() -> Iterator[None]:
    """An invocation of the broker, for what is tested behind its door."""
    with invocation.begin("token_broker", DOOR.logger, "request-1"):
        yield


@dataclass
class Broker:
    """The door, and what stands behind it."""

    login: LocalLogin
    requests: list[str] = field(default_factory=list)

    def event(self, name: str, **changes: Any) -> dict[str, Any]:
        """One of events/token_broker_*.json, with real proofs in the place of their descriptions."""
        event = json.loads((ROOT / f"events/token_broker_{name}.json").read_text()) | changes
        return self.fill(event)

    def fill(self, event: dict[str, Any]) -> dict[str, Any]:
        if found := re.fullmatch(r"<secret kept for (\w+)>", event.get("sealed", "")):
            kept = self.ask("keep_secret", proof=self.jwt(found[1]), owner=event["owner"])
            event = event | {"sealed": kept["result"]["sealed"]}
        if "proof" not in event:
            return event
        proof = event["proof"]["value"]
        if found := re.fullmatch(r"<access token of (\w+)>", proof):
            proof = self.login.mint(found[1])
        elif found := re.fullmatch(r"<warrant of (\w+)>", proof):
            proof = self.ask("warrant", proof=self.jwt(found[1]))["result"]["warrant"]
        elif found := re.fullmatch(r"<permit of (\w+)>", proof):
            proof = self.ask("permit", proof=self.jwt(found[1]))["result"]["permit"]
        elif found := re.fullmatch(r"<session of (\w+)>", proof):
            proof = self.session(found[1])["value"]
        return event | {"proof": event["proof"] | {"value": proof}}

    def session(self, who: str) -> dict[str, str]:
        """The proof that a person's browser has after its login."""
        made = self.send({"operation": "login", "proof": self.jwt(who), "organization": PEOPLE[who]})["result"]
        subject = Subject(made["issuer"], made["sub"])
        browsers.sign_in(subject, made["id"], made["organization"], "a test", expires_at=made["ends_at"])
        return {"kind": "session", "value": made["session"]}

    def jwt(self, who: str, **claims: Any) -> dict[str, str]:
        return {"kind": "jwt", "value": self.login.mint(who, **claims)}

    def ask(self, name: str, **changes: Any) -> dict[str, Any]:
        """The door's answer to an event."""
        return self.send(self.event(name, **changes))

    def send(self, event: Any) -> dict[str, Any]:
        context = LambdaContext()
        context._aws_request_id = "request-1"
        answer: dict[str, Any] = json.loads(json.dumps(handler(event, context)))
        return answer

    def store(
        self,
        owner: str = "user#ada",
        service: str = "github",
        *,
        access_token: str = ACCESS,
        refresh_token: str | None = None,
        organization: str = "acme",
        replaces: int = 0,
        **account: Any,
    ) -> StoredGrant:
        """Keep a grant as the connect flow would; without a refresh token unless one is given."""
        tokens = Tokens(SecretStr(access_token), SecretStr(refresh_token) if refresh_token else None)
        about: dict[str, Any] = {"services": (service,), "account_id": "583231", "account_name": "octocat"}
        provider = provider_name(service)
        stored = GrantedAccount(**about | {"expires_at": FAR_FUTURE} | account)
        return grants.save(organization, provider, owner, account=stored, tokens=tokens, replaces=replaces)

    def reset_sandbox(self) -> None:
        """A new sandbox: nothing remembered, no request counted."""
        forget()
        self.requests.clear()

    def items(self, table: str = "mcpist-Grants") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = boto3.client("dynamodb").scan(TableName=table)["Items"]
        return items


def forget() -> None:
    """Read the settings again, and drop everything that is cached; the clients stay."""
    settings.settings.cache_clear()
    forget_entries()


@pytest.fixture(scope="module")
def loopback() -> Iterator[Service]:
    """A service that stands in every provider's place."""
    with serving() as service:
        yield service


@pytest.fixture
def fake_of(loopback: Service) -> Callable[[str], FakeProvider]:
    """A provider by its name, with its addresses moved to loopback."""
    return lambda name: fake_provider(name, loopback)


@pytest.fixture(params=NAMES)
def fake(request: pytest.FixtureRequest, fake_of: Callable[[str], FakeProvider]) -> FakeProvider:
    """Every provider in its turn."""
    return fake_of(request.param)


@pytest.fixture(scope="module")
def stack(authorization_server: AuthorizationServer) -> Iterator["BrokerStack"]:
    """AWS for several processes, with the authorization server as a provider."""
    from tests.token_broker.stack import running_stack

    authorization_server.reset()
    with running_stack(authorization_server) as stack:
        yield stack
    authorization_server.reset()


def error_of(answer: dict[str, Any]) -> str:
    """The type of the error that the door answered with."""
    assert "result" not in answer
    return str(answer["error"]["type"])


def populate(login: LocalLogin) -> None:
    build_once(login.issuer)
    for organization in ("acme", "globex"):
        members.put_organization(organization, name=organization.title())
        for role in ("engineering", "support"):
            members.put_role(organization, Role(role, modules=("github", "notion")))
    put_person(login, "ada", roles=["engineering", "support"])
    put_person(login, "bob", roles=["engineering"])
    put_person(login, "grace", roles=["engineering"], system_role="admin")
    put_person(login, "hal", roles=["engineering"])


def put_person(login: LocalLogin, who: str, **given: Any) -> None:
    members.put_user(PEOPLE[who], who, name=who.title(), subject=Subject(login.issuer, who), **given)


@pytest.fixture(scope="module")
def aws(login: LocalLogin) -> Iterator[list[str]]:
    """moto with the template's tables and key; the operations that are sent to it."""
    template = broker_template(login.issuer)
    environment = next(one for one in template.functions if one.id == "TokenBrokerFunction").environment
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in {**environment, "AWS_DEFAULT_REGION": "us-east-1"}.items():
            monkeypatch.setenv(name, value)
        with mocked_aws() as sent:
            monkeypatch.setenv("VAULT_KEY", build_once(login.issuer))
            yield sent


@cache
def broker_template(issuer: str) -> Template:
    return read_template(ROOT / "template.yaml", {"Issuer": issuer, "PublicUrl": PUBLIC_URL})


def build_once(issuer: str) -> str:
    """Make the broker's tables and its key, with nothing in them, and return the key's name."""
    return make_once("broker", lambda: build(broker_template(issuer)))


def build(template: Template) -> str:
    for table in template.tables:
        if table.id in {"Directory", "Grants", "Audit"}:
            boto3.client("dynamodb").create_table(TableName=table.name, **table.definition)
    key: str = boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
    return key


@pytest.fixture
def door(aws: list[str], login: LocalLogin) -> Broker:
    make_once(f"broker of {login.issuer}", lambda: populate(login))
    door = Broker(login, aws)
    door.reset_sandbox()
    return door
