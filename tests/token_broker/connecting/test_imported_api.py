"""Accounts of imported APIs: a pasted key, and consent at the OAuth server that an overlay names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from mcpist import settings
from mcpist.memory import forget_all
from mcpist_services import key_page, names, provider_title, services_with_accounts, title
from mcpist_services.described.overlay import load_overlay
from mcpist_services.described.overlay_files import compile_overlays
from tests.services.described.library import library, overlay_of
from tests.token_broker.conftest import Broker, error_of
from token_broker.providers import apps

KEY = "canary-library-key"
OAUTH = {"authorize_url": "https://login.library.example/authorize", "token_url": "https://login.library.example/token"}
APP = json.dumps({"client_id": "ours", "client_secret": "canary-secret"})
PARAMETER = "/mcpist/mcpist/oauth/archive"


@pytest.fixture
def ada(door: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Ada's proof, in a deployment with an API of keys and one with OAuth."""
    archive = overlay_of(library(), name="archive").dump()
    archive["security"] = {"kind": "bearer", "oauth": {**OAUTH, "scopes": ["offline"]}}
    archive["tools"]["list_books"]["scopes"] = ["books:read"]
    archive["tools"]["add_book"]["scopes"] = ["books:write", "books:read"]
    compile_overlays([load_overlay(archive), overlay_of(library())], tmp_path)
    monkeypatch.setenv("APIS", str(tmp_path))
    monkeypatch.setenv("PUBLIC_URL", "https://mcp.example.com")
    forget_all()
    apps._app_class.cache_clear()
    yield {"proof": door.session("ada"), "organization": "acme"}
    forget_all()
    apps._app_class.cache_clear()


def offer_of(door: Broker, ada: dict[str, object], service: str) -> dict[str, Any]:
    """How an account of a service can be connected."""
    offered = door.send({"operation": "offer", "services": [service], **ada})
    found: dict[str, Any] = offered["result"]["services"][0]
    return found


def test_imported_apis_join_the_table_of_services(ada: dict[str, object]) -> None:
    assert ada
    assert names()[-2:] == ("archive", "library")
    assert {"archive", "library"} <= set(services_with_accounts())
    assert (title("library"), provider_title("library"), key_page("library")) == ("Library", "Library", "")


def test_a_key_is_pasted_and_resolved(ada: dict[str, object], door: Broker) -> None:
    pasted = door.send({"operation": "paste", "service": "library", "key": KEY, **ada})
    assert pasted["result"]["outcome"] == "connected"
    stored = json.dumps(door.items(), default=str)
    assert KEY not in stored
    answer = door.ask("resolve", proof=door.jwt("ada"), service="library")
    assert answer["result"]["token"] == KEY


def test_an_api_of_keys_offers_no_consent(ada: dict[str, object], door: Broker) -> None:
    offered = offer_of(door, ada, "library")
    assert (offered["asks"], offered["consent"], offered["keys"]) == (False, False, True)
    begun = door.send({"operation": "begin", "services": ["library"], **ada})
    assert error_of(begun) == "NotConfigured"


def test_a_consent_asks_for_the_scopes_of_all_tools_once_our_client_is_registered(
    ada: dict[str, object], door: Broker
) -> None:
    offered = offer_of(door, ada, "archive")
    assert (offered["asks"], offered["consent"]) == (True, False)
    boto3.client("ssm").put_parameter(Name=PARAMETER, Value=APP, Type="SecureString")
    apps.app_cache.clear()
    try:
        assert offer_of(door, ada, "archive")["consent"]
        url = urlsplit(str(door.send({"operation": "begin", "services": ["archive"], **ada})["result"]["url"]))
    finally:
        boto3.client("ssm").delete_parameter(Name=PARAMETER)
        apps.app_cache.clear()
    assert f"{url.scheme}://{url.netloc}{url.path}" == OAUTH["authorize_url"]
    query = parse_qs(url.query)
    assert query["scope"] == ["books:read books:write offline"]
    assert (query["client_id"], query["code_challenge_method"]) == (["ours"], ["S256"])
    assert settings.settings().public_url in query["redirect_uri"][0]
