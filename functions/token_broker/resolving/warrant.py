"""Warrants: the broker's sealed permission for a batch to resolve its caller's grants for a while."""

import time
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError
from token_broker.vault.sealed_token import SealedToken

MAX_WARRANT_SECONDS = 3600


class Warrant(SealedToken):
    """A sealed permission: the roles and services that a batch may resolve."""

    name = "the batch's warrant"
    expired_verb = "expired"
    place = ("batch", "warrant")

    roles: tuple[str, ...]
    services: tuple[str, ...]


def issue(caller: Caller, services: Sequence[str], expires_at: int) -> dict[str, Any]:
    """Return `{warrant, expires_at}`; it is valid until then, but for MAX_WARRANT_SECONDS at most."""
    end = min(expires_at, int(time.time()) + MAX_WARRANT_SECONDS)
    warrant = Warrant.for_caller(caller, roles=caller.role_names, services=tuple(services), expires_at=end)
    return {"warrant": warrant.seal(), "expires_at": end}


def redeem(value: SecretStr, *, organization: str, roles: Sequence[str], service: str) -> Caller:
    """Return the user of an organization's warrant as the directory knows it now."""
    warrant = Warrant.open(value, organization)
    if service not in warrant.services:
        raise AuthorizationError(name=service)
    for role in roles:
        if role not in warrant.roles:
            raise AuthorizationError(name=f"role {role}")
    return warrant.caller()
