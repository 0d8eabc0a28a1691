"""Connections: grants as people see and own them."""

from typing import Any

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, InvalidRequest
from mcpist.people.directory import role_names
from token_broker.grants import grants
from token_broker.grants.grants import Grant
from token_broker.resolving.credentials import select_grant


def status(caller: Caller, services: tuple[str, ...]) -> dict[str, Any]:
    """Return `{grants}`: the caller's own and those of its roles; one for each service `acts`, working or not."""
    existing = grants.fetch(caller, services)
    rows = [
        {**grant_row(caller, grant, service), "acts": grant is select_grant(caller, existing, service)}
        for service in dict.fromkeys(services)
        for grant in existing
        if service in grant.account.services
    ]
    return {"grants": sorted(rows, key=lambda row: (row["service"], row["owner"]))}


def new_grant_owner(caller: Caller, service: str, role: str | None, open_to: tuple[str, ...]) -> str:
    """Return the owner of a new grant: the caller, for roles that the caller has, or a role that exists."""
    owner = grant_owner(caller, service, role)
    if role and role not in role_names(caller.organization):
        raise InvalidRequest(field="role", problem=f'there is no role "{role}"')
    for opened in open_to:
        if opened not in caller.role_names:
            raise AuthorizationError(name=f"role {opened}")
    return owner


def grant_owner(caller: Caller, service: str, role: str | None) -> str:
    """Return a grant's owner: the caller, or, only for an administrator, a role."""
    if role is None:
        return grants.personal_owner(caller.user)
    if caller.system_role != "admin":
        raise AuthorizationError(name=f"the shared {service} account")
    return grants.shared_owner(role)


def grant_row(caller: Caller, grant: Grant, service: str) -> dict[str, Any]:
    """Return a grant as people see it, without secrets."""
    return {
        "id": grant.id,
        "service": service,
        "owner": grant.owner,
        "account_id": grant.account.account_id,
        "account_name": grant.account.account_name,
        "scopes": list(grant.account.scopes),
        "open_to": list(grant.account.open_to),
        "expires_at": grant.account.expires_at,
        "version": grant.version,
        "usable": grant.is_usable and grant.is_open_to(caller.role_names),
        "created_at": grant.created_at,
        "updated_at": grant.updated_at,
    }
