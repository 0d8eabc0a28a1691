"""Slack's dialect from consent to refresh: user scopes, tokens in `authed_user`, errors with status 200, rotation."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from pydantic import SecretStr

from mcpist import settings
from mcpist.errors import NotConfigured, UpstreamUnavailable
from mcpist_services import providers
from tests.core.loopback import Service, json_response, serving
from tests.token_broker.conftest import Broker, error_of
from tests.token_broker.provider_fakes import FakeProvider, fields
from token_broker.providers import apps
from token_broker.providers.oauth import AccessTokenRejected

PERSON = {"ok": True, "team": "Acme", "user": "aiko", "team_id": "T1", "user_id": "U1"}


def issued(number: int, lives: int = 43_200) -> dict[str, Any]:
    """The person's tokens of a code's response, with rotation turned on."""
    tokens = {"access_token": f"xoxe.xoxp-canary-{number}", "refresh_token": f"xoxe-canary-{number}"}
    return {**tokens, "token_type": "user", "scope": "chat:write,search:read", "expires_in": lives}


def of_code(user: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A code's response."""
    return {
        "ok": True,
        "app_id": "A1",
        "team": {"id": "T1", "name": "Acme"},
        "authed_user": {"id": "U1", **user},
        **top,
    }


@pytest.fixture
def fake(fake_of: Callable[[str], FakeProvider]) -> FakeProvider:
    return fake_of("slack")


def test_a_code_s_tokens_are_the_person_s_and_never_the_bot_s(fake: FakeProvider) -> None:
    bot = {"access_token": "xoxb-canary", "token_type": "bot", "scope": "commands"}
    fake.reply_with(json_response(of_code(issued(1), **bot)))
    made = fake.redeem()
    assert made.tokens.access_token == SecretStr("xoxe.xoxp-canary-1")
    assert made.tokens.refresh_token == SecretStr("xoxe-canary-1")
    assert (made.scopes, made.lives) == (("chat:write", "search:read"), 43_200)
    for without in (of_code({}, **bot), {**of_code({}, **bot), "authed_user": None}):
        fake.reply_with(json_response(without))
        with pytest.raises(UpstreamUnavailable, match="without a token"):
            fake.redeem()


def test_a_refresh_s_tokens_are_at_the_top_of_its_response(fake: FakeProvider) -> None:
    for more in ({}, {"authed_user": {"id": "U1"}}):
        fake.reply_with(json_response({"ok": True, **issued(2), **more}))
        assert fake.refresh().tokens.refresh_token == SecretStr("xoxe-canary-2")


@pytest.mark.parametrize("code", ["bad_client_secret", "invalid_client_id", "no_user_scopes"])
def test_an_error_about_the_app_rejects_no_grant(fake: FakeProvider, code: str) -> None:
    fake.reply_with(json_response({"ok": False, "error": code}))
    with pytest.raises(NotConfigured, match=code):
        fake.refresh()


def test_a_token_that_ended_has_no_account_and_an_outage_says_nothing_about_it(fake: FakeProvider) -> None:
    for code in ("invalid_auth", "token_revoked", "account_inactive"):
        fake.reply_with(json_response({"ok": False, "error": code}))
        with pytest.raises(AccessTokenRejected):
            fake.account()
    fake.reply_with(json_response({"ok": False, "error": "internal_error"}))
    with pytest.raises(UpstreamUnavailable):
        fake.account()


def test_the_scopes_of_a_pasted_token_are_in_a_header(fake: FakeProvider) -> None:
    fake.reply_with(json_response(PERSON, x_oauth_scopes="identify,chat:write"))
    assert fake.account().scopes == ("identify", "chat:write")


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"ok": True, "revoked": True}, "revoked"),
        ({"ok": False, "error": "token_revoked"}, "revoked"),
        ({"ok": False, "error": "invalid_auth"}, "revoked"),
        ({"ok": False, "error": "internal_error"}, "failed"),
    ],
)
def test_a_revocation_is_read_from_the_body(fake: FakeProvider, body: dict[str, Any], outcome: str) -> None:
    fake.reply_with(json_response(body))
    assert fake.revoke() == outcome


# -- the whole way ------------------------------------------------------------------------------------


@pytest.fixture
def server(door: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Slack's addresses on loopback, and our app there."""
    assert door.items() == []
    monkeypatch.setenv("PUBLIC_URL", "https://mcp.example.com")
    settings.settings.cache_clear()
    name = f"{settings.settings().oauth_parameters}/slack"
    app = json.dumps({"client_id": "1.2", "client_secret": "secret-canary"})
    boto3.client("ssm").put_parameter(Name=name, Value=app, Type="SecureString", Overwrite=True)
    apps.app_cache.clear()
    with serving() as service:
        names = ("token_url", "account_url", "revoke_url")
        urls = {one: service.url + urlsplit(getattr(providers()["slack"], one)).path for one in names}
        monkeypatch.setitem(providers(), "slack", replace(providers()["slack"], **urls))
        yield service


ASKED = {"operation": "resolve", "organization": "acme", "roles": ["engineering"], "service": "slack"}
EXPIRED = {"account_id": "T1:U1", "account_name": "Acme, aiko", "client_id": "1.2", "expires_at": 1}


def test_a_person_consents_to_user_scopes_and_acts_as_themselves(door: Broker, server: Service) -> None:
    ada = {"organization": "acme", "proof": door.session("ada")}
    begun = door.send({"operation": "begin", "services": ["slack"], **ada})["result"]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun["url"]).query).items()}
    assert "scope" not in asked
    assert "chat:write" in asked["user_scope"].split(",")
    server.reply_with(json_response(of_code(issued(1))), json_response(PERSON))
    returned = {"provider": "slack", "code": "1.2.3", "state": asked["state"]}
    assert door.send({"operation": "finish", **returned, **ada})["result"]["outcome"] == "connected"
    assert server.received[1].headers["authorization"] == "Bearer xoxe.xoxp-canary-1"
    answer = door.send({**ASKED, "proof": door.jwt("ada")})["result"]
    assert (answer["token"], answer["account_name"]) == ("xoxe.xoxp-canary-1", "Acme, aiko")
    assert answer["scopes"] == ["chat:write", "search:read"]


def test_a_token_that_rotates_is_refreshed(door: Broker, server: Service) -> None:
    door.store(service="slack", refresh_token="xoxe-canary-1", **EXPIRED)
    server.reply_with(json_response({"ok": True, **issued(2)}))
    assert door.send({**ASKED, "proof": door.jwt("ada")})["result"]["token"] == "xoxe.xoxp-canary-2"
    assert fields(server.received[0]) == {"grant_type": "refresh_token", "refresh_token": "xoxe-canary-1"}


def test_a_refresh_token_that_slack_no_longer_knows_asks_the_person_to_reconnect(door: Broker, server: Service) -> None:
    door.store(service="slack", refresh_token="xoxe-canary-1", **EXPIRED)
    server.reply_with(json_response({"ok": False, "error": "invalid_refresh_token"}))
    assert error_of(door.send({**ASKED, "proof": door.jwt("ada")})) == "ReconnectRequired"
