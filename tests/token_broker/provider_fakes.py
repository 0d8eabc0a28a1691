"""Every provider with its addresses moved to loopback, where it answers as a test wants."""

import base64
import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from mcpist.oauth.provider import App, OAuthServerApp, Provider, ProviderAccount, Tokens
from mcpist_services import providers
from tests.core.loopback import ReceivedRequest, Reply, Service
from token_broker.providers import configured_provider, find, oauth
from token_broker.providers.oauth import TokenResponse

CANARY = "canary"
ACCESS, REFRESH = SecretStr(f"old-access-{CANARY}"), SecretStr(f"old-refresh-{CANARY}")
OUR_APP = App(client_id="ours", client_secret=SecretStr(f"secret-{CANARY}"), tenant="contoso.example")
BASIC = "Basic " + base64.b64encode(f"ours:secret-{CANARY}".encode()).decode()
CALLBACK = "https://mcp.example.com/connect/callback/x"
NEW = {"access_token": f"new-access-{CANARY}", "token_type": "bearer"}
EXTERNAL_SERVER = OAuthServerApp(
    client_id="ours",
    client_secret=OUR_APP.client_secret,
    authorize_url="https://login.example.com/authorize?version=2",
    token_url="https://login.example.com/token",
    revoke_url="https://login.example.com/revoke",
    userinfo_url="https://login.example.com/me",
    issuer="https://login.example.com",
    resource="https://mcp.example.org/mcp",
    scopes=("files", "offline_access"),
)
BUILT_IN = tuple(name for name, one in providers().items() if one.authorize_url)  # not those of keys alone
NAMES = (*BUILT_IN, "vault")


@dataclass(frozen=True)
class FakeProvider:
    """A provider whose addresses are on loopback."""

    provider: Provider
    service: Service

    def reply_with(self, *replies: Reply) -> None:
        self.service.reply_with(*replies)

    def refresh(self, seconds: float = 5) -> TokenResponse:
        return oauth.refresh(self.provider, OUR_APP, REFRESH, seconds=seconds)

    def redeem(self) -> TokenResponse:
        code, verifier = SecretStr(f"code-{CANARY}"), SecretStr(f"verifier-{CANARY}")
        return oauth.exchange_code(self.provider, OUR_APP, code=code, verifier=verifier, redirect_uri=CALLBACK)

    def account(self, token: SecretStr = ACCESS) -> ProviderAccount:
        return oauth.fetch_account(self.provider, token, seconds=5)

    def revoke(self, tokens: Tokens = Tokens(ACCESS, REFRESH)) -> str:  # noqa: B008 - frozen
        return oauth.revoke(self.provider, OUR_APP, tokens, seconds=5)

    @property
    def asked(self) -> ReceivedRequest:
        (received,) = self.service.received
        return received


def provider_of(name: str) -> Provider:
    return configured_provider(name, EXTERNAL_SERVER) if name == "vault" else find(name)


def fake_provider(name: str, service: Service) -> FakeProvider:
    """The provider with every address moved to loopback, its path kept."""

    def moved(url: str) -> str:
        return url and f"{service.url}{urlsplit(url).path}"

    real = provider_of(name)
    urls = {url: moved(getattr(real, url)) for url in ("token_url", "account_url", "revoke_url")}
    service.reply_with(Reply())
    return FakeProvider(replace(real, **urls), service)


def fields(received: ReceivedRequest) -> dict[str, Any]:
    """The fields of a form or of JSON, whichever the content's type says."""
    if received.headers["content-type"] == "application/json":
        return dict(json.loads(received.body))
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    return dict(parse_qsl(received.body.decode()))
