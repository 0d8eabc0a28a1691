"""Apps: who we are at a provider, as an administrator registered it there.

An app is one SecureString parameter, `${OAUTH_PARAMETERS}/<provider>`: JSON with `client_id`, mostly `client_secret`,
for Microsoft maybe `tenant`. A provider that is not built in is described there as a whole (see `OAuthServerApp`), so
any OAuth 2.1 server can be one. Only the broker's role may read these parameters; nothing is read before a request
needs it, and what was read is forgotten after a minute.
"""

import ipaddress
import re
import time
from functools import cache
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints, ValidationError

from mcpist.aws.clients import AwsError, ResourceMissing, client, store_errors
from mcpist.errors import NotConfigured
from mcpist.settings import settings
from mcpist.validation import field_path, first_error

APP_CACHE_SECONDS = 60
MAX_CACHED_APPS = 100
# Two silent attempts end after 2.8 s.
SSM_CLIENT_OPTIONS = {"connect_seconds": 0.4, "read_seconds": 0.9, "attempts": 2}

_HOST_PATTERN = re.compile(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*", re.IGNORECASE)
_PRIVATE_SUFFIXES = (".internal", ".local", ".localhost", ".localdomain", ".home.arpa", ".lan")
_DENIED_CODES = {"AccessDeniedException", "InvalidKeyId", "KMSAccessDeniedException", "ValidationException"}


def _check_public_url(url: str) -> str:
    """An https address of the internet; on a machine that serves only itself, one of that machine as well."""
    parts = urlsplit(url)
    odd = "@" in parts.netloc or parts.fragment or parts.port == 0 or not re.fullmatch(r"[!-~]+", url)
    if odd or not parts.hostname:
        raise ValueError("it is no plain URL")
    if not (_is_public_host(parts) or (_is_loopback(url) and _is_loopback(settings().public_url))):
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


type Url = Annotated[str, StringConstraints(max_length=1000), AfterValidator(_check_public_url)]
type VisibleAscii = Annotated[str, StringConstraints(max_length=500, pattern=r"^[!-~]+$")]


class App(BaseModel):
    """Our client at a provider; a repr shows no secret."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    client_id: VisibleAscii
    client_secret: SecretStr | None = None
    tenant: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]{1,100}$")] = "common"


class OAuthServerApp(App):
    """Our client at an OAuth 2.1 server that is not built in, and where that server is.

    `issuer` is checked in its answers (RFC 9207). `userinfo_url` names the account (OpenID Connect). `resource` is
    asked a token for (RFC 8707), as MCP servers want it.
    """

    authorize_url: Url
    token_url: Url
    revoke_url: Url | Literal[""] = ""
    userinfo_url: Url | Literal[""] = ""
    issuer: Url | Literal[""] = ""
    resource: Url | Literal[""] = ""
    scopes: Annotated[tuple[VisibleAscii, ...], Field(max_length=100)] = ()
    client_auth: Literal["basic", "body"] = "basic"


_cache: dict[str, tuple[float, App]] = {}


def get_app(provider: str) -> App:
    """Our client at a provider, as a minute ago at most; NotConfigured where an administrator must set it up."""
    now = time.time()
    read_at, app = _cache.get(provider, (0.0, None))
    if app is None or not read_at <= now < read_at + APP_CACHE_SECONDS:
        app = _parse(provider, _read(provider))
        if len(_cache) >= MAX_CACHED_APPS:
            _cache.clear()
        _cache[provider] = now, app
    return app


def forget() -> None:
    """Read every parameter anew."""
    _cache.clear()


def _parse(provider: str, text: SecretStr) -> App:
    try:
        return _app_class(provider).model_validate_json(text.get_secret_value())
    except ValidationError as error:
        first = first_error(error)
        problem = f"its parameter is wrong ({field_path(first['loc'], 'JSON')}: {first['msg']})"
        raise NotConfigured(service=provider, problem=problem) from None


@cache
def _app_class(provider: str) -> type[App]:
    from token_broker.providers import BUILT_IN

    return App if provider in BUILT_IN else OAuthServerApp


def _read(provider: str) -> SecretStr:
    name = f"{settings().oauth_parameters}/{provider}"
    try:
        with store_errors("parameters"):
            answer = client("ssm", **SSM_CLIENT_OPTIONS).get_parameter(Name=name, WithDecryption=True)
    except ResourceMissing:
        raise NotConfigured(service=provider, problem=f"the parameter {name} is missing") from None
    except AwsError as error:
        if error.code not in _DENIED_CODES:
            raise
        raise NotConfigured(service=provider, problem=f"the parameter {name} cannot be read ({error.code})") from None
    return SecretStr(answer["Parameter"]["Value"])
