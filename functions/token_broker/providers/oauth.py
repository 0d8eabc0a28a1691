"""OAuth client: consent, code exchange, refresh, revocation and account, in any provider's dialect.

Reference: https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal
from urllib.parse import urlencode

from pydantic import SecretStr

from mcpist.errors import McpistError, NotConfigured, RateLimitExceeded, UpstreamUnavailable
from mcpist.oauth.provider import App, Provider, ProviderAccount, ProviderRequest, Tokens, printable
from token_broker.providers.http_client import PROVIDER_TIMEOUT_SECONDS, ProviderResponse, send

DEFAULT_RETRY_AFTER_SECONDS = 30
MAX_TOKEN_LIFETIME_SECONDS = 10 * 366 * 86_400
MAX_SCOPES = 200

# Our app's registration must be changed: RFC 6749's codes, and two that several providers answer with.
APP_CONFIGURATION_ERRORS = {
    "access_denied",
    "invalid_client",
    "invalid_scope",
    "redirect_uri_mismatch",
    "unauthorized_client",
    "unsupported_grant_type",
}
# The other codes that may be quoted: an unknown one may repeat what we sent.
QUOTABLE_ERRORS = {"invalid_request", "server_error", "temporarily_unavailable"}
_TOKEN_PATTERN = re.compile(r"[!-~]{1,16384}")  # what can stand in a header (RFC 6750)


class GrantRejected(Exception):  # a signal to the caller that keeps the grant, not an error of ours
    """The provider will never accept this code or refresh token again; `code` is its reason."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class AccessTokenRejected(Exception):  # a signal to the caller that connects an account, not an error of ours
    """The access token reaches no account that a service could act as."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """A pair of tokens that the provider just issued; a field is None where the provider does not state it."""

    tokens: Tokens
    expires_at: int | None
    """The end of the access token (epoch seconds)."""
    scopes: tuple[str, ...] | None
    lives: int | None
    """The lifetime of the access token in seconds."""


def authorize_url(
    provider: Provider, app: App, *, state: str, challenge: str, redirect_uri: str, services: Sequence[str]
) -> str:
    """Return the address of the consent page for these services; `challenge` is PKCE's, by the method S256."""
    scopes = provider.scope_separator.join(provider.scopes(services))
    query = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        **({provider.scope_parameter: scopes} if scopes else {}),
        **({"code_challenge": challenge, "code_challenge_method": "S256"} if provider.pkce else {}),
        **provider.authorize_params,
    }
    url = _expand_tenant(provider.authorize_url, app)
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"


def exchange_code(
    provider: Provider,
    app: App,
    *,
    code: SecretStr,
    verifier: SecretStr,
    redirect_uri: str,
    seconds: float = PROVIDER_TIMEOUT_SECONDS,
) -> TokenResponse:
    """Redeem an authorization code; GrantRejected where the code is used, expired or another client's."""
    params = {"grant_type": "authorization_code", "code": code.get_secret_value(), "redirect_uri": redirect_uri}
    if provider.pkce:
        params["code_verifier"] = verifier.get_secret_value()
    return _request_tokens(provider, app, params, permanent_errors=provider.invalid_code_errors, seconds=seconds)


def refresh(
    provider: Provider, app: App, refresh_token: SecretStr, *, seconds: float = PROVIDER_TIMEOUT_SECONDS
) -> TokenResponse:
    """Redeem a refresh token for a new pair, or for a new access token beside the old refresh token.

    Raises GrantRejected only where the provider answers, below status 500, that this token will never work again.
    """
    params = {"grant_type": "refresh_token", "refresh_token": refresh_token.get_secret_value()}
    token_response = _request_tokens(provider, app, params, permanent_errors=provider.permanent_errors, seconds=seconds)
    if token_response.tokens.refresh_token is not None:
        return token_response
    return replace(token_response, tokens=Tokens(token_response.tokens.access_token, refresh_token))


def revoke(
    provider: Provider, app: App | None, tokens: Tokens, *, seconds: float = PROVIDER_TIMEOUT_SECONDS
) -> Literal["revoked", "unsupported", "failed"]:
    """Revoke a pair at the provider, without raising an error; a pasted key remains the person's."""
    if provider.revocation_requests is None or app is None or provider.accepts_key(tokens.access_token):
        return "unsupported"
    until = time.monotonic() + seconds
    try:
        responses = [
            send(_with_provider_headers(provider, request), provider.name, until - time.monotonic())
            for request in provider.revocation_requests(provider, app, tokens)
        ]
    except McpistError:
        return "failed"
    if not responses:
        return "unsupported"
    return "revoked" if all(_is_revoked(provider, response) for response in responses) else "failed"


