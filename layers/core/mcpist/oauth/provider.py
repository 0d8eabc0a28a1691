"""Provider: the issuer of some services' tokens, its dialect of OAuth, and our own client (app) there."""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, quote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from mcpist.errors import NotConfigured
from mcpist.public_address import is_public
from mcpist.settings import settings

type AccountKind = Literal["person", "bot", "organization"]
type Credentials = tuple[dict[str, str], dict[str, str]]

# RFC 6749, section 5.2: the code or refresh token is invalid, expired, revoked or another client's.
INVALID_GRANT_ERRORS = frozenset({"invalid_grant"})
MAX_PROVIDER_TEXT_LENGTH = 200
_HOST_PATTERN = re.compile(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*", re.IGNORECASE)
_PRIVATE_SUFFIXES = (".internal", ".local", ".localhost", ".localdomain", ".home.arpa", ".lan")


def check_public_url(url: str, *, loopback: bool | None = None) -> str:
    """Accept an https address of the internet; a loopback address only if asked to, or in a local deployment."""
    parts = urlsplit(url)
    if loopback is None:
        loopback = _is_loopback(settings().public_url)
    odd = "@" in parts.netloc or parts.fragment or parts.port == 0 or not re.fullmatch(r"[!-~]+", url)
    if odd or not parts.hostname:
        raise ValueError("it is no plain URL")
    if not (_is_public_host(parts) or (loopback and _is_loopback(url))):
        raise ValueError("it is not https, or not an address of the internet")
    return url


def _is_public_host(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return parts.scheme == "https" and is_public(ip_address(host))
    except ValueError:
        named = _HOST_PATTERN.fullmatch(host) is not None and not host.endswith(_PRIVATE_SUFFIXES)
        return parts.scheme == "https" and named


def _is_loopback(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}


type Url = Annotated[str, StringConstraints(max_length=1000), AfterValidator(check_public_url)]
type VisibleAscii = Annotated[str, StringConstraints(max_length=500, pattern=r"^[!-~]+$")]


class App(BaseModel):
    """Our client at a provider; its repr shows no secret."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    client_id: VisibleAscii
    client_secret: SecretStr | None = None
    tenant: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]{1,100}$")] = "common"
    """The directory whose accounts may connect, for a provider whose addresses contain `{tenant}`."""

    @property
    def identity(self) -> str:
        """The name under which grants keep it: no app of another identity refreshes or revokes their tokens."""
        return self.client_id


class OAuthServerApp(App):
    """Our client at an OAuth 2.1 server that no service declares, with that server's addresses."""

    authorize_url: Url
    token_url: Url
    revoke_url: Url | Literal[""] = ""
    """RFC 7009's endpoint."""
    userinfo_url: Url | Literal[""] = ""
    """OpenID Connect's endpoint, which names the account."""
    issuer: Url | Literal[""] = ""
    """The `iss` that its responses must carry (RFC 9207)."""
    resource: Url | Literal[""] = ""
    """The resource that tokens are requested for (RFC 8707); MCP servers require it."""
    scopes: Annotated[tuple[VisibleAscii, ...], Field(max_length=100)] = ()
    client_auth: Literal["basic", "body"] = "basic"
    """How the client authenticates at the token endpoint: by header or by body fields."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A pair of tokens in memory; its repr shows neither."""

    access_token: SecretStr
    refresh_token: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to a provider; its repr shows nothing that may be secret."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    """The fields of a form-encoded body."""
    json: Mapping[str, Any] | None = field(default=None, repr=False)
    """The fields of a JSON body."""


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """The account that a token acts as."""

    id: str
    """The provider's id; it replaces `{account}` in a service's host."""
    name: str
    kind: AccountKind = "person"
    """A person's permissions change with the person; a bot and an organization remain when people leave."""
    scopes: tuple[str, ...] | None = None
    """The granted scopes, where the provider names them."""
    site_url: str = ""
    """The address of the account's own site, where people see what it holds."""
    others: tuple["ProviderAccount", ...] = ()
    """Further accounts that the token reaches: the person chooses one of all."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The fixed facts of a provider: its addresses, its dialect, and how to read its responses."""

    name: str
    """The name in keys, parameters and addresses of ours."""
    authorize_url: str
    """The consent page, empty for a service of keys alone; `{tenant}` here and in the next is the app's tenant."""
    token_url: str
    account_url: str
    """The address that names a token's account; empty: nothing is requested."""
    parse_account: Callable[[Any], ProviderAccount | None]
    """Read the account from the JSON of `account_url`, or without that address from a pasted key.

    None where the token reaches no account, or the key names none. It may raise what is wrong with a key.
    """
    title: str = ""
    """The name that people know it by; empty: its service's title."""
    scopes_by_service: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Per service the scopes that its tools need; gathered from the services' `CONSENT`."""
    extra_scopes: tuple[str, ...] = ()
    """The scopes of every consent besides, such as `offline_access`."""
    scope_parameter: str = "scope"
    """The parameter of the consent page that lists the scopes."""
    scope_separator: str = " "
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    """Further query parameters of the consent page."""
    token_params: Mapping[str, str] = field(default_factory=dict)
    """Further fields of token requests."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of all requests."""
    client_auth: Literal["basic", "body", "none"] = "body"
    """How our client authenticates at the token endpoint; `none` for a public client."""
    body_format: Literal["form", "json"] = "form"
    """The encoding of token requests."""
    pkce: bool = True
    """Whether it supports PKCE (RFC 7636)."""
    invalid_code_errors: frozenset[str] = INVALID_GRANT_ERRORS
    """The error codes that mean: this authorization code is used, expired or another client's."""
    permanent_errors: frozenset[str] = INVALID_GRANT_ERRORS
    """The error codes that mean: this refresh token will never work again."""
    app_errors: frozenset[str] = frozenset()
    """The error codes, besides RFC 6749's, that mean: our app's registration must be changed."""
    parse_tokens: Callable[[Any], Any] = lambda body: body
    """Return the object that holds the tokens, from the JSON of a successful token response."""
    ended_token_errors: frozenset[str] = frozenset({"invalid_token"})
    """The error codes of a revocation that mean: this token had ended before."""
    scopes_header: str = ""
    """The header of `account_url`'s response that lists the granted scopes, in lower case."""
    issuer: str = ""
    """The `iss` that its responses carry (RFC 9207); empty: not checked."""
    revoke_url: str = ""
    revocation_requests: Callable[["Provider", App, Tokens], Iterable[ProviderRequest]] | None = None
    """Make the requests that revoke a pair, each of which must succeed; None where nothing can be revoked."""
    revokes_single_token: bool = False
    """Whether revoking ends that token only; otherwise it may end all that the account granted to our client."""
    key_pattern: re.Pattern[str] | None = None
    """The form of the keys that people may paste instead of consenting; None: none is accepted."""
    key_example: str = ""
    """How such a key looks, for people."""
    key_page: str = ""
    """The page on which people create such a key."""

    @property
    def services(self) -> tuple[str, ...]:
        """The services whose tokens it issues."""
        return tuple(self.scopes_by_service)

    def scopes(self, services: Iterable[str]) -> tuple[str, ...]:
        """Return the scopes of a consent for these services, so that all their tools work."""
        scopes = [scope for service in services for scope in self.scopes_by_service[service]]
        return tuple(dict.fromkeys([*scopes, *self.extra_scopes]))

    def accepts_key(self, key: SecretStr) -> bool:
        """Whether this may be a key that a person created there and pasted here."""
        return self.key_pattern is not None and self.key_pattern.fullmatch(key.get_secret_value()) is not None

    def is_issuer(self, iss: str | None) -> bool:
        """Whether a response's `iss` (RFC 9207) is this provider's; always true where it announces none."""
        return not self.issuer or iss == self.issuer

    def credentials(self, app: App) -> Credentials:
        """Return the headers and the body fields by which our client authenticates."""
        # A public client has no secret; RFC 6749 then wants its id in the body.
        if self.client_auth == "none":
            return {}, {"client_id": app.client_id}
        if app.client_secret is None:
            raise NotConfigured(service=self.name, problem="its client secret is missing")
        if self.client_auth == "body":
            return {}, {"client_id": app.client_id, "client_secret": app.client_secret.get_secret_value()}
        return basic_auth_header(app.client_id, app.client_secret), {}


@dataclass(frozen=True, slots=True)
class Consent:
    """A service's declaration of how its accounts are connected: the `CONSENT` in its oauth.py."""

    provider: Provider
    """The issuer of its tokens; several services may share one."""
    scopes: tuple[str, ...] = ()
    """The scopes that its tools need."""


def basic_auth_header(client_id: str, secret: SecretStr | None) -> dict[str, str]:
    """Return the header by which a client authenticates, its parts escaped as in RFC 6749, section 2.3.1."""
    parts = (client_id, secret.get_secret_value() if secret else "")
    pair = ":".join(quote(part, safe="") for part in parts)
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def printable(value: Any) -> str:
    """Return a provider's text for an account as one line of limited length; empty for a value that is no text."""
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    return "".join(letter for letter in text if letter.isprintable()).strip()[:MAX_PROVIDER_TEXT_LENGTH]
