"""Credentials: which grant acts for a caller, and its access token.

The order is strict. The caller's own grant comes first, then those of the caller's roles, in their order. The first
that stands there decides: when it no longer works, its owner must reconnect it, and no other account acts instead.
An own grant that is not open to the roles the caller acts with does not stand there: the user excluded it for this
role, so the role's shared grant acts, as it would if the user had never connected.
"""

import time
from collections.abc import Iterable

from mcpist.caller import Caller
from mcpist.errors import Conflict, ConnectionRequired, ReconnectRequired
from mcpist.running.broker import Credential
from mcpist.settings import settings
from token_broker.grants import grants, memory
from token_broker.grants.grants import Grant
from token_broker.resolving.lease import PACE, Pace
from token_broker.resolving.refresh import Occasion, renewed

# A token as new as this that a service refuses is not the one at fault: the next one would be refused as well.
NEW_SECONDS = 60
# How often a grant may go away, or give way to another one, under our hands.
MOST_CHANGES = 3


def resolve(
    caller: Caller, service: str, *, refused: int | None = None, request: str = "", pace: Pace = PACE
) -> Credential:
    """What a call of this service is sent with; ConnectionRequired or ReconnectRequired carry the URL to go to.

    `refused` is the version of the credential that the service did not accept: a newer one is answered, or it is
    refreshed, or, where it cannot be or is new itself, answered again.
    """
    known = memory.find(caller, service)
    if known and (refused is None or known.version > refused):
        return known
    for _ in range(MOST_CHANGES):
        read_at = time.time()
        grant = choose(caller, grants.fetch(caller, [service]), service)
        if grant is None:
            raise ConnectionRequired(service=service, url=_url(caller, service))
        now = _current(grant, Occasion(caller, service, request), refused, pace)
        if now and now.id == grant.id:
            return _credential(caller, service, now, read_at)
    raise Conflict(what=f"the {service} connection")


def _current(grant: Grant, occasion: Occasion, refused: int | None, pace: Pace) -> Grant | None:
    """The grant with an access token that can be sent; None if the grant does not stand there any more."""
    is_refused = grant.version == refused and not 0 <= time.time() - grant.updated_at < NEW_SECONDS
    if grant.dead is None and grant.renewable and (is_refused or grant.ends_soon):
        return renewed(grant, occasion, refused=is_refused, pace=pace)
    return grant


def _credential(caller: Caller, service: str, grant: Grant, read_at: float) -> Credential:
    if not grant.works:
        raise ReconnectRequired(service=service, url=_url(caller, service))
    account = grant.account
    credential = Credential(
        token=grant.open("access_token").get_secret_value(),
        account_id=account.account_id,
        account_name=account.account_name,
        owner=grant.owner,
        expires_at=account.expires_at,
        version=grant.version,
        scopes=account.scopes,
        keep_seconds=memory.left(read_at),
    )
    if not grant.ends_soon:
        memory.keep(caller, service, grant, credential, read_at=read_at)
    return credential


def _url(caller: Caller, service: str) -> str:
    return settings().connect_url(service, caller.organization, caller.user)


def choose(caller: Caller, standing: Iterable[Grant], service: str) -> Grant | None:
    """The one grant that acts for the caller at a service; whether it works is not asked."""
    by_owner = {grant.owner: grant for grant in standing if service in grant.account.services}
    own = by_owner.get(grants.personal(caller.user))
    if own and own.is_open_to(caller.role_names):
        return own
    return next((by_owner[owner] for owner in map(grants.shared, caller.role_names) if owner in by_owner), None)
