"""Warrants: the broker's own sealed word that a batch may go on resolving after its caller has gone.

A warrant is sealed in the vault, so only the broker can write or read one, and only for the organization that it was
sealed for. What it grants is checked again at each use: it says who the user was, the directory says who it is now.
"""

import base64
import time
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr

from mcpist.caller import Caller, Subject
from mcpist.directory import identify
from mcpist.errors import AuthenticationError, AuthorizationError, IntegrityError

from . import vault

LONGEST_SECONDS = 3600


class Warrant(BaseModel):
    """Who may resolve what, and until when (epoch seconds)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    organization: str
    user: str
    issuer: str
    sub: str
    roles: tuple[str, ...]
    services: tuple[str, ...]
    expires_at: int


def issue(caller: Caller, services: Sequence[str], expires_at: int) -> dict[str, Any]:
    """`{warrant, expires_at}`: it ends then, or after LONGEST_SECONDS if that is sooner."""
    warrant = Warrant(
        organization=caller.organization,
        user=caller.user,
        issuer=caller.subject.issuer,
        sub=caller.subject.sub,
        roles=caller.role_names,
        services=tuple(services),
        expires_at=min(expires_at, int(time.time()) + LONGEST_SECONDS),
    )
    sealed = vault.seal(SecretStr(warrant.model_dump_json()), _place(caller.organization))
    return {"warrant": base64.urlsafe_b64encode(sealed).decode(), "expires_at": warrant.expires_at}


def redeem(value: SecretStr, *, organization: str, roles: Sequence[str], service: str) -> Caller:
    """The user that a warrant of this organization stands for, as the directory knows it now."""
    warrant = _open(value, organization)
    if warrant.expires_at <= time.time():
        raise AuthenticationError(problem="the batch's warrant has expired")
    if service not in warrant.services:
        raise AuthorizationError(name=service)
    for role in roles:
        if role not in warrant.roles:
            raise AuthorizationError(name=f"role {role}")
    caller = identify(Subject(warrant.issuer, warrant.sub), organization=organization)
    if caller.user != warrant.user:
        raise AuthenticationError(problem="the batch's warrant is another user's")
    return caller


def _open(value: SecretStr, organization: str) -> Warrant:
    try:
        sealed = base64.b64decode(value.get_secret_value(), altchars=b"-_", validate=True)
        opened = vault.unseal_proof(sealed, _place(organization))
    except (ValueError, IntegrityError):
        raise AuthenticationError(problem="the batch's warrant cannot be opened") from None
    return Warrant.model_validate_json(opened.get_secret_value())


def _place(organization: str) -> vault.Place:
    """No grant's owner or field has these names, so neither opens as the other."""
    return vault.Place(organization=organization, owner="batch", service="any", field="warrant", version=1)
