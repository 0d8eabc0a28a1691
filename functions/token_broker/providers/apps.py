"""Apps: our clients at the providers, as an administrator registered them there.

An app is one SecureString parameter, `${OAUTH_PARAMETERS}/<provider>`: JSON with the fields of `App`. The parameter
of a provider that no service declares describes the whole server (`OAuthServerApp`): any OAuth 2.1 server can be one.
Only the broker's role may read these parameters. None is read before a request needs it, and none is cached for more
than a minute. That one is missing is remembered as long, for the list of all services: it asks for each provider, and
reads them by one request before.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import batched

from pydantic import SecretStr, ValidationError

import mcpist_services
from mcpist.aws.clients import AwsError, ResourceMissing, client, store_errors
from mcpist.errors import NotConfigured
from mcpist.memory import Memory
from mcpist.oauth.provider import App, OAuthServerApp
from mcpist.settings import settings
from mcpist.validation import field_path, first_error

APP_CACHE_SECONDS = 60
MAX_CACHED_APPS = 100
# Two silent attempts end after 2.8 s.
MAX_READ_PARAMETERS = 10
"""Of one request, as AWS bounds it."""
SSM_CLIENT_OPTIONS = {"connect_seconds": 0.4, "read_seconds": 0.9, "attempts": 2}

_DENIED_CODES = {"AccessDeniedException", "InvalidKeyId", "KMSAccessDeniedException", "ValidationException"}

app_cache: Memory[str, App] = Memory(APP_CACHE_SECONDS, MAX_CACHED_APPS)
_missing_cache: Memory[str, bool] = Memory(APP_CACHE_SECONDS, MAX_CACHED_APPS)


def get_app(provider: str) -> App:
    """Return our client at a provider, cached for a minute; NotConfigured where an administrator must register it."""
    return app_cache.get_or_make(provider, lambda: _parse(provider, _read(provider)))


def is_set_up(provider: str, *, fresh: bool) -> bool:
    """Whether an administrator registered our client at a provider; unless `fresh`, a no is a minute old at most."""
    if not fresh and _missing_cache.get(provider) is not None:
        return False
    try:
        get_app(provider)
    except NotConfigured:
        _missing_cache.put(provider, value=True)
        return False
    _missing_cache.drop(lambda known, _: known == provider)
    return True


def read_ahead(providers: Iterable[str]) -> None:
    """Read what is not cached of several providers by one request.

    If AWS refuses that, each is read when it is needed.
    """
    wanted = {
        _parameter(provider): provider
        for provider in providers
        if app_cache.get(provider) is None and _missing_cache.get(provider) is None
    }
    for names in batched(wanted, MAX_READ_PARAMETERS, strict=False):
        try:
            with store_errors("parameters"):
                answer = client("ssm", **SSM_CLIENT_OPTIONS).get_parameters(Names=list(names), WithDecryption=True)
        except AwsError:
            return
        for name in answer["InvalidParameters"]:
            _missing_cache.put(wanted[name], value=True)
        for found in answer["Parameters"]:
            with suppress(NotConfigured):  # which `get_app` says
                provider = wanted[found["Name"]]
                app_cache.put(provider, _parse(provider, SecretStr(found["Value"])))


def _parse(provider: str, text: SecretStr) -> App:
    try:
        return _app_class(provider).model_validate_json(text.get_secret_value())
    except ValidationError as error:
        first = first_error(error)
        problem = f"its parameter is wrong ({field_path(first['loc'], 'JSON')}: {first['msg']})"
        raise NotConfigured(service=provider, problem=problem) from None


@cache
def _app_class(provider: str) -> type[App]:
    return App if provider in mcpist_services.providers() else OAuthServerApp


def _read(provider: str) -> SecretStr:
    name = _parameter(provider)
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


def _parameter(provider: str) -> str:
    return f"{settings().oauth_parameters}/{provider}"
