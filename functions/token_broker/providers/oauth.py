"""OAuth: the steps of a connection's life as every provider's dialect has them.

Reference: https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

from pydantic import SecretStr

from mcpist.errors import McpistError, NotConfigured, RateLimitExceeded, UpstreamUnavailable
from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.provider import INVALID_GRANT, Linked, Provider, Scopes, named
from token_broker.providers.wire import MOST_SECONDS, Asked, Said, ask

RETRY_AFTER_SECONDS = 30
LONGEST_LIFE_SECONDS = 10 * 366 * 86_400
MOST_SCOPES = 200

# A code that is used up, too old or another's; the second word is GitHub's.
CODE_REFUSED = INVALID_GRANT | {"bad_verification_code"}
# What our own app's registration must be changed for; the words beside RFC 6749's are GitHub's and Atlassian's.
OUR_APP = {
    "access_denied",
    "application_suspended",
    "incorrect_client_credentials",
    "invalid_client",
    "invalid_scope",
    "redirect_uri_mismatch",
    "unauthorized_client",
    "unsupported_grant_type",
}
# The other words that may be quoted: any that nobody defined may be what we sent.
QUOTED = CODE_REFUSED | {"invalid_request", "server_error", "temporarily_unavailable"}
_TOKEN = re.compile(r"[!-~]{1,16384}")  # what can stand in a header (RFC 6750)


class GrantDead(Exception):  # a signal to who keeps the grant, not an error of ours
    """The provider will never take this code or refresh token again, and says so with `code`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class TokenRefused(Exception):  # a signal to who connects an account, not an error of ours
    """The provider takes this access token for no account that a service could act as."""


@dataclass(frozen=True, slots=True)
class Redeemed:
    """A pair of tokens that the provider just issued.

    The access token `lives` so many seconds, to `expires_at` (epoch); None where the provider does not say. Nor does
    each say the `scopes`.
    """

    tokens: Tokens
    expires_at: int | None
    scopes: Scopes | None
    lives: int | None


def authorize_url(
    provider: Provider, app: App, *, state: str, challenge: str, redirect_uri: str, services: Sequence[str]
) -> str:
    """Where the person's browser goes to consent to these services; `challenge` is PKCE's, of the method S256."""
    scopes = " ".join(provider.scopes(services))
    asked = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        **({"scope": scopes} if scopes else {}),
        **({"code_challenge": challenge, "code_challenge_method": "S256"} if provider.pkce else {}),
        **provider.params,
    }
    url = _of(provider.authorize_url, app)
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"


def redeem(
    provider: Provider,
    app: App,
    *,
    code: SecretStr,
    verifier: SecretStr,
    redirect_uri: str,
    seconds: float = MOST_SECONDS,
) -> Redeemed:
    """The tokens for the code that a person's consent brought; GrantDead where the code is no good."""
    told = {"grant_type": "authorization_code", "code": code.get_secret_value(), "redirect_uri": redirect_uri}
    if provider.pkce:
        told["code_verifier"] = verifier.get_secret_value()
    return _issued(provider, app, told, refused=CODE_REFUSED, seconds=seconds)


def refresh(provider: Provider, app: App, refresh_token: SecretStr, *, seconds: float = MOST_SECONDS) -> Redeemed:
    """A new pair for a refresh token, or a new access token beside the old refresh token.

    GrantDead only where the provider says, below status 500, that this refresh token will never work again.
    """
    told = {"grant_type": "refresh_token", "refresh_token": refresh_token.get_secret_value()}
    redeemed = _issued(provider, app, told, refused=provider.dead, seconds=seconds)
    if redeemed.tokens.refresh_token is not None:
        return redeemed
    return replace(redeemed, tokens=Tokens(redeemed.tokens.access_token, refresh_token))


def revoke(
    provider: Provider, app: App | None, tokens: Tokens, *, seconds: float = MOST_SECONDS
) -> Literal["revoked", "unsupported", "failed"]:
    """Make the provider forget a pair; a key that a person pasted stays theirs, and nothing is raised."""
    if provider.revoking is None or app is None or provider.takes(tokens.access_token):
        return "unsupported"
    until = time.monotonic() + seconds
    try:
        answers = [
            ask(_headed(provider, asked), provider.name, until - time.monotonic())
            for asked in provider.revoking(provider, app, tokens)
        ]
    except McpistError:
        return "failed"
    if not answers:
        return "unsupported"
    return "revoked" if all(map(_is_revoked, answers)) else "failed"