def fetch_account(
    provider: Provider, access_token: SecretStr, *, seconds: float = PROVIDER_TIMEOUT_SECONDS
) -> ProviderAccount:
    """Request the account of a token; AccessTokenRejected where it has none."""
    if not provider.account_url:
        key = access_token.get_secret_value()
        named = provider.parse_account(key) if provider.accepts_key(access_token) else None
        return named or ProviderAccount("", provider.name)
    headers = {"authorization": f"Bearer {access_token.get_secret_value()}"}
    response = send(
        _with_provider_headers(provider, ProviderRequest("GET", provider.account_url, headers=headers)),
        provider.name,
        seconds,
    )
    _raise_for_unavailable(provider, response)
    if response.status in {401, 403, 404}:
        raise AccessTokenRejected(f"it answered {response.status}")
    account = _parse_account(provider, response)
    return replace(account, kind="person") if provider.accepts_key(access_token) else account


def _parse_account(provider: Provider, response: ProviderResponse) -> ProviderAccount:
    try:
        account = provider.parse_account(response.body) if response.is_success else None
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        raise UpstreamUnavailable(service=provider.name, problem="it names the account in no known way") from None
    if not response.is_success:
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {response.status}")
    if account is None or not account.id:
        raise AccessTokenRejected("it reaches no account")
    listed = response.headers.get(provider.scopes_header)
    return replace(account, scopes=_parse_scopes(listed)) if listed else account


def _request_tokens(
    provider: Provider, app: App, params: Mapping[str, str], *, permanent_errors: frozenset[str], seconds: float
) -> TokenResponse:
    headers, fields = provider.credentials(app)
    params = {**params, **provider.token_params, **fields}
    request = ProviderRequest(
        "POST", _expand_tenant(provider.token_url, app), headers=headers, **{provider.body_format: params}
    )
    began = int(time.time())
    response = send(_with_provider_headers(provider, request), provider.name, seconds)
    _raise_for_error(provider, response, permanent_errors)
    response = replace(response, body=provider.parse_tokens(response.body) if response.is_success else None)
    token = response.field("access_token")
    if not response.is_success or not isinstance(token, str) or not _TOKEN_PATTERN.fullmatch(token):
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {response.status} without a token")
    rotated, lives = response.field("refresh_token"), _parse_lifetime(response.field("expires_in"))
    is_token = isinstance(rotated, str) and _TOKEN_PATTERN.fullmatch(rotated)
    return TokenResponse(
        tokens=Tokens(SecretStr(token), SecretStr(rotated) if is_token else None),
        expires_at=None if lives is None else began + lives,
        scopes=_parse_scopes(response.field("scope")),
        lives=lives,
    )


def _raise_for_error(provider: Provider, response: ProviderResponse, permanent_errors: frozenset[str]) -> None:
    """Raise the error in the body before that of the status: some providers refuse with 200, some with 403."""
    code = response.field("error")
    code = code if isinstance(code, str) else ""
    if response.status < 500 and response.status != 429:
        if code in permanent_errors:
            raise GrantRejected(code)
        if code in APP_CONFIGURATION_ERRORS | provider.app_errors or (response.status == 401 and not code):
            raise NotConfigured(
                service=provider.name, problem=f"it does not accept our app ({code or response.status})"
            )
    _raise_for_unavailable(provider, response)
    if code:
        known = code if code in QUOTABLE_ERRORS | provider.invalid_code_errors else "an unknown error"
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {response.status} ({known})")


def _raise_for_unavailable(provider: Provider, response: ProviderResponse) -> None:
    """Raise an error for a rate limit or an outage."""
    from mcpist.running.refusals import is_rate_limit, retry_after

    if is_rate_limit(response.status, response.headers):
        wait = retry_after(response.headers)
        raise RateLimitExceeded(
            service=provider.name, retry_after=DEFAULT_RETRY_AFTER_SECONDS if wait is None else ceil(wait)
        )
    if response.status >= 500:
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {response.status}")


def _is_revoked(provider: Provider, response: ProviderResponse) -> bool:
    """Whether the token has ended; some providers refuse one that had ended before, and some refuse with 200."""
    code = response.field("error")
    if isinstance(code, str) and code:
        return response.status in {200, 400} and code in provider.ended_token_errors
    return response.is_success


def _with_provider_headers(provider: Provider, request: ProviderRequest) -> ProviderRequest:
    return replace(request, headers={**provider.headers, **request.headers})


def _expand_tenant(url: str, app: App) -> str:
    return url.replace("{tenant}", app.tenant)


def _parse_lifetime(value: Any) -> int | None:
    """Return a lifetime in seconds; None for an impossible one, so that the tokens beside it are not lost."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(seconds, MAX_TOKEN_LIFETIME_SECONDS) if seconds > 0 and not isinstance(value, bool) else None


def _parse_scopes(value: Any) -> tuple[str, ...] | None:
    """Return the scopes of a text that separates them by spaces or commas.

    Their number and length are bounded so that they can be stored: the tokens beside them must not be lost.
    """
    names = re.split(r"[ ,]+", value) if isinstance(value, str) else []
    return tuple(filter(None, map(printable, names)))[:MAX_SCOPES] or None
