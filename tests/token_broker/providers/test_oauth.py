"""The steps of a connection against a real authorization server that nobody here wrote."""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr

from mcpist import settings
from mcpist.errors import NotConfigured, Timeout
from mcpist.oauth.provider import OAuthServerApp, Provider, ProviderAccount, Tokens
from tests.token_broker.authorization_server import AuthorizationServer, Client
from token_broker.providers import configured_provider, oauth
from token_broker.providers.oauth import AccessTokenRejected, GrantRejected

CALLBACK = "http://127.0.0.1:9/connect/callback/vault"
WAYS = ("client_secret_basic", "client_secret_post", "none")


@dataclass(frozen=True)
class Registered:
    """A client of ours at the server."""

    server: AuthorizationServer
    client: Client
    provider: Provider
    app: OAuthServerApp

    def consent(self, *, allow: bool = True) -> tuple[dict[str, str], SecretStr]:
        """What a person's answer brings to the callback, and the verifier that belongs to it."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        url = oauth.authorize_url(
            self.provider, self.app, state="s1", challenge=challenge, redirect_uri=CALLBACK, services=["vault"]
        )
        place = urlsplit(self.server.consent(url, allow=allow))
        assert f"{place.scheme}://{place.netloc}{place.path}" == CALLBACK
        return {name: values[0] for name, values in parse_qs(place.query).items()}, SecretStr(verifier)

    def connect(self) -> oauth.TokenResponse:
        answer, verifier = self.consent()
        return self.redeem(answer["code"], verifier)

    def redeem(self, code: str, verifier: SecretStr) -> oauth.TokenResponse:
        return oauth.exchange_code(
            self.provider, self.app, code=SecretStr(code), verifier=verifier, redirect_uri=CALLBACK
        )

    def refresh(self, token: SecretStr | None, seconds: float = 10) -> oauth.TokenResponse:
        assert token is not None
        return oauth.refresh(self.provider, self.app, token, seconds=seconds)


@pytest.fixture
def server(authorization_server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[AuthorizationServer]:
    """The server, on a machine that serves only itself."""
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:9")
    settings.settings.cache_clear()
    authorization_server.reset()
    yield authorization_server
    authorization_server.reset()
    settings.settings.cache_clear()


def register(server: AuthorizationServer, way: str = "client_secret_basic") -> Registered:
    client = server.register(CALLBACK, auth=way)
    more = {"client_auth": "body"} if way == "client_secret_post" else {}
    app = OAuthServerApp.model_validate_json(server.parameter(client, **more))
    return Registered(server, client, configured_provider("vault", app), app)


def wait_for(claim: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until
        time.sleep(0.01)


def alive(tokens: Tokens, server: AuthorizationServer) -> tuple[bool, bool]:
    assert tokens.refresh_token is not None
    state = server.state
    return (
        tokens.access_token.get_secret_value() in state.access_tokens,
        tokens.refresh_token.get_secret_value() in state.refresh_tokens,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_consent_returns_a_pair_that_refreshes(server: AuthorizationServer, way: str) -> None:
    ours = register(server, way)
    first = ours.connect()
    assert first.lives == 300
    assert first.scopes == ("openid", "profile", "read", "write")
    assert oauth.fetch_account(ours.provider, first.tokens.access_token) == ProviderAccount("uma", "Uma", "person")
    second = ours.refresh(first.tokens.refresh_token)
    assert alive(second.tokens, server) == (True, True)
    assert alive(first.tokens, server) == (True, False)
    third = ours.refresh(second.tokens.refresh_token)
    assert server.accepts(third.tokens.access_token.get_secret_value())
    assert len(server.state.redeems) == 2


def test_the_answer_to_a_consent_names_its_state_and_its_issuer(server: AuthorizationServer) -> None:
    ours = register(server)
    answer, _ = ours.consent()
    assert answer["state"] == "s1"
    assert ours.provider.is_issuer(answer["iss"])
    assert not ours.provider.is_issuer("https://login.example.com")
    assert not ours.provider.is_issuer(None)


def test_a_declined_consent_returns_no_code(server: AuthorizationServer) -> None:
    answer, _ = register(server).consent(allow=False)
    assert answer["error"] == "access_denied"
    assert "code" not in answer


def test_a_code_is_valid_once_and_only_with_its_own_verifier(server: AuthorizationServer) -> None:
    ours = register(server)
    answer, verifier = ours.consent()
    with pytest.raises(GrantRejected, match="invalid_grant"):
        ours.redeem(answer["code"], SecretStr(secrets.token_urlsafe(48)))
    answer, verifier = ours.consent()
    ours.redeem(answer["code"], verifier)
    with pytest.raises(GrantRejected, match="invalid_grant"):
        ours.redeem(answer["code"], verifier)


def test_a_used_refresh_token_kills_the_whole_grant(server: AuthorizationServer) -> None:
    ours = register(server)
    first = ours.connect()
    second = ours.refresh(first.tokens.refresh_token)
    with pytest.raises(GrantRejected, match="invalid_grant"):
        ours.refresh(first.tokens.refresh_token)
    assert alive(second.tokens, server) == (False, False)
    with pytest.raises(AccessTokenRejected):
        oauth.fetch_account(ours.provider, second.tokens.access_token)


def test_a_lenient_server_takes_the_former_refresh_token_once_more(server: AuthorizationServer) -> None:
    ours = register(server)
    server.steer(mode="lenient")
    first = ours.connect()
    ours.refresh(first.tokens.refresh_token)
    second = ours.refresh(first.tokens.refresh_token)
    assert alive(second.tokens, server) == (True, True)
    with pytest.raises(GrantRejected):
        ours.refresh(first.tokens.refresh_token)


def test_a_wrong_secret_is_the_operator_s_fault_and_no_dead_grant(server: AuthorizationServer) -> None:
    ours = register(server)
    first = ours.connect()
    wrong = ours.app.model_copy(update={"client_secret": SecretStr("wrong")})
    with pytest.raises(NotConfigured, match="invalid_client"):
        oauth.refresh(ours.provider, wrong, first.tokens.refresh_token or SecretStr(""))
    assert alive(first.tokens, server) == (True, True)


def test_an_answer_that_comes_too_late_is_a_timeout_although_the_token_was_redeemed(
    server: AuthorizationServer,
) -> None:
    ours = register(server)
    first = ours.connect()
    server.steer(hold="answered")
    with pytest.raises(Timeout):
        ours.refresh(first.tokens.refresh_token, seconds=0.5)
    wait_for(lambda: server.state.waiting == 1)
    assert len(server.state.redeems) == 1
    assert alive(first.tokens, server) == (True, False)


def test_a_delayed_answer_is_waited_for(server: AuthorizationServer) -> None:
    ours = register(server)
    first = ours.connect()
    server.steer(delay_seconds=0.3)
    assert alive(ours.refresh(first.tokens.refresh_token).tokens, server) == (True, True)


@pytest.mark.parametrize("way", WAYS)
def test_a_revoked_pair_is_dead_at_the_server(server: AuthorizationServer, way: str) -> None:
    ours = register(server, way)
    tokens = ours.connect().tokens
    assert oauth.revoke(ours.provider, ours.app, tokens) == "revoked"
    assert alive(tokens, server) == (False, False)
    with pytest.raises(GrantRejected, match="invalid_grant"):
        ours.refresh(tokens.refresh_token)
    assert oauth.revoke(ours.provider, ours.app, tokens) == "revoked"


def test_minted_tokens_are_as_good_as_consented_ones(server: AuthorizationServer) -> None:
    ours = register(server)
    server.steer(access_seconds=7)
    minted = server.grant(ours.client, "ada")
    assert minted.expires_in == 7
    redeemed = ours.refresh(SecretStr(minted.refresh_token))
    assert redeemed.lives == 7
    assert oauth.fetch_account(ours.provider, redeemed.tokens.access_token).id == "ada"