def account(provider: Provider, access_token: SecretStr, *, seconds: float = MOST_SECONDS) -> Linked:
    """Whose account a token is, asked at the provider's own fixed address; TokenRefused where it is nobody's."""
    if not provider.account_url:
        return Linked("", provider.name)
    headers = {"authorization": f"Bearer {access_token.get_secret_value()}"}
    said = ask(_headed(provider, Asked("GET", provider.account_url, headers=headers)), provider.name, seconds)
    _check_standing(provider, said)
    if said.status in {401, 403, 404}:
        raise TokenRefused(f"it answered {said.status}")
    linked = _linked(provider, said)
    return replace(linked, kind="person") if provider.takes(access_token) else linked


def _linked(provider: Provider, said: Said) -> Linked:
    try:
        linked = provider.knows(said.body) if said.is_success else None
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        raise UpstreamUnavailable(service=provider.name, problem="it names the account in no known way") from None
    if not said.is_success:
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {said.status}")
    if linked is None or not linked.id:
        raise TokenRefused("it reaches no account")
    held = said.headers.get("x-oauth-scopes")  # GitHub's
    return replace(linked, scopes=_scopes(held)) if held else linked


def _issued(
    provider: Provider, app: App, told: Mapping[str, str], *, refused: frozenset[str], seconds: float
) -> Redeemed:
    headers, fields = provider.credentials(app)
    told = {**told, **provider.token_params, **fields}
    asked = Asked("POST", _of(provider.token_url, app), headers=headers, **{provider.body: told})
    began = int(time.time())
    said = ask(_headed(provider, asked), provider.name, seconds)
    _check(provider, said, refused)
    token = said.field("access_token")
    if not said.is_success or not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {said.status} without a token")
    renewed, lives = said.field("refresh_token"), _seconds(said.field("expires_in"))
    is_token = isinstance(renewed, str) and _TOKEN.fullmatch(renewed)
    return Redeemed(
        tokens=Tokens(SecretStr(token), SecretStr(renewed) if is_token else None),
        expires_at=None if lives is None else began + lives,
        scopes=_scopes(said.field("scope")),
        lives=lives,
    )


def _check(provider: Provider, said: Said, refused: frozenset[str]) -> None:
    """Read what the body says before the status: some providers refuse with 200, some with 403."""
    code = said.field("error")
    code = code if isinstance(code, str) else ""
    if said.status < 500 and said.status != 429:
        if code in refused:
            raise GrantDead(code)
        if code in OUR_APP or (said.status == 401 and not code):
            raise NotConfigured(service=provider.name, problem=f"it does not accept our app ({code or said.status})")
    _check_standing(provider, said)
    if code:
        known = code if code in QUOTED else "an unknown error"
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {said.status} ({known})")


def _check_standing(provider: Provider, said: Said) -> None:
    """Whether it limits us, or is out of order."""
    from mcpist.running.rate_limits import is_limit, retry_after, whole

    if is_limit(said.status, said.headers, said.body):
        wait = retry_after(said.headers)
        raise RateLimitExceeded(service=provider.name, retry_after=RETRY_AFTER_SECONDS if wait is None else whole(wait))
    if said.status >= 500:
        raise UpstreamUnavailable(service=provider.name, problem=f"it answered {said.status}")


def _is_revoked(said: Said) -> bool:
    """Whether the token is gone: Google refuses one that already was."""
    return said.is_success or (said.status == 400 and said.field("error") == "invalid_token")


def _headed(provider: Provider, asked: Asked) -> Asked:
    return replace(asked, headers={**provider.headers, **asked.headers})


def _of(url: str, app: App) -> str:
    return url.replace("{tenant}", app.tenant)


def _seconds(value: Any) -> int | None:
    """A lifetime; one that cannot be is as good as none, for the tokens beside it must not be lost."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(seconds, LONGEST_LIFE_SECONDS) if seconds > 0 and not isinstance(value, bool) else None


def _scopes(value: Any) -> Scopes | None:
    """Scopes as a list in one text, separated by spaces, or by commas as GitHub's.

    Not more of them, nor longer ones, than can be stored: the tokens beside them must not be lost.
    """
    found = re.split(r"[ ,]+", value) if isinstance(value, str) else []
    return tuple(filter(None, map(named, found)))[:MOST_SCOPES] or None
