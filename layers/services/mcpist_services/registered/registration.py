"""Registration: an administrator adds, replaces and removes a module of the organization, and approves its tools.

Nothing is written before the module was built, or its server has answered. The directory's item comes last, so an
interrupted registration leaves at most a definition that nobody refers to.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from mcpist.audit.record import record_change
from mcpist.caller import Caller, RegisteredModule, Role
from mcpist.errors import AlreadyExists, IntegrityError, InvalidRequest, NotRegistered
from mcpist.people.administration import Administration, AppliedChange
from mcpist.people.change import ChangeOptions
from mcpist.people.edits import Edit
from mcpist.people.organization import Organization
from mcpist.registry import definitions
from mcpist.suggestions import nearest
from mcpist_services.catalogue import is_taken
from mcpist_services.registered.request import ModuleRequest, account_handling, define, destination_of
from mcpist_services.registered.states import ToolState, server_key_of, tool_states

MAX_REGISTERED_MODULES = 50
LIST_TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered module with its definition, and the change of the organization."""

    module: RegisteredModule
    definition: definitions.Definition
    applied: AppliedChange


def register(administration: Administration, request: ModuleRequest, *, dry_run: bool = False) -> Registration:
    """Register a module; AlreadyExists for a name that is taken, unless it replaces a registered module."""
    organization = administration.caller.organization
    target = f"modules.{request.name}"
    with administration.permitted("modules.create", target):
        _, before = administration.read()
        _check_name(request, before)
        definition = define(request)
        if account_handling(definition) and administration.accounts.has_app(request.name):
            raise AlreadyExists(kind="provider of this deployment", name=request.name)
        digest = definitions.hash_of(definition)
        if request.kind == "upstream":
            _list_tools(organization, request.name, digest, definition)
        if not dry_run:
            definitions.store(organization, definition)
            old = before.modules.get(request.name)
            moved = _sends_accounts_elsewhere(organization, definition, old)
            if moved:  # people connected their accounts for another address, or for less than it takes now
                administration.accounts.revoke_service(request.name)
    module = RegisteredModule(
        name=request.name,
        kind=request.kind,
        sha256=digest,
        registered_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        registered_by=administration.caller.user,
        destination=destination_of(definition),
    )
    applied = administration.change("modules.create", target, _adding(request, module), ChangeOptions(dry_run=dry_run))
    if not dry_run and moved and old:
        # Of accounts that were connected for the old address in between.
        administration.accounts.revoke_service(request.name)
    return Registration(module, definition, applied)


def _sends_accounts_elsewhere(
    organization: str, definition: definitions.Definition, old: RegisteredModule | None
) -> bool:
    """Whether accounts that people connected for the module before may not be sent as the new definition says."""
    handling = account_handling(definition)
    if not handling or old is None:
        return bool(handling)
    try:
        return account_handling(definitions.load(organization, old.sha256)) != handling
    except IntegrityError:  # nobody knows what they were connected for
        return True


def unregister(administration: Administration, name: str, *, dry_run: bool = False) -> AppliedChange:
    """Remove a module, also from its roles, and the accounts that people have connected for it."""
    target = f"modules.{name}"
    with administration.permitted("modules.delete", target):
        module = find(administration.read()[1], name)
        if module.destination and not dry_run:
            administration.accounts.revoke_service(name)
    return administration.change("modules.delete", target, _removing(name), ChangeOptions(dry_run=dry_run))


def approve(
    administration: Administration, name: str, tools: Collection[str], fingerprints: Collection[str] = ()
) -> list[ToolState]:
    """Approve tools of a registered server as they are now; with `fingerprints`, only those that have one of them.

    Without names, all that wait and have no warning. Return the states afterwards.
    """
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.trust import Pin

    target = f"modules.{name}"
    with administration.permitted("modules.approve", target):
        module = find(administration.read()[1], name)
        definition = definitions.load(administration.caller.organization, module.sha256)
        states = {state.name: state for state in tool_states(administration.caller, module, definition)}
        for tool in tools:
            if tool not in states:
                raise InvalidRequest(field="tools", problem=f'no tool "{tool}" (tools: {nearest(tool, states)})')
        waiting = [states[tool] for tool in tools] or [state for state in states.values() if not state.warnings]
        chosen = [state for state in waiting if state.state in {"new", "changed"}]
        if stale := [state.name for state in chosen if fingerprints and state.fingerprint not in fingerprints]:
            raise InvalidRequest(field="fingerprints", problem=f"{', '.join(stale)} changed meanwhile: look again")
        now = int(time.time())
        pins = [Pin(state.name, state.fingerprint, "operator", now, state.text) for state in chosen]
        if pins:
            # The row comes before the approval: nothing is shown to a model without a trail.
            record_change(
                administration.caller,
                action="modules.approve",
                target=target,
                request=administration.request,
                before={pin.tool: states[pin.tool].state for pin in pins},
                after={pin.tool: pin.fingerprint for pin in pins},
            )
            lists.approve(server_key_of(administration.caller, module), pins)
    return tool_states(administration.caller, module, definition)


def find(organization: Organization, name: str) -> RegisteredModule:
    """Return a registered module; NotRegistered if there is none of this name."""
    if name not in organization.modules:
        raise NotRegistered(module=name, known=nearest(name, organization.modules))
    return organization.modules[name]


def everything_of(caller: Caller) -> Caller:
    """Return an administrator with a role that has every registered module, to look at them."""
    role = Role("", tuple(module.name for module in caller.modules))
    return replace(caller, roles=(*caller.roles, role))


def _adding(request: ModuleRequest, module: RegisteredModule) -> Edit:
    """Add or replace a module; a new one is in no role, whatever roles have named before."""

    def edit(before: Organization) -> Organization:
        _check_name(request, before)
        modules = {**before.modules, module.name: module}
        known = before if module.name in before.modules else _without_role_entries(before, module.name)
        return replace(known, modules=modules)

    return edit


def _removing(name: str) -> Edit:
    def edit(before: Organization) -> Organization:
        find(before, name)
        modules = {key: module for key, module in before.modules.items() if key != name}
        return replace(_without_role_entries(before, name), modules=modules)

    return edit


def _without_role_entries(organization: Organization, module: str) -> Organization:
    roles = {
        name: replace(role, modules=tuple(one for one in role.modules if one != module))
        for name, role in organization.roles.items()
    }
    return replace(organization, roles=roles)


def _check_name(request: ModuleRequest, organization: Organization) -> None:
    if is_taken(request.name):
        raise AlreadyExists(kind="module or service of this deployment", name=request.name)
    if request.name in organization.modules:
        if not request.overwrite:
            raise AlreadyExists(kind="module", name=request.name)
    elif len(organization.modules) >= MAX_REGISTERED_MODULES:
        problem = f"an organization registers at most {MAX_REGISTERED_MODULES} modules"
        raise InvalidRequest(field="name", problem=problem)


def _list_tools(organization: str, name: str, digest: str, definition: dict[str, Any]) -> None:
    """Have a server list its tools, and keep the list; one that needs a person's account is asked later."""
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.connections import upstreams
    from mcpist_services.upstream.registered import know_server, server_key

    key = server_key(organization, name, digest)
    if not know_server(key, definition).grants:
        listing = upstreams().list_tools(key, deadline=time.monotonic() + LIST_TIMEOUT_SECONDS)
        lists.store(key, lists.EVERYBODY, listing)
