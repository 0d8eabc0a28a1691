"""Connections: what people do with grants: store one, forget one, see which stand."""

from typing import Any

from mcpist.caller import Caller
from mcpist.directory import has_role
from mcpist.errors import AuthorizationError, InvalidRequest

from . import grants
from .credentials import choose
from .grants import Account, Grant, Tokens
from .message import Put


def put(caller: Caller, asked: Put) -> dict[str, Any]:
    """Store the caller's own grant, or as an administrator a role's; answers its row without secrets."""
    owner = _owner(caller, asked.service, asked.role)
    if asked.role and not has_role(caller.organization, asked.role):
        raise InvalidRequest(field="role", problem=f'there is no role "{asked.role}"')
    for role in asked.open_to:
        if role not in caller.role_names:
            raise AuthorizationError(name=f"role {role}")
    account = Account(
        account_id=asked.account_id,
        account_name=asked.account_name,
        client_id=asked.client_id,
        scopes=asked.scopes,
        open_to=asked.open_to,
        expires_at=asked.expires_at,
    )
    tokens = Tokens(asked.access_token, asked.refresh_token)
    return _row(
        caller,
        grants.save(caller.organization, asked.service, owner, account=account, tokens=tokens, replaces=asked.replaces),
    )


def revoke(caller: Caller, service: str, role: str | None) -> dict[str, Any]:
    """`{revoked}`: whether there was a grant to forget."""
    return {"revoked": grants.remove(caller.organization, service, _owner(caller, service, role))}


def status(caller: Caller, services: tuple[str, ...]) -> dict[str, Any]:
    """`{grants}`: the caller's own and those of its roles; of each service one `acts`, whether it works or not."""
    standing = grants.fetch(caller, services)
    acting = [choose(caller, [grant for grant in standing if grant.service == service]) for service in services]
    rows = ({**_row(caller, grant), "acts": grant in acting} for grant in standing)
    return {"grants": sorted(rows, key=lambda row: (row["service"], row["owner"]))}


def _owner(caller: Caller, service: str, role: str | None) -> str:
    if role is None:
        return grants.personal(caller.user)
    if caller.system_role != "admin":
        raise AuthorizationError(name=f"the shared {service} account")
    return grants.shared(role)


def _row(caller: Caller, grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "service": grant.service,
        "owner": grant.owner,
        "account_id": grant.account.account_id,
        "account_name": grant.account.account_name,
        "scopes": list(grant.account.scopes),
        "open_to": list(grant.account.open_to),
        "expires_at": grant.account.expires_at,
        "version": grant.version,
        "usable": not grant.expired and grant.is_open_to(caller.role_names),
        "created_at": grant.created_at,
        "updated_at": grant.updated_at,
    }
