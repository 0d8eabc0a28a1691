"""Administrators register modules, approve what is new and remove them, and see first what that does."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist import settings
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse
from tests.console.conftest import Browser
from tests.core.people.test_administration import FakeAccounts
from tests.services.registered.conftest import tool
from tests.upstreams.configured import reset_upstreams
from tests.upstreams.fake_upstream import serving_fake

EVIL = "<b onclick=x>\u202e"
SHOP = {
    "openapi": "3.1.0",
    "info": {"title": EVIL, "version": "1"},
    "servers": [{"url": "https://shop.example.com"}],
    "paths": {
        "/items": {
            "get": {
                "operationId": "listItems",
                "summary": f"List items {EVIL}",
                "responses": {"200": {"description": "ok"}},
            }
        }
    },
}


@pytest.fixture
def notes(organization: str, login: LocalLogin, messages: list[dict[str, Any]]) -> Iterator[str]:
    """A registered server of two tools, one of which has hidden characters; its address is one of this machine."""
    assert messages == []
    reset_upstreams()
    ada = directory.identify(Subject(login.issuer, "ada"), organization=organization)
    with serving_fake() as fake, pytest.MonkeyPatch.context() as local:
        fake.says["tools/list"] = {"tools": [tool("find_note"), tool("drop_note", description=EVIL)]}
        local.setenv("PUBLIC_URL", "http://127.0.0.1:1")
        settings.settings.cache_clear()
        body = {"name": "notes", "url": f"http://127.0.0.1:{fake.port}/mcp", "description": "The team's notes"}
        registration.register(Administration(ada, "request-1", FakeAccounts()), parse(body), list[str]().append)
    settings.settings.cache_clear()
    directory.access_cache.clear()
    yield "notes"
    reset_upstreams()


def apply(browser: Browser, shown: dict[str, Any]) -> dict[str, Any]:
    """Send the form of a review."""
    assert shown["statusCode"] == 200, shown["body"]
    return browser.submit_form(shown["body"], "reviewed")


def register(browser: Browser, **fields: str) -> dict[str, Any]:
    given = {"action": "register", "name": "shop", "description": "The shop", **fields}
    return browser.post("/modules", list(given.items()))


def test_an_api_is_registered_after_a_review_of_its_tools(ada: Browser) -> None:
    shown = register(ada, kind="api", openapi=json.dumps(SHOP))
    assert "It brings 1 tools" in shown["body"]
    assert "<b onclick" not in shown["body"]
    assert "shop" not in directory.read_version("acme")[1].modules
    assert apply(ada, shown)["headers"]["location"].endswith("/modules?id=shop&done=module_registered")
    page = ada.get("/modules?id=shop")["body"]
    assert "List items" in page
    assert "<b onclick" not in page


def test_a_servers_tools_wait_until_they_are_approved_as_they_were_shown(notes: str, ada: Browser) -> None:
    page = ada.get(f"/modules?id={notes}")["body"]
    assert "Waiting for your approval" in page
    assert "\\u{202E}" in page
    (chosen,) = re.findall(r'name="tools" value="([0-9a-f]{64} find_note)"', page)
    done = ada.post("/modules", [("action", "approve"), ("id", notes), ("tools", chosen)])
    assert done["headers"]["location"].endswith("done=tools_approved")
    assert f'value="{chosen}"' not in ada.get(f"/modules?id={notes}")["body"]
    stale = ada.post("/modules", [("action", "approve"), ("id", notes), ("tools", f"{'0' * 64} drop_note")])
    assert stale["statusCode"] == 400


def test_a_module_is_removed_after_a_review(ada: Browser) -> None:
    apply(ada, register(ada, kind="api", openapi=json.dumps(SHOP)))
    shown = ada.post("/modules", [("action", "remove"), ("id", "shop")])
    assert "Remove the module shop" in shown["body"]
    assert "shop" in directory.read_version("acme")[1].modules
    apply(ada, shown)
    assert "shop" not in directory.read_version("acme")[1].modules


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "server", "url": ""},
        {"kind": "server", "url": "http://169.254.169.254/"},
        {"kind": "api", "openapi": "{"},
        {"kind": "api", "openapi": json.dumps(SHOP), "name": "github"},
    ],
    ids=["without an address", "of the metadata service", "not a description", "a taken name"],
)
def test_what_cannot_be_registered_says_why_and_stores_nothing(ada: Browser, fields: dict[str, str]) -> None:
    answer = register(ada, **fields)
    assert 400 <= answer["statusCode"] < 500
    assert directory.read_version("acme")[1].modules == {}


def test_others_cannot_register(uma: Browser) -> None:
    assert uma.get("/modules")["statusCode"] == 403
    assert register(uma, kind="api", openapi=json.dumps(SHOP))["statusCode"] == 403
