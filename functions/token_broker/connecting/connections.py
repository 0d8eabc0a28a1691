"""Connections: what people do with grants: store one, forget one, see which stand."""

from typing import Any

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, InvalidRequest
from mcpist.people.directory import role_names
from token_broker.grants import grants
from token_broker.grants.grants import Grant
from token_broker.resolving.credentials import choose


def status(caller: Caller, services: tuple[str, ...]) -> dict[str, Any]:
    """`{grants}`: the caller's own and those of its roles; of each service one `acts`, whether it works or not."""
    standing = grants.fetch(caller, services)
    rows = [
        {**row_of(caller, grant, service), "acts": grant is choose(caller, standing, service)}
        for service in dict.fromkeys(services)
        for grant in standing
        if service in grant.account.services
    ]
    return {"grants": sorted(rows, key=lambda row: (row["service"], row["owner"]))}


def owner_to_be(caller: Caller, service: str, role: str | None, open_to: tuple[str, ...]) -> str:
    """Whose a new grant becomes: the caller's own, open to some of the caller's roles, or a role's that there is."""
    owner = owner_of(caller, service, role)
    if role and role not in role_names(caller.organization):
        raise InvalidRequest(field="role", problem=f'there is no role "{role}"')
    for opened in open_to:
        if opened not in caller.role_names:
            raise AuthorizationError(name=f"role {opened}")
    return owner


def owner_of(caller: Caller, service: str, role: str | None) -> str:
    """Whose grant is meant: the caller's own, or (only by an administrator) a role's."""
    if role is None:
        return grants.personal(caller.user)
    if caller.system_role != "admin":
        raise AuthorizationError(name=f"the shared {service} account")
    return grants.shared(role)


def row_of(caller: Caller, grant: Grant, service: str) -> dict[str, Any]:
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
        "usable": grant.works and grant.is_open_to(caller.role_names),
        "created_at": grant.created_at,
        "updated_at": grant.updated_at,
    }
