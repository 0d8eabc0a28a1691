"""Credentials: the grant that acts for a caller, and its access token.

The order is strict. The caller's own grant comes first, then those of the caller's roles, in their order. The first
that exists decides: when it no longer works, its owner must reconnect it, and no other account acts instead.
An own grant that is not open to the caller's current roles does not count: the user excluded it for these roles, so a
role's shared grant acts, as it would if the user had never connected.

An owner may have several accounts at a service, told apart by labels. Without a label in the call the owner's default
one acts, or the only one; a batch keeps to those that acted when it began.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import product

from mcpist.caller import MAIN_ACCOUNT, Caller
from mcpist.errors import AccountNotChosen, Conflict, ConnectionRequired, ReconnectRequired, UnknownAccount
from mcpist.running.broker import Credential
from mcpist.settings import settings
from token_broker.grants import grants
from token_broker.grants.grant import AccountChoice, StoredGrant, label_of, owner_of
from token_broker.grants.grants import FoundGrants
from token_broker.grants.opened import cache_credential, cached_credential, opened_credentials, remaining_cache_seconds
from token_broker.resolving.lease import DEFAULT_LEASE_TIMING, LeaseTiming
from token_broker.resolving.refresh import AuditContext, refresh_grant

# A service that refuses a token as new as this would refuse the next one as well.
FRESH_TOKEN_SECONDS = 60
# How often a grant may be removed or replaced while it is resolved.
MAX_RESOLVE_ATTEMPTS = 3


def resolve(
    caller: Caller,
    choice: AccountChoice,
    *,
    refused: int | None = None,
    pace: LeaseTiming = DEFAULT_LEASE_TIMING,
) -> Credential:
    """Return the credential for a call of a service; ConnectionRequired and ReconnectRequired carry the URL to open.

    UnknownAccount and AccountNotChosen list the labels of the caller's accounts.

    `refused` is the version of the credential that the service refused: then a newer version is returned, or the
    grant is refreshed; one that cannot be refreshed, or was stored within the last minute, is returned again.
    """
    service = choice.service
    cached = cached_credential(caller, choice)
    if cached and (refused is None or cached.version > refused):
        return cached
    for _ in range(MAX_RESOLVE_ATTEMPTS):
        read_at = opened_credentials.clock()
        found = grants.fetch(caller, [service], by_default=not (choice.label or choice.pins))
        grant = select_grant(caller, found, choice)
        if grant is None:
            from token_broker.providers import require_dialect

            require_dialect(service)
            named = {"account": choice.label} if choice.label else {}
            raise ConnectionRequired(service=service, url=_url(caller, service), **named)
        current = _refresh_if_needed(grant, AuditContext(caller, service), refused, pace)
        if current and current.id == grant.id:
            return _to_credential(caller, choice, current, read_at)
    raise Conflict(what=f"the {service} connection")


def _refresh_if_needed(
    grant: StoredGrant, audit_context: AuditContext, refused: int | None, pace: LeaseTiming
) -> StoredGrant | None:
    """Return the grant with a valid access token; None if it no longer exists."""
    is_refused = grant.version == refused and not 0 <= time.time() - grant.updated_at < FRESH_TOKEN_SECONDS
    if grant.rejection is None and grant.has_refresh_token and (is_refused or grant.needs_refresh):
        return refresh_grant(grant, audit_context, refused=is_refused, pace=pace)
    return grant


def _to_credential(caller: Caller, choice: AccountChoice, grant: StoredGrant, read_at: float) -> Credential:
    if not grant.is_usable:
        named = {"account": grant.label} if grant.label != MAIN_ACCOUNT else {}
        raise ReconnectRequired(service=choice.service, url=_url(caller, choice.service), **named)
    account = grant.account
    credential = Credential(
        token=grant.unseal_token("access_token").get_secret_value(),
        account_id=account.account_id,
        account_name=grant.name,
        owner=grant.owner,
        label=grant.label,
        expires_at=account.expires_at,
        version=grant.version,
        scopes=account.scopes,
        site_url=account.site_url,
        keep_seconds=remaining_cache_seconds(read_at),
    )
    if not grant.needs_refresh:
        cache_credential(caller, choice, grant, credential, read_at=read_at)
    return credential


def _url(caller: Caller, service: str) -> str:
    return settings().connect_url(service, caller.organization, caller.user)


def select_grant(caller: Caller, found: FoundGrants, choice: AccountChoice) -> StoredGrant | None:
    """Return the grant that acts for the caller at a service, whether it works or not.

    UnknownAccount for a label of none of them, AccountNotChosen where several could act and none is the default.
    """
    serving = [grant for grant in found.grants if choice.service in grant.account.services]
    candidates = [grant for owner in _owners(caller) for grant in serving if grant.owner == owner]
    candidates = [grant for grant in candidates if grant.owner != _own(caller) or grant.is_open_to(caller.role_names)]
    if choice.label:
        return named(candidates, choice.service, choice.label) if candidates else None
    for owner in _owners(caller):
        pins = [
            pin
            for pin in choice.pins
            if pin.startswith(f"{choice.service}#") and owner_of(pin.partition("#")[2]) == owner
        ]
        gone = {*pins} - {_pin(choice.service, grant) for grant in serving}
        if gone:  # nothing else acts in place of one with which the batch began
            _refuse_gone(min(gone), choice.service, candidates)
            return None
        owned = [grant for grant in candidates if grant.owner == owner]
        if pins:
            owned = [grant for pin in pins for grant in owned if _pin(choice.service, grant) == pin][:1]
        if owned:
            return _default(found, owned, choice.service)
    return None


def named(candidates: Iterable[StoredGrant], service: str, label: str) -> StoredGrant:
    """Return the first grant with a label; UnknownAccount lists those that there are."""
    candidates = list(candidates)
    grant = next((grant for grant in candidates if grant.label == label), None)
    if grant is None:
        raise UnknownAccount(field="account", account=label, service=service, known=labels_of(candidates))
    return grant


def _refuse_gone(pin: str, service: str, others: list[StoredGrant]) -> None:
    """Raise UnknownAccount for an account that is gone; nothing where the person has no other."""
    if others:
        label = label_of(pin.partition("#")[2])
        raise UnknownAccount(field="account", account=label, service=service, known=labels_of(others))


def _default(found: FoundGrants, owned: list[StoredGrant], service: str) -> StoredGrant:
    """Return the default one of an owner's grants, or the only one."""
    default = next(filter(found.is_default, owned), owned[0])
    if len(owned) > 1 and not found.is_default(default):
        raise AccountNotChosen(field="account", service=service, known=labels_of(owned))
    return default


def labels_of(candidates: Iterable[StoredGrant]) -> str:
    """Return the labels of grants for an error."""
    return ", ".join(sorted({grant.label for grant in candidates}))


def pins_of(caller: Caller, services: Iterable[str]) -> list[str]:
    """Return the accounts that act now, for a batch to keep to: at each service, in each and in all of the roles.

    A role that has only ever had one account needs none.
    """
    found = grants.fetch(caller, services)
    pins: dict[str, None] = {}
    for service, roles in product(services, (caller.roles, *((role,) for role in caller.roles))):
        with suppress(AccountNotChosen):
            grant = select_grant(replace(caller, roles=roles), found, AccountChoice(service))
            if grant and (grant.owner == _own(caller) or (grant.provider, grant.owner) in found.defaults):
                pins[_pin(service, grant)] = None
    return list(pins)


def _pin(service: str, grant: StoredGrant) -> str:
    return f"{service}#{grant.slot}"


def _own(caller: Caller) -> str:
    return grants.personal_owner(caller.user)


def _owners(caller: Caller) -> list[str]:
    return [_own(caller), *map(grants.shared_owner, caller.role_names)]
