"""Connections: what people do with grants: store one, forget one, see which stand."""

from typing import Any

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, InvalidRequest
from mcpist.people.directory import role_names
from token_broker.grants import grants
from token_broker.grants.grants import Grant
from token_broker.resolving.credentials import select_grant


def status(caller: Caller, services: tuple[str, ...]) -> dict[str, Any]:
    """`{grants}`: the caller's own and those of its roles; of each service one `acts`, whether it works or not."""
    existing = grants.fetch(caller, services)
    rows = [
        {**grant_row(caller, grant, service), "acts": grant is select_grant(caller, existing, service)}
        for service in dict.fromkeys(services)
        for grant in existing
        if service in grant.account.services
    ]
    return {"grants": sorted(rows, key=lambda row: (row["service"], row["owner"]))}


def new_grant_owner(caller: Caller, service: str, role: str | None, open_to: tuple[str, ...]) -> str:
    """Whose a new grant becomes: the caller's own, open to some of the caller's roles, or a role's that there is."""
    owner = grant_owner(caller, service, role)
    if role and role not in role_names(caller.organization):
        raise InvalidRequest(field="role", problem=f'there is no role "{role}"')
    for opened in open_to:
        if opened not in caller.role_names:
            raise AuthorizationError(name=f"role {opened}")
    return owner


def grant_owner(caller: Caller, service: str, role: str | None) -> str:
    """Whose grant is meant: the caller's own, or (only by an administrator) a role's."""
    if role is None:
        return grants.personal_owner(caller.user)
    if caller.system_role != "admin":
        raise AuthorizationError(name=f"the shared {service} account")
    return grants.shared_owner(role)


def grant_row(caller: Caller, grant: Grant, service: str) -> dict[str, Any]:
    """A grant as its people see it, without secrets."""
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
