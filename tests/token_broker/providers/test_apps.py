"""Where our clients at the providers are read from, and what is refused there."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

import mcpist_services
from mcpist import settings
from mcpist.aws import clients
from mcpist.aws.clients import AwsError
from mcpist.errors import NotConfigured, StoreUnavailable
from mcpist.oauth.provider import App, OAuthServerApp
from tests.clock import Clock
from tests.faults import for_each
from token_broker import providers
from token_broker.providers import apps
from token_broker.providers.apps import get_app

FOLDER = "/mcpist/mcpist/oauth"
SECRET = "canary-client-secret"
SERVER = {
    "client_id": "ours",
    "authorize_url": "https://login.example.com/authorize",
    "token_url": "https://login.example.com/token",
}

_put: list[str] = []


@pytest.fixture(autouse=True)
def folder(aws: list[str]) -> Iterator[None]:
    """No parameter and no memory of one; no request counted."""
    apps.app_cache.clear()
    _put.clear()
    aws.clear()
    yield
    if _put:
        boto3.client("ssm").delete_parameters(Names=_put)
    apps.app_cache.clear()


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that serves only itself."""
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:8400")
    settings.settings.cache_clear()
    yield
    settings.settings.cache_clear()


def put(provider: str, value: Any) -> None:
    text, name = value if isinstance(value, str) else json.dumps(value), f"{FOLDER}/{provider}"
    boto3.client("ssm").put_parameter(Name=name, Type="SecureString", Value=text, Overwrite=True)
    _put.append(name)


def problem(provider: str) -> str:
    with pytest.raises(NotConfigured) as raised:
        get_app(provider)
    assert raised.value.details["service"] == provider
    return str(raised.value.details["problem"])


def test_an_app_is_read_from_its_parameter_and_shows_no_secret() -> None:
    put("github", {"client_id": "Iv1.ours", "client_secret": SECRET})
    app = get_app("github")
    assert (app.client_id, app.tenant) == ("Iv1.ours", "common")
    assert app.client_secret is not None
    assert app.client_secret.get_secret_value() == SECRET
    assert SECRET not in repr(app)


def test_several_apps_are_read_by_one_request(aws: list[str]) -> None:
    put("github", {"client_id": "one"})
    put("notion", {"client_id": "two"})
    aws.clear()
    apps.read_ahead(["github", "notion", "slack"])
    assert (get_app("github").client_id, get_app("notion").client_id) == ("one", "two")
    assert not apps.is_set_up("slack", fresh=False)
    apps.read_ahead(["github", "notion", "slack"])
    assert aws == ["GetParameters"]


def test_where_they_cannot_be_read_together_each_is_read_alone(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    put("github", {"client_id": "one"})

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": SECRET}}, "GetParameters")

    monkeypatch.setattr(clients.client("ssm", **apps.SSM_CLIENT_OPTIONS), "get_parameters", refuse)
    apps.read_ahead(["github", "notion"])
    assert get_app("github").client_id == "one"
    assert aws[-1] == "GetParameter"


def test_an_app_is_read_once_a_minute(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    put("github", {"client_id": "old"})
    aws.clear()
    clock = Clock()
    monkeypatch.setattr(apps.app_cache, "clock", clock)
    assert [get_app("github").client_id for _ in range(3)] == ["old"] * 3
    assert aws == ["GetParameter"]
    put("github", {"client_id": "new"})
    clock.advance(apps.APP_CACHE_SECONDS - 1)
    assert get_app("github").client_id == "old"
    clock.advance(1)
    assert get_app("github").client_id == "new"


def test_a_clock_that_was_put_back_keeps_nothing_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    put("github", {"client_id": "old"})
    clock = Clock()
    monkeypatch.setattr(apps.app_cache, "clock", clock)
    get_app("github")
    put("github", {"client_id": "new"})
    clock.advance(-300)
    assert get_app("github").client_id == "new"


def test_the_cache_of_apps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps.app_cache, "max_entries", 2)
    for name in ("a", "b", "c"):
        put(name, SERVER)
        get_app(name)
        assert len(apps.app_cache) <= 2


def test_a_missing_parameter_is_named() -> None:
    assert problem("notion") == f"the parameter {FOLDER}/notion is missing"
    put("notion", {"client_id": "ours"})
    assert get_app("notion").client_id == "ours"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no JSON " + SECRET, "JSON: Invalid JSON"),
        ([], "JSON: "),
        ({"client_secret": SECRET}, "client_id: Field required"),
        ({"client_id": ""}, "client_id: "),
        ({"client_id": "two words"}, "client_id: "),
        ({"client_id": "ours", "client_secrets": SECRET}, "client_secrets: Extra inputs"),
        ({"client_id": "ours", "tenant": "../other"}, "tenant: "),
        (SERVER, "authorize_url: Extra inputs"),
    ],
)
def test_a_wrong_parameter_says_where_and_quotes_nothing(value: Any, words: str) -> None:
    put("microsoft", value)
    assert words in problem("microsoft")
    assert SECRET not in problem("microsoft")


