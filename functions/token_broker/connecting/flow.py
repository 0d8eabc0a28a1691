"""Connection flow: from a person's request through the provider to a stored grant.

A browser goes to the provider with a state that is valid once, and comes back with a code; or a person pastes a key.
`outcome` decides what becomes of the account and tokens.
"""

import re
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from mcpist.caller import MAIN_ACCOUNT, Caller
from mcpist.errors import (
    InvalidRequest,
    McpistError,
    ModuleNotFound,
    NotConfigured,
    StaleConnection,
    UpstreamUnavailable,
)
from mcpist.oauth.client_document import callback_url
from mcpist.oauth.pkce import challenge_of
from mcpist.oauth.provider import App, Provider, ProviderAccount, Tokens
from mcpist.settings import settings
from mcpist_services import NAMES, connectable_services, provider_name
from token_broker.connecting import outcome, pending
from token_broker.connecting.connections import new_grant_owner
from token_broker.connecting.pending import ConnectionIntent, ObtainedGrant, Pending
from token_broker.grants.grant import GrantedAccount, slot_of
from token_broker.message import Begin, Confirm, Finish, Paste, PersonMessage
from token_broker.proof import fingerprint
from token_broker.providers import find, find_with_app, oauth

# The requests to a provider in one invocation end before the invocation, also with the time that AWS takes.
CONNECTING_TIMEOUT_SECONDS = 8.0
# Errors instead of a code (RFC 6749, section 4.1.2.1): the person declined; any other is about our app.
DECLINED_ERRORS = {"", "access_denied"}
TRANSIENT_ERRORS = {"server_error", "temporarily_unavailable"}
MAX_ERROR_CODE_LENGTH = 64


def begin(caller: Caller, message: Begin) -> dict[str, Any]:
    """Return `{url, provider}`: the address of the consent page."""
    names = {provider_name(service) for service in message.services}
    if len(names) > 1:
        raise InvalidRequest(field="services", problem="one consent is given to one provider")
    name = names.pop()
    provider = find(name, caller)
    if not provider.authorize_url:
        raise NotConfigured(service=provider.name, problem="it has no consent page: paste a key")
    provider, app = find_with_app(name, caller)
    if not settings().public_url:
        raise NotConfigured(service=provider.name, problem="the parameter PublicUrl is not set")
    intent = replace(_connection_intent(caller, message, provider, message.services), app=app.identity)
    outcome.remove_stale_pending(caller)
    state, verifier = pending.begin(intent)
    url = oauth.authorize_url(
        provider,
        app,
        state=state.get_secret_value(),
        challenge=challenge_of(verifier.get_secret_value()),
        redirect_uri=callback_url(name),
        services=intent.services,
    )
    return {"url": url, "provider": provider.name}


def finish(caller: Caller, message: Finish) -> dict[str, Any]:
    """Return the outcome: connected, declined or asks (see `outcome.store_or_ask`)."""
    connection = pending.claim(caller.organization, message.state, browser=_browser(message), provider=message.provider)
    with outcome.recording_failure(caller, connection.intent):
        provider, app = find_with_app(connection.intent.provider, caller)
        if app.identity != connection.intent.app:
            raise StaleConnection
        if not provider.is_issuer(message.iss or None):
            raise StaleConnection
        if message.code is None:
            return _declined(caller, connection, message.error)
        _check_owner(caller, connection.intent)
        obtained = _exchange_code(caller, connection, provider, app, message.code)
        return outcome.store_or_ask(caller, connection, obtained)


def paste(caller: Caller, message: Paste) -> dict[str, Any]:
    """Store a pasted key as `finish` does tokens; InvalidRequest for one that the service does not accept."""
    provider = _key_provider(caller, message.service)
    if not provider.accepts_key(message.key):
        raise InvalidRequest(field="key", problem=f"it does not look like a key of {message.service}")
    intent = _connection_intent(caller, message, provider, (message.service,))
    outcome.remove_stale_pending(caller)
    with outcome.recording_failure(caller, intent):
        try:
            provider_account = oauth.fetch_account(provider, message.key, seconds=CONNECTING_TIMEOUT_SECONDS)
        except oauth.AccessTokenRejected:
            raise InvalidRequest(field="key", problem=f"{message.service} does not accept it") from None
        account = _with_provider_account(
            GrantedAccount(services=intent.services, open_to=intent.open_to), provider_account, None
        )
        return outcome.store_or_ask(caller, pending.store_claimed(intent), ObtainedGrant(account, Tokens(message.key)))


def confirm(caller: Caller, message: Confirm) -> dict[str, Any]:
    """Return the outcome of an answer: connected, kept, or asks again if another account was connected meanwhile."""
    connection = pending.answer(caller.organization, message.question, browser=_browser(message))
    obtained = connection.obtained
    if obtained is None:
        raise StaleConnection
    if message.agreed:
        with outcome.recording_failure(caller, connection.intent):
            try:
                _check_owner(caller, connection.intent)
                chosen = obtained.chosen(message.account)
            except McpistError:
                _discard(caller, connection, obtained)
                raise
            return outcome.store_or_ask(caller, connection, chosen, agreed=True)
    _discard(caller, connection, obtained)
    return outcome.outcome("kept", connection.intent)


