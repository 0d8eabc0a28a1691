"""A consent that reaches several accounts, as one at Atlassian's sites: the person chooses one of them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from mcpist import settings
from mcpist_services import providers
from tests.core.loopback import Service, json_response, serving
from tests.token_broker.conftest import Broker, error_of
from token_broker.providers import apps

JIRA, CONFLUENCE = ["read:jira-work", "write:jira-work"], ["read:page:confluence"]


def site(id_: str, name: str, scopes: list[str]) -> dict[str, Any]:
    return {"id": id_, "name": name, "url": f"https://{name}.atlassian.net", "scopes": scopes}


ACME, WIKI, GLOBEX = site("a", "acme", JIRA), site("w", "wiki", CONFLUENCE), site("g", "globex", JIRA)
ASKED = {"operation": "resolve", "organization": "acme", "roles": ["engineering"], "service": "jira"}


@pytest.fixture
def atlassian(door: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Atlassian's addresses on loopback, and our app there."""
    assert door.items() == []
    monkeypatch.setenv("PUBLIC_URL", "https://mcp.example.com")
    settings.settings.cache_clear()
    name = f"{settings.settings().oauth_parameters}/atlassian"
    app = json.dumps({"client_id": "ours", "client_secret": "secret-canary"})
    boto3.client("ssm").put_parameter(Name=name, Value=app, Type="SecureString", Overwrite=True)
    apps.app_cache.clear()
    with serving() as service:
        urls = {"token_url": f"{service.url}/token", "account_url": f"{service.url}/sites"}
        monkeypatch.setitem(providers(), "atlassian", replace(providers()["atlassian"], **urls))
        yield service


class Person:
    """Ada, who connects Jira."""

    def __init__(self, door: Broker, atlassian: Service) -> None:
        self.door, self.atlassian = door, atlassian
        self.who = {"organization": "acme", "proof": door.session("ada")}

    def tell(self, operation: str, **fields: Any) -> dict[str, Any]:
        return self.door.send({"operation": operation, **self.who, **fields})

    def consent(self, *sites: dict[str, Any], services: tuple[str, ...] = ("jira",)) -> dict[str, Any]:
        begun = self.tell("begin", services=list(services))["result"]
        state = parse_qs(urlsplit(begun["url"]).query)["state"][0]
        scope = " ".join({*JIRA, *CONFLUENCE})
        tokens = {"access_token": "at-canary", "refresh_token": "rt-canary", "scope": scope, "expires_in": 3600}
        self.atlassian.reply_with(json_response(tokens), json_response(list(sites)))
        return self.tell("finish", provider="atlassian", state=state, code="1")

    def answer(self, question: str, account: str = "", *, agreed: bool = True) -> dict[str, Any]:
        return self.tell("confirm", question=question, agreed=agreed, account=account)

    def acts_at(self) -> tuple[str, str, list[str]]:
        """The site that calls go to: its id, its address and its scopes."""
        self.door.reset_sandbox()
        found = self.door.send({**ASKED, "proof": self.door.jwt("ada")})["result"]
        return found["account_id"], found["site_url"], found["scopes"]


@pytest.fixture
def ada(door: Broker, atlassian: Service) -> Person:
    return Person(door, atlassian)


def test_one_site_is_connected_without_a_question(ada: Person) -> None:
    assert ada.consent(ACME)["result"]["outcome"] == "connected"
    assert ada.acts_at()[:2] == ("a", "https://acme.atlassian.net")


def test_of_several_sites_the_person_chooses_one_and_it_has_its_own_scopes_only(ada: Person) -> None:
    asked = ada.consent(site("a", "acme", JIRA[:1]), GLOBEX)["result"]
    assert (asked["outcome"], asked["reasons"]) == ("asks", ["several"])
    assert [one["url"] for one in asked["choices"]] == ["https://acme.atlassian.net", "https://globex.atlassian.net"]
    assert ada.answer(asked["question"], "g")["result"]["outcome"] == "connected"
    assert ada.acts_at() == ("g", "https://globex.atlassian.net", JIRA)


def test_a_site_without_a_scope_of_the_service_is_not_offered(ada: Person) -> None:
    assert ada.consent(WIKI, GLOBEX)["result"]["outcome"] == "connected"
    assert ada.acts_at()[0] == "g"
    assert error_of(ada.consent(WIKI, site("x", "x", CONFLUENCE))) == "InvalidRequest"


def test_a_site_that_was_not_offered_is_refused_and_nothing_is_connected(ada: Person) -> None:
    for account in ("", "w", "other"):
        asked = ada.consent(ACME, GLOBEX)["result"]
        assert error_of(ada.answer(asked["question"], account)) == "InvalidRequest"
    assert error_of(ada.door.send({**ASKED, "proof": ada.door.jwt("ada")})) == "ConnectionRequired"


def test_the_connected_site_is_offered_first_and_another_replaces_it(ada: Person) -> None:
    ada.consent(GLOBEX)
    asked = ada.consent(ACME, GLOBEX)["result"]
    assert [one["id"] for one in asked["choices"]] == ["g", "a"]
    assert asked["reasons"] == ["several"]
    assert ada.answer(asked["question"], "a")["result"]["outcome"] == "connected"
    assert ada.acts_at()[0] == "a"


def test_who_declines_keeps_the_site(ada: Person) -> None:
    ada.consent(GLOBEX)
    asked = ada.consent(ACME, GLOBEX)["result"]
    assert ada.answer(asked["question"], agreed=False)["result"]["outcome"] == "kept"
    assert ada.acts_at()[0] == "g"
