"""Credentials: which grant acts for a caller, and its access token.

The order is strict. The caller's own grant comes first, then those of the caller's roles, in their order. The first
that stands there decides: when it no longer works, its owner must reconnect it, and no other account acts instead.
An own grant that is not open to the roles the caller acts with does not stand there: the user excluded it for this
role, so the role's shared grant acts, as it would if the user had never connected.
"""

from collections.abc import Iterable

from mcpist.broker import Credential
from mcpist.caller import Caller
from mcpist.errors import ConnectionRequired, ReconnectRequired
from mcpist.settings import settings

from . import grants
from .grants import Grant


def resolve(caller: Caller, service: str) -> Credential:
    """What a call of this service is sent with; ConnectionRequired or ReconnectRequired carry the URL to go to."""
    grant = choose(caller, grants.fetch(caller, [service]))
    url = settings().connect_url(service)
    if grant is None:
        raise ConnectionRequired(service=service, url=url)
    if grant.expired:
        raise ReconnectRequired(service=service, url=url)
    return Credential(
        token=grant.open("access_token").get_secret_value(),
        account_id=grant.account.account_id,
        account_name=grant.account.account_name,
        owner=grant.owner,
        expires_at=grant.account.expires_at,
    )


def choose(caller: Caller, standing: Iterable[Grant]) -> Grant | None:
    """The one grant that acts for the caller, out of those of one service; whether it works is not asked."""
    by_owner = {grant.owner: grant for grant in standing}
    own = by_owner.get(grants.personal(caller.user))
    if own and own.is_open_to(caller.role_names):
        return own
    return next((by_owner[owner] for owner in map(grants.shared, caller.role_names) if owner in by_owner), None)
