"""Connecting: from a person's wish through the provider to a stored grant.

A browser goes there with a state that counts once, and comes back to the broker with a code; or a person pastes a key.
What is found there is settled in `settlement`.
"""

import base64
import hashlib
import re
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from mcpist.caller import Caller
from mcpist.errors import (
    InvalidRequest,
    McpistError,
    NotConfigured,
    StaleConnection,
    UpstreamUnavailable,
)
from mcpist.settings import settings
from token_broker.connecting import completion, pending, session
from token_broker.connecting.connections import owner_to_be
from token_broker.connecting.pending import Found, Pending, Wish
from token_broker.grants.grant import Account, Tokens, provider_name
from token_broker.message import Begin, Confirm, Finish, Paste, Person
from token_broker.providers import Linked, Provider, find, oauth
from token_broker.providers.apps import app_of

# With AWS's own time, all that a provider is asked in one invocation ends before it does.
ANSWER_SECONDS = 8.0
# What providers say instead of a code (RFC 6749, section 4.1.2.1); any other word is about our app.
DECLINED = {"", "access_denied"}
PASSING = {"server_error", "temporarily_unavailable"}
LONGEST_CODE = 64


def begin(caller: Caller, asked: Begin, request: str) -> dict[str, Any]:
    """`{url, provider}`: where the browser goes to consent."""
    names = {provider_name(service) for service in asked.services}
    if len(names) > 1:
        raise InvalidRequest(field="services", problem="one consent is given to one provider")
    provider = find(names.pop())
    app = app_of(provider.name)
    if not settings().public_url:
        raise NotConfigured(service=provider.name, problem="the parameter PublicUrl is not set")
    wish = _wish(caller, asked, provider, asked.services)
    completion.clear(caller, request)
    state, verifier = pending.begin(wish)
    url = oauth.authorize_url(
        provider,
        app,
        state=state.get_secret_value(),
        challenge=_challenge(verifier),
        redirect_uri=_redirect_uri(provider),
        services=wish.services,
    )
    return {"url": url, "provider": provider.name}


def finish(caller: Caller, asked: Finish, request: str) -> dict[str, Any]:
    """What came of it: `outcome` is connected, declined or asks (see `completion.settle`)."""
    begun = pending.claim(caller.organization, asked.state, browser=_browser(asked), provider=asked.provider)
    with completion.noting_failure(caller, begun.wish, request):
        provider = find(begun.wish.provider)
        if not provider.is_issuer(asked.iss or None):
            raise StaleConnection
        if asked.code is None:
            return _declined(caller, begun, asked.error, request)
        _check_owner(caller, begun.wish)
        found = _redeem(caller, begun, provider, asked.code, request)
        return completion.settle(caller, begun, found, request)


def paste(caller: Caller, asked: Paste, request: str) -> dict[str, Any]:
    """As `finish`, with a key that the person made; InvalidRequest for one that the service does not take."""
    provider = find(provider_name(asked.service))
    if not provider.takes(asked.key):
        raise InvalidRequest(field="key", problem=f"it does not look like a key of {asked.service}")
    wish = _wish(caller, asked, provider, (asked.service,))
    completion.clear(caller, request)
    with completion.noting_failure(caller, wish, request):
        try:
            linked = oauth.account(provider, asked.key, seconds=ANSWER_SECONDS)
        except oauth.TokenRefused:
            raise InvalidRequest(field="key", problem=f"{asked.service} does not accept it") from None
        account = _linked(Account(services=wish.services, open_to=wish.open_to), linked, None)
        return completion.settle(caller, pending.open_(wish), Found(account, Tokens(asked.key)), request)


