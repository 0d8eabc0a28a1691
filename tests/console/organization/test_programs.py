"""Programs without a person, on the page of users."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from mcpist.people import directory, edits, service_credentials
from tests.conftest import PUBLIC_URL
from tests.console.conftest import Browser
from tests.login.signers import Signer

FORM = {
    "action": "create_program",
    "id": "robot",
    "name": "Robot",
    "roles": "members",
    "public_key": "",
    "jwks_url": "",
}


@pytest.fixture(autouse=True)
def alone(ada: Browser) -> Iterator[None]:
    """The organization as other tests know it, afterwards."""
    assert ada
    yield
    if "robot" in directory.read("acme").users:
        directory.change("acme", edits.remove_user("robot"))
    directory.access_cache.clear()


def test_an_administrator_adds_a_program_and_replaces_its_credentials(ada: Browser) -> None:
    assert "client_credentials" not in ada.get("/users?program=1")["body"]
    made = ada.post("/users", list(FORM.items()))
    assert (made["statusCode"], f"{PUBLIC_URL}/login/token" in made["body"]) == (200, True)
    client_id, secret = re.findall(r"<code>([\w-]{22,})</code>", unescape(made["body"]))
    assert client_id.startswith(service_credentials.SERVICE_CLIENT_PREFIX)
    shown = ada.get("/users?id=robot")["body"]
    assert "Replace the credentials" in shown
    assert secret not in shown
    before = service_credentials.read(client_id)
    renewed = ada.post("/users", [*{**FORM, "action": "renew", "public_key": Signer().pem}.items()])
    assert re.findall(r"<code>([\w-]{22,})</code>", unescape(renewed["body"])) == [client_id]
    after = service_credentials.read(client_id)
    assert before
    assert after
    assert (before.method, after.method) == ("client_secret_basic", "private_key_jwt")
    assert before.id != after.id


def test_a_wrong_key_is_told_and_adds_nobody(ada: Browser) -> None:
    answer = ada.post("/users", [*{**FORM, "public_key": "-----BEGIN PRIVATE KEY-----"}.items()])
    assert (answer["statusCode"], "public_key" in answer["body"]) == (400, True)
    assert "robot" not in directory.read("acme").users
