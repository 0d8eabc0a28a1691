"""Connections: grants as people see and own them, and the accounts that they can connect."""

from collections.abc import Iterable, Sequence
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import AccountNotChosen, AlreadyExists, AuthorizationError, InvalidRequest, NotConfigured
from mcpist.people.directory import role_names
from mcpist_services import connectable_services, provider_name, providers
from token_broker.grants import grants
from token_broker.grants.grant import AccountChoice, StoredGrant
from token_broker.grants.grants import FoundGrants
from token_broker.resolving.credentials import select_grant


def status(caller: Caller, services: tuple[str, ...]) -> dict[str, Any]:
    """Return `{grants}`: the caller's own and those of its roles; one for each service `acts`, working or not."""
    existing = grants.fetch(caller, services)
    rows = [
        grant_row(caller, existing, grant, service)
        for service in dict.fromkeys(services)
        for grant in existing.grants
        if service in grant.account.services
    ]
    return {"grants": sorted(rows, key=lambda row: (row["service"], row["owner"], row["label"]))}


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


def grant_row(caller: Caller, found: FoundGrants, grant: StoredGrant, service: str) -> dict[str, Any]:
    """Return a grant as people see it, without secrets."""
    usable = grant.is_usable and grant.is_open_to(caller.role_names)
    try:
        acts = grant is select_grant(caller, found, AccountChoice(service))
    except AccountNotChosen:
        acts = False
    more = {"default": found.is_default(grant), "usable": usable, "acts": acts}
    return {"id": grant.id, "service": service, **grant.view(), **more}


def offer(caller: Caller, services: Sequence[str]) -> dict[str, Any]:
    """Return `{organization, user, roles, all_roles, services}`; `all_roles` is empty unless an administrator asks.

    Without `services`, all that the caller's roles use are offered.
    """
    names = tuple(dict.fromkeys(services)) or connectable_services(caller)
    is_admin = caller.system_role == "admin"
    existing = grants.fetch(caller, names)
    if not services:
        _read_apps_ahead(names)
    if is_admin and services:
        existing = _with_roles(caller, existing, names)
    return {
        "organization": caller.organization,
        "user": caller.user,
        "roles": list(caller.role_names),
        "all_roles": role_names(caller.organization) if is_admin else [],
        "services": [_service_entry(caller, name, existing, fresh=bool(services)) for name in names],
    }


def _with_roles(caller: Caller, found: FoundGrants, services: Iterable[str]) -> FoundGrants:
    """Return the caller's grants with those of all roles of the organization."""
    known = {grant.key: grant for grant in found.grants}
    everybody = (grant for name in services for grant in grants.find(caller.organization, provider=provider_name(name)))
    shared = {grant.key: grant for grant in everybody if grant.owner.startswith("role#")}
    return grants.with_defaults((shared | known).values())


def _service_entry(caller: Caller, service: str, found: FoundGrants, *, fresh: bool) -> dict[str, Any]:
    connected = [grant for grant in found.grants if service in grant.account.services]
    own = grants.personal_owner(caller.user)
    rows = [
        {
            **grant_row(caller, found, grant, service),
            "services": list(grant.account.services),
            "kind": grant.account.kind,
            "own": grant.owner == own,
            "role": "" if grant.owner == own else grant.owner.partition("#")[2],
        }
        for grant in connected
    ]
    rows.sort(key=lambda row: (not row["own"], row["role"], row["label"]))
    return {"service": service, **_connection_options(caller, service, fresh=fresh), "grants": rows}


def _read_apps_ahead(services: Iterable[str]) -> None:
    """Read our clients at the providers of many services at once."""
    from token_broker.providers import apps

    declared = providers()
    names = map(provider_name, services)
    apps.read_ahead(name for name in names if name not in declared or declared[name].authorize_url)


def _connection_options(caller: Caller, service: str, *, fresh: bool) -> dict[str, Any]:
    """Return how an account can be connected: not at all where no administrator configured the provider."""
    from token_broker.providers import apps, find, module_apps

    name = provider_name(service)
    registered = module_apps.registered(caller, name) is not None
    try:
        provider = find(name, caller)
    except (AlreadyExists, NotConfigured):
        entry = {"provider": name, "together": [service], "asks": True, "consent": False, "keys": False}
        return {**entry, "registered": registered}
    return {
        "provider": name,
        "together": list(provider.services),
        "asks": bool(provider.authorize_url),
        "consent": bool(provider.authorize_url) and (registered or apps.is_set_up(name, fresh=fresh)),
        "keys": provider.key_pattern is not None,
        "registered": registered,
    }
