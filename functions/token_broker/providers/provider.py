"""A provider: who issues the tokens of some services, and in which dialect of OAuth it speaks."""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from pydantic import SecretStr

from mcpist.errors import NotConfigured
from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.http_client import ProviderRequest

type AccountKind = Literal["person", "bot", "organization"]
type Scopes = tuple[str, ...]
type Credentials = tuple[dict[str, str], dict[str, str]]

# RFC 6749, section 5.2: the refresh token is invalid, expired, revoked or somebody else's.
INVALID_GRANT_ERRORS = frozenset({"invalid_grant"})
MAX_PROVIDER_TEXT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """The account that a token acts as; `scopes` where the provider says which it has.

    The `id` goes into the addresses of services whose host has an `{account}`. What a `person` may do changes with
    the person; a `bot` and an `organization` stay when people go.
    """

    id: str
    name: str
    kind: AccountKind = "person"
    scopes: Scopes | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """What is fixed about a provider: its addresses, its dialect, and how to read its answers.

    `scopes_by_service` maps its services to the scopes that their tools need, `extra_scopes` are the scopes
    besides. `{tenant}` in an address is the app's tenant. `permanent_errors` are the codes by which it says that a
    refresh token will never work again. `parse_account` reads the account out of the answer to `account_url`, None
    where there is none. `revocation_requests` makes the requests that revoke a pair, each of which must succeed;
    unless the provider `revokes_single_token` and nothing else, that may end what else the account has given to the
    same client. `key_pattern` is the form of the keys that people may paste instead of consenting.
    """

    name: str
    scopes_by_service: Mapping[str, Scopes]
    authorize_url: str
    token_url: str
    account_url: str
    parse_account: Callable[[Any], ProviderAccount | None]
    extra_scopes: Scopes = ()
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    token_params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    client_auth: Literal["basic", "body", "none"] = "body"
    body_format: Literal["form", "json"] = "form"
    pkce: bool = True
    permanent_errors: frozenset[str] = INVALID_GRANT_ERRORS
    issuer: str = ""
    revoke_url: str = ""
    revocation_requests: Callable[["Provider", App, Tokens], Iterable[ProviderRequest]] | None = None
    revokes_single_token: bool = False
    key_pattern: re.Pattern[str] | None = None

    @property
    def services(self) -> tuple[str, ...]:
        """The services whose tokens it issues."""
        return tuple(self.scopes_by_service)

    def scopes(self, services: Iterable[str]) -> Scopes:
        """What a consent for these services asks for, so that all their tools work."""
        scopes = [scope for service in services for scope in self.scopes_by_service[service]]
        return tuple(dict.fromkeys([*scopes, *self.extra_scopes]))

    def accepts_key(self, key: SecretStr) -> bool:
        """Whether this may be a key that a person made there and pasted here."""
        return self.key_pattern is not None and self.key_pattern.fullmatch(key.get_secret_value()) is not None

    def is_issuer(self, iss: str | None) -> bool:
        """Whether an answer's `iss` (RFC 9207) is this provider's; always so where it announces none."""
        return not self.issuer or iss == self.issuer

    def credentials(self, app: App) -> Credentials:
        """The headers and the fields by which we show who we are."""
        if self.client_auth == "none":
            return {}, {"client_id": app.client_id}
        if app.client_secret is None:
            raise NotConfigured(service=self.name, problem="its client secret is missing")
        if self.client_auth == "body":
            return {}, {"client_id": app.client_id, "client_secret": app.client_secret.get_secret_value()}
        return basic_auth_header(app.client_id, app.client_secret), {}


def basic_auth_header(client_id: str, secret: SecretStr | None) -> dict[str, str]:
    """The header by which a client authenticates, its parts escaped as RFC 6749 has it (section 2.3.1)."""
    parts = (client_id, secret.get_secret_value() if secret else "")
    pair = ":".join(quote(part, safe="") for part in parts)
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def printable(value: Any) -> str:
    """A provider's word for an account, in one line of sensible length; empty where it is no text."""
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    return "".join(letter for letter in text if letter.isprintable()).strip()[:MAX_PROVIDER_TEXT_LENGTH]
