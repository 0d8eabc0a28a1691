"""Warrants: the broker's own sealed word that a batch may go on resolving after its caller has gone."""

import time
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError
from token_broker.vault.sealed_token import SealedToken

MAX_WARRANT_SECONDS = 3600


class Warrant(SealedToken):
    """Who may resolve what."""

    name = "the batch's warrant"
    expired_verb = "expired"
    place = ("batch", "warrant")

    roles: tuple[str, ...]
    services: tuple[str, ...]


def issue(caller: Caller, services: Sequence[str], expires_at: int) -> dict[str, Any]:
    """`{warrant, expires_at}`: it ends then, or after MAX_WARRANT_SECONDS if that is sooner."""
    ends = min(expires_at, int(time.time()) + MAX_WARRANT_SECONDS)
    warrant = Warrant.for_caller(caller, roles=caller.role_names, services=tuple(services), expires_at=ends)
    return {"warrant": warrant.seal(), "expires_at": ends}


def redeem(value: SecretStr, *, organization: str, roles: Sequence[str], service: str) -> Caller:
    """The user that a warrant of this organization stands for, as the directory knows it now."""
    warrant = Warrant.open(value, organization)
    if service not in warrant.services:
        raise AuthorizationError(name=service)
    for role in roles:
        if role not in warrant.roles:
            raise AuthorizationError(name=f"role {role}")
    return warrant.caller()