def test_a_provider_that_no_service_declares_is_described_by_its_parameter() -> None:
    put("vault", {**SERVER, "client_secret": SECRET, "issuer": "https://login.example.com", "scopes": ["read"]})
    provider = providers.find("vault")
    assert isinstance(get_app("vault"), OAuthServerApp)
    assert provider.services == ("vault",)
    assert provider.scopes(["vault"]) == ("read",)
    assert (provider.token_url, provider.client_auth, provider.pkce) == (SERVER["token_url"], "basic", True)


def test_a_client_without_a_secret_is_a_public_one() -> None:
    put("vault", SERVER)
    assert providers.find("vault").client_auth == "none"


@for_each(
    "url",
    [
        "http://login.example.com/token",
        "https://127.0.0.1/token",
        "https://127.1/token",
        "https://2130706433/token",
        "https://0x7f000001/token",
        "https://[::1]/token",
        "https://[::ffff:10.0.0.1]/token",
        "https://10.1.2.3/token",
        "https://169.254.169.254/latest",
        "https://100.64.0.1/token",
        "https://[fd00::1]/token",
        "https://localhost/token",
        "https://login/token",
        "https://login.internal/token",
        "https://LOGIN.LOCAL/token",
        "https://login.internal./token",
        "https://user:secret@login.example.com/token",
        "https://@login.example.com/token",
        "https://login.example.com/token#part",
        "https://login.example.com:99999/token",
        "https://log in.example.com/token",
        "https://[login.example.com/token",
        "ftp://login.example.com/token",
        "login.example.com",
        "",
        "http://127.0.0.1:9/token",
    ],
)
def test_an_address_that_is_not_of_the_internet_is_refused(url: str) -> None:
    put("vault", {**SERVER, "token_url": url})
    assert "token_url: " in problem("vault")


@pytest.mark.usefixtures("at_home")
def test_a_local_deployment_may_use_a_server_on_loopback() -> None:
    put("vault", {**SERVER, "token_url": "http://127.0.0.1:9/token"})
    assert providers.find("vault").token_url == "http://127.0.0.1:9/token"


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("url", ["http://10.1.2.3/token", "http://login.example.com/token", "https://127.0.0.1/t"])
def test_other_internal_addresses_are_refused(url: str) -> None:
    put("vault", {**SERVER, "token_url": url})
    assert "token_url: " in problem("vault")


@pytest.mark.parametrize("provider", mcpist_services.providers())
def test_the_parameter_of_a_declared_provider_cannot_change_its_addresses(provider: str) -> None:
    put(provider, SERVER)
    assert "Extra inputs" in problem(provider)
    put(provider, {"client_id": "ours"})
    assert type(get_app(provider)) is App


@pytest.mark.parametrize(
    ("code", "raised"),
    [("AccessDeniedException", NotConfigured), ("ThrottlingException", StoreUnavailable), ("Strange", AwsError)],
)
def test_a_store_that_refuses_is_told_apart_from_one_that_is_down(
    code: str, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": SECRET}}, "GetParameter")

    monkeypatch.setattr(clients.client("ssm", **apps.SSM_CLIENT_OPTIONS), "get_parameter", refuse)
    with pytest.raises(raised) as found:
        get_app("notion")
    if raised is not AwsError:
        assert SECRET not in str(found.value)
