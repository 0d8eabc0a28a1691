"""App: our own client at a provider, as an administrator registered it there."""

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from mcpist.settings import settings

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
        return parts.scheme == "https" and ipaddress.ip_address(host).is_global
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
