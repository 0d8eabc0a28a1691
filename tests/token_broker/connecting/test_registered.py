"""Accounts of modules that an organization registered: keys, for its own people alone."""

from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import RegisteredModule
from mcpist.people import directory
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
