"""Accounts of modules that an organization registered: keys, for its own people alone."""

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from mcpist.caller import RegisteredModule
from mcpist.people import directory
from mcpist.settings import settings
from tests.token_broker.conftest import Broker, error_of

KEY = "a-key-of-the-library"


@pytest.fixture
def library(door: Broker) -> Broker:
    """The broker, where acme registered an API that takes keys, and one that takes none."""
    modules = {
        name: RegisteredModule(name, "api", "0" * 64, "2026-11-22T20:00:00Z", "grace", destination)
        for name, destination in (("library", "https://api.library.example/v1 bearer"), ("weather", ""))
    }
    directory.change("acme", lambda before: replace(before, modules=modules))
    directory.access_cache.clear()
    return door


def ask(door: Broker, operation: str, who: str = "ada", organization: str = "acme", **fields: Any) -> dict[str, Any]:
    roles = ["engineering"] if organization == "acme" else []
    message = {"operation": operation, "proof": door.jwt(who), "organization": organization, "roles": roles}
    return door.send({**message, **fields})


def test_a_person_pastes_a_key_for_a_registered_api_and_it_resolves(library: Broker) -> None:
    assert ask(library, "paste", service="library", key=KEY)["result"]["outcome"] == "connected"
    assert ask(library, "resolve", service="library")["result"]["token"] == KEY
    assert ask(library, "paste", service="library", key=f"{KEY}-2")["result"]["outcome"] == "connected"
    assert ask(library, "resolve", service="library")["result"]["token"] == f"{KEY}-2"


def test_it_offers_a_key_and_no_consent(library: Broker) -> None:
    (entry,) = ask(library, "offer", services=["library"])["result"]["services"]
    assert (entry["keys"], entry["consent"], entry["together"]) == (True, False, ["library"])
    (entry,) = ask(library, "offer", services=["weather"])["result"]["services"]
    assert (entry["keys"], entry["consent"]) == (False, False)


def test_an_app_of_the_operator_is_neither_replaced_by_a_module_of_its_name_nor_used_for_it(
    library: Broker, request: pytest.FixtureRequest
) -> None:
    assert ask(library, "paste", service="library", key=KEY)["result"]["outcome"] == "connected"
    library.reset_sandbox()
    name = f"{settings().oauth_parameters}/library"
    app = {"client_id": "c", "authorize_url": "https://library.example/a", "token_url": "https://library.example/t"}
    ssm = boto3.client("ssm")
    ssm.put_parameter(Name=name, Value=json.dumps(app), Type="SecureString")
    request.addfinalizer(lambda: ssm.delete_parameter(Name=name))
    taken = ask(library, "paste", service="library", key=f"{KEY}-2")
    assert error_of(taken) == "AlreadyExists", taken
    (entry,) = ask(library, "offer", services=["library"])["result"]["services"]
    assert (entry["keys"], entry["consent"]) == (False, False)
    assert ask(library, "resolve", service="library")["result"]["token"] == KEY
    (entry,) = ask(library, "offer", who="hal", organization="globex", services=["library"])["result"]["services"]
    assert (entry["keys"], entry["consent"]) == (False, True)


def test_an_api_without_accounts_and_another_organization_take_no_key(library: Broker) -> None:
    assert error_of(ask(library, "paste", service="weather", key=KEY)) == "ModuleNotFound"
    foreign = ask(library, "paste", who="hal", organization="globex", service="library", key=KEY)
    assert error_of(foreign) == "ModuleNotFound"


def test_an_administrator_revokes_all_keys_of_a_module_at_once(library: Broker) -> None:
    for who in ("ada", "bob"):
        ask(library, "paste", who=who, service="library", key=KEY)
    killed = ask(library, "kill", who="grace", service="library", roles=[])
    assert "result" in killed, killed
    for who in ("ada", "bob"):
        assert error_of(ask(library, "resolve", who=who, service="library")) == "ConnectionRequired"
