"""Credentials: the grant that acts for a caller, and its access token.

The order is strict. The caller's own grant comes first, then those of the caller's roles, in their order. The first
that exists decides: when it no longer works, its owner must reconnect it, and no other account acts instead.
An own grant that is not open to the caller's current roles does not count: the user excluded it for these roles, so a
role's shared grant acts, as it would if the user had never connected.
"""

import time
from collections.abc import Iterable

from mcpist.caller import Caller
from mcpist.errors import Conflict, ConnectionRequired, ReconnectRequired
from mcpist.running.broker import Credential
from mcpist.settings import settings
from token_broker.grants import grants
from token_broker.grants.grant import (
    StoredGrant,
    cache_credential,
    cached_credential,
    opened_credentials,
    remaining_cache_seconds,
)
from token_broker.resolving.lease import DEFAULT_LEASE_TIMING, LeaseTiming
from token_broker.resolving.refresh import AuditContext, refresh_grant

# A service that refuses a token as new as this would refuse the next one as well.
FRESH_TOKEN_SECONDS = 60
# How often a grant may be removed or replaced while it is resolved.
MAX_RESOLVE_ATTEMPTS = 3


def resolve(
    caller: Caller,
    service: str,
    *,
    refused: int | None = None,
    pace: LeaseTiming = DEFAULT_LEASE_TIMING,
) -> Credential:
    """Return the credential for a call of a service; ConnectionRequired and ReconnectRequired carry the URL to open.

    `refused` is the version of the credential that the service refused: then a newer version is returned, or the
    grant is refreshed; one that cannot be refreshed, or was stored within the last minute, is returned again.
    """
    cached = cached_credential(caller, service)
    if cached and (refused is None or cached.version > refused):
        return cached
    for _ in range(MAX_RESOLVE_ATTEMPTS):
        read_at = opened_credentials.clock()
        grant = select_grant(caller, grants.fetch(caller, [service]), service)
        if grant is None:
            from token_broker.providers import require_dialect

            require_dialect(service)
            raise ConnectionRequired(service=service, url=_url(caller, service))
        current = _refresh_if_needed(grant, AuditContext(caller, service), refused, pace)
        if current and current.id == grant.id:
            return _to_credential(caller, service, current, read_at)
    raise Conflict(what=f"the {service} connection")


def _refresh_if_needed(
    grant: StoredGrant, audit_context: AuditContext, refused: int | None, pace: LeaseTiming
) -> StoredGrant | None:
    """Return the grant with a valid access token; None if it no longer exists."""
    is_refused = grant.version == refused and not 0 <= time.time() - grant.updated_at < FRESH_TOKEN_SECONDS
    if grant.rejection is None and grant.has_refresh_token and (is_refused or grant.needs_refresh):
        return refresh_grant(grant, audit_context, refused=is_refused, pace=pace)
    return grant


def _to_credential(caller: Caller, service: str, grant: StoredGrant, read_at: float) -> Credential:
    if not grant.is_usable:
        raise ReconnectRequired(service=service, url=_url(caller, service))
    account = grant.account
    credential = Credential(
        token=grant.unseal_token("access_token").get_secret_value(),
        account_id=account.account_id,
        account_name=account.account_name,
        owner=grant.owner,
        expires_at=account.expires_at,
        version=grant.version,
        scopes=account.scopes,
        site_url=account.site_url,
        keep_seconds=remaining_cache_seconds(read_at),
    )
    if not grant.needs_refresh:
        cache_credential(caller, service, grant, credential, read_at=read_at)
    return credential


def _url(caller: Caller, service: str) -> str:
    return settings().connect_url(service, caller.organization, caller.user)


def select_grant(caller: Caller, existing: Iterable[StoredGrant], service: str) -> StoredGrant | None:
    """Return the grant that acts for the caller at a service, whether it works or not."""
    by_owner = {grant.owner: grant for grant in existing if service in grant.account.services}
    own = by_owner.get(grants.personal_owner(caller.user))
    if own and own.is_open_to(caller.role_names):
        return own
    return next((by_owner[owner] for owner in map(grants.shared_owner, caller.role_names) if owner in by_owner), None)