def confirm(caller: Caller, asked: Confirm, request: str) -> dict[str, Any]:
    """The answer to a question: `outcome` is connected, kept, or asks again if meanwhile yet another account stands."""
    answered = pending.answer(caller.organization, asked.question, browser=_browser(asked))
    found = answered.found
    if found is None:
        raise StaleConnection
    if asked.agreed:
        with completion.noting_failure(caller, answered.wish, request):
            try:
                _check_owner(caller, answered.wish)
            except McpistError:
                _give_up(caller, answered, found, request)
                raise
            return completion.settle(caller, answered, found, request, agreed=True)
    _give_up(caller, answered, found, request)
    return completion.outcome("kept", answered.wish)


def _redeem(caller: Caller, begun: Pending, provider: Provider, code: SecretStr, request: str) -> Found:
    """The tokens for the code, and whose account they are."""
    app, redirect_uri = app_of(provider.name), _redirect_uri(provider)
    try:
        redeemed = oauth.redeem(
            provider, app, code=code, verifier=begun.verifier, redirect_uri=redirect_uri, seconds=ANSWER_SECONDS
        )
    except oauth.GrantDead:
        raise StaleConnection from None
    account = Account(
        services=begun.wish.services,
        client_id=app.client_id,
        open_to=begun.wish.open_to,
        expires_at=redeemed.expires_at,
        lives=redeemed.lives,
    )
    try:
        linked = oauth.account(provider, redeemed.tokens.access_token, seconds=ANSWER_SECONDS)
    except (oauth.TokenRefused, McpistError) as error:
        completion.give_up(caller, begun.wish, Found(account, redeemed.tokens), request)
        if isinstance(error, McpistError):
            raise
        problem = f"the consent opens nothing at {provider.name}"
        raise InvalidRequest(field="account", problem=problem) from None
    return Found(_linked(account, linked, redeemed.scopes), redeemed.tokens)


def _declined(caller: Caller, begun: Pending, error: str, request: str) -> dict[str, Any]:
    """The provider sent the browser back without a code: mostly since the person said no."""
    pending.remove(begun)
    code = re.sub(r"[^A-Za-z0-9_.-]", "?", error)[:LONGEST_CODE]
    if code in PASSING:
        raise UpstreamUnavailable(service=begun.wish.provider, problem=f"it answered {code}")
    if code not in DECLINED:
        raise NotConfigured(service=begun.wish.provider, problem=f"it answered {code}")
    completion.note(caller, "connect", begun.wish, "", "declined", request)
    return completion.outcome("declined", begun.wish)


def _wish(caller: Caller, asked: Begin | Paste, provider: Provider, services: tuple[str, ...]) -> Wish:
    for service in services:
        if service not in provider.services:
            raise InvalidRequest(field="services", problem=f"{provider.name} has no service {service}")
    owner = owner_to_be(caller, services[0], asked.role, asked.open_to)
    return Wish(
        browser=_browser(asked),
        organization=caller.organization,
        user=caller.user,
        owner=owner,
        provider=provider.name,
        services=tuple(dict.fromkeys(services)),
        open_to=() if asked.role else asked.open_to,
    )


def _give_up(caller: Caller, answered: Pending, found: Found, request: str) -> None:
    pending.remove(answered)
    completion.give_up(caller, answered.wish, found, request)


def _check_owner(caller: Caller, wish: Wish) -> None:
    """Whether the caller may still do what was wished: since then they may have lost a role, or their office."""
    owner_to_be(caller, wish.services[0], wish.role, wish.open_to)


def _linked(account: Account, linked: Linked, granted: tuple[str, ...] | None) -> Account:
    """An account with what the provider says of it; what it granted counts before what it says later."""
    scopes = granted or linked.scopes or ()
    return replace(account, account_id=linked.id, account_name=linked.name, kind=linked.kind, scopes=scopes)


def _browser(asked: Person) -> str:
    return session.fingerprint(asked.organization, asked.proof.value)


def _challenge(verifier: SecretStr) -> str:
    """PKCE's challenge of the method S256 (RFC 7636)."""
    digest = hashlib.sha256(verifier.get_secret_value().encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _redirect_uri(provider: Provider) -> str:
    return f"{settings().public_url}/connect/callback/{provider.name}"
