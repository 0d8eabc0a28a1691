"""The organization that a deployment on one machine begins with: two people, and two roles."""

import json
from collections.abc import Sequence
from dataclasses import replace

from infra.local.login import Person
from infra.local.state import State
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.people.organization import Organization, User

ORGANIZATION = "demo"
ROLE = "members"
OWNERS = "owners"
ADMINISTRATOR = Person(sub="ada", name="Ada Admin", email="ada@example.com", role="admin")
USER = Person(sub="uma", name="Uma User", email="uma@example.com", role="user")


def seed(issuer: str, modules: Sequence[str], upstreams: Sequence[str], state: State | None) -> None:
    """Create an organization with a user whose role reads, and an administrator who also has the role of all tools.

    The user's role writes in `rag`, saves batches, and has every tool of `upstreams`, the modules that the owner added:
    categories of servers, and programs. An organization in the state is left as people changed it, but the roles get
    new modules.
    """
    kept = state.get("modules") if state else None
    if kept is None:
        _create(issuer, modules, upstreams)
    else:
        known = set(json.loads(kept))
        _widen([one for one in modules if one not in known], [one for one in upstreams if one not in known])
        modules = (*known, *modules)
    if state:
        state.put("modules", "", json.dumps(sorted({*modules, *upstreams})).encode())


def _create(issuer: str, modules: Sequence[str], upstreams: Sequence[str]) -> None:
    added = tuple(f"{name}.*" for name in upstreams)
    writable = tuple(f"{name}.*" for name in ("rag", "saved", "automations") if name in modules)
    known = (*modules, *upstreams)
    usual = Role(ROLE, modules=known, allow=(*writable, *added), destructive=bool(added))
    owners = Role(OWNERS, modules=known, allow=("*",), destructive=True)
    first, second = ((one.sub, one.name, Subject(issuer, one.sub)) for one in (ADMINISTRATOR, USER))
    users = [User(*first, "admin", (ROLE, OWNERS)), User(*second, "user", (ROLE,))]
    made = Organization(ORGANIZATION, "Demo", roles={ROLE: usual, OWNERS: owners}, users={one.id: one for one in users})
    # Not `create`: a start that was interrupted before the state was stored is repeated.
    directory.replace_organization(made)


def _widen(modules: Sequence[str], upstreams: Sequence[str]) -> None:
    """Give the roles modules, and every tool of `upstreams`; none that was removed."""
    if not (modules or upstreams):
        return

    def edit(before: Organization) -> Organization:
        for role in (before.roles[name] for name in (ROLE, OWNERS) if name in before.roles):
            allow = (*role.allow, *(f"{name}.*" for name in upstreams))
            wider = replace(role, modules=(*role.modules, *modules, *upstreams), allow=allow)
            before = before.with_role(replace(wider, destructive=role.destructive or bool(upstreams)))
        return before

    directory.change(ORGANIZATION, edit)
