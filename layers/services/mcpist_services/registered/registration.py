"""Registration: an administrator adds, replaces and removes a module of the organization, and approves its tools.

Nothing is written before the module was built, or its server has answered. The directory's item comes last, so an
interrupted registration leaves at most a definition that nobody refers to.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

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
from mcpist_services.described.registered import read_index
from mcpist_services.registered.request import ModuleRequest, account_handling, define, destination_of

MAX_REGISTERED_MODULES = 50
LIST_TIMEOUT_SECONDS = 15.0

type State = Literal["approved", "new", "changed", "refused"]


@dataclass(frozen=True, slots=True)
class ToolState:
    """A tool of a registered MCP server, as an administrator decides on it."""

    name: str
    description: str
    state: State
    """`approved`, `new` or `changed`, which wait for approval, or `refused`."""
    warnings: tuple[str, ...]
    """What a person should check before approving it."""
    fingerprint: str
    """The hash of everything in it that a model reads; an approval is for this alone."""
    text: str = field(default="", repr=False)
    """What this is the hash of."""


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
            lists.approve(_server_key(administration.caller, module), pins)
    return tool_states(administration.caller, module, definition)


def tool_states(caller: Caller, module: RegisteredModule, definition: definitions.Definition) -> list[ToolState]:
    """Return the tools of a module: those of a server as it last listed them to the caller, with its approvals.

    Resources and prompts are among them while they wait for approval.
    """
    if "overlay" in definition:
        return [ToolState(tool.name, tool.line(), "approved", (), "") for tool in read_index(definition).tools]
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.peers import owner
    from mcpist_services.upstream.registered import know_server
    from mcpist_services.upstream.trust import fingerprint, judge, pin_name, pinned_text, review_warnings

    key = _server_key(caller, module)
    know_server(key, definition)
    lists.forget(key)
    named = definition["tools"].get("includeNames", ())
    known = lists.server_state(key, owner(caller, key))
    tools, materials = (known.cached.listing.tools, known.cached.listing.materials) if known.cached else ((), ())
    states = [(tool, judge(known.pins, tool, named=tool.name in named)) for tool in tools]
    seen = [(material, judge(known.pins, material, named=True)) for material in materials]
    return [
        ToolState(
            pin_name(item),
            item.description or "",
            state,
            tuple(review_warnings(item)),
            fingerprint(item),
            pinned_text(item),
        )
        for item, state in (*states, *(each for each in seen if each[1] != "approved"))
    ]


def approved_texts(caller: Caller, module: RegisteredModule, names: Collection[str]) -> dict[str, str]:
    """Return the texts of tools as they were approved last, where they were kept; read after `tool_states`."""
    from mcpist_services.upstream import lists

    key = _server_key(caller, module)
    pins = {name: pin for name, pin in lists.server_state(key).pins.items() if name in names}
    return lists.approved_texts_of(key, pins)


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


def _server_key(caller: Caller, module: RegisteredModule) -> str:
    from mcpist_services.upstream.registered import server_key

    return server_key(caller.organization, module.name, module.sha256)


def _list_tools(organization: str, name: str, digest: str, definition: dict[str, Any]) -> None:
    """Have a server list its tools, and keep the list; one that needs a person's account is asked later."""
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.connections import upstreams
    from mcpist_services.upstream.registered import know_server, server_key

    key = server_key(organization, name, digest)
    if not know_server(key, definition).grants:
        listing = upstreams().list_tools(key, deadline=time.monotonic() + LIST_TIMEOUT_SECONDS)
        lists.store(key, lists.EVERYBODY, listing)