def _key_provider(caller: Caller, service: str) -> Provider:
    """Return the provider of a service for which a key is pasted; ModuleNotFound for a service that nobody knows."""
    try:
        return find(provider_name(service), caller)
    except NotConfigured:
        if service in NAMES:
            raise
        raise ModuleNotFound(module=service, known=", ".join(connectable_services(caller))) from None


def _exchange_code(caller: Caller, connection: Pending, provider: Provider, app: App, code: SecretStr) -> ObtainedGrant:
    """Redeem the code, and fetch the account of the tokens."""
    try:
        token_response = oauth.exchange_code(
            provider,
            app,
            code=code,
            verifier=connection.verifier,
            redirect_uri=callback_url(provider.name),
            seconds=CONNECTING_TIMEOUT_SECONDS,
        )
    except oauth.GrantRejected:
        raise StaleConnection from None
    account = GrantedAccount(
        services=connection.intent.services,
        client_id=app.identity,
        open_to=connection.intent.open_to,
        expires_at=token_response.expires_at,
        lives=token_response.lives,
    )
    try:
        found = oauth.fetch_account(provider, token_response.tokens.access_token, seconds=CONNECTING_TIMEOUT_SECONDS)
        reached = _with_scopes(provider, connection.intent.services, found)
    except (oauth.AccessTokenRejected, McpistError) as error:
        outcome.revoke_if_unneeded(caller, connection.intent, ObtainedGrant(account, token_response.tokens))
        if isinstance(error, McpistError):
            raise
        problem = f"the consent opens nothing at {provider.name}"
        raise InvalidRequest(field="account", problem=problem) from None
    # Those of the response are of all accounts together.
    granted = token_response.scopes if not found.others else None
    first, *others = [_with_provider_account(account, one, granted) for one in reached]
    return ObtainedGrant(first, token_response.tokens, choices=tuple(others))


def _with_scopes(provider: Provider, services: tuple[str, ...], found: ProviderAccount) -> list[ProviderAccount]:
    """Return the accounts of a token at which a service can be used; AccessTokenRejected where there is none."""
    needed = {scope for service in services for scope in provider.scopes_by_service[service]}
    reached = [one for one in (found, *found.others) if not needed or one.scopes is None or needed & {*one.scopes}]
    if found.others and not reached:
        raise oauth.AccessTokenRejected("none of its accounts has a scope of the services")
    return reached or [found]


def _declined(caller: Caller, connection: Pending, error: str) -> dict[str, Any]:
    """Read the error that came instead of a code: mostly the person declined."""
    pending.remove(connection)
    code = re.sub(r"[^A-Za-z0-9_.-]", "?", error)[:MAX_ERROR_CODE_LENGTH]
    if code in TRANSIENT_ERRORS:
        raise UpstreamUnavailable(service=connection.intent.provider, problem=f"it answered {code}")
    if code not in DECLINED_ERRORS:
        raise NotConfigured(service=connection.intent.provider, problem=f"it answered {code}")
    outcome.record_audit(caller, "connect", connection.intent, "", "declined")
    return outcome.outcome("declined", connection.intent)


def _connection_intent(
    caller: Caller, message: Begin | Paste, provider: Provider, services: tuple[str, ...]
) -> ConnectionIntent:
    for service in services:
        if service not in provider.services:
            raise InvalidRequest(field="services", problem=f"{provider.name} has no service {service}")
    owner = new_grant_owner(caller, services[0], message.role, message.open_to)
    return ConnectionIntent(
        browser=_browser(message),
        organization=caller.organization,
        user=caller.user,
        slot=slot_of(owner, message.account or MAIN_ACCOUNT),
        provider=provider.name,
        services=tuple(dict.fromkeys(services)),
        open_to=() if message.role else message.open_to,
    )


def _discard(caller: Caller, connection: Pending, obtained: ObtainedGrant) -> None:
    pending.remove(connection)
    outcome.revoke_if_unneeded(caller, connection.intent, obtained)


def _check_owner(caller: Caller, intent: ConnectionIntent) -> None:
    """Raise AuthorizationError if the caller meanwhile lost a role or the administrator's rights."""
    new_grant_owner(caller, intent.services[0], intent.role, intent.open_to)


def _with_provider_account(
    account: GrantedAccount, provider_account: ProviderAccount, granted: tuple[str, ...] | None
) -> GrantedAccount:
    """Return an account with the provider's facts; the scopes of the token response precede those of the account."""
    scopes = granted or provider_account.scopes or ()
    return replace(
        account,
        account_id=provider_account.id,
        account_name=provider_account.name,
        kind=provider_account.kind,
        scopes=scopes,
        site_url=provider_account.site_url,
    )


def _browser(message: PersonMessage) -> str:
    proof = message.proof
    return fingerprint(message.organization, proof.value, is_session=proof.kind == "session")
