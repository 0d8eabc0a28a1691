"""Edits: functions from an organization to the next one, for `directory.change`."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from mcpist.caller import Policies, Role, Subject
from mcpist.errors import AlreadyExists, InvalidRequest
from mcpist.people.organization import Organization, TrustedIssuer, User
from mcpist.people.part import UserEdit

type Edit = Callable[[Organization], Organization]


def add_user(user: str, *, sub: str, issuer: str = "", **fields: Any) -> UserEdit:
    """Add a user; without an issuer it has the one that all others share. AlreadyExists if the id is taken."""

    def edit(before: Organization) -> Organization:
        if user in before.users:
            raise AlreadyExists(kind="user", name=user)
        # Nearly always all users have one issuer: only the first one's must be named.
        common = next(iter(before.issuers)) if len(before.issuers) == 1 else ""
        return before.with_user(User(user, subject=_subject(issuer or common, sub), **fields))

    return UserEdit(edit, user, fields.get("roles") or (), sub, issuer)


def change_user(user: str, *, sub: str | None = None, issuer: str | None = None, **fields: Any) -> UserEdit:
    """Change only the named fields of a user."""

    def edit(before: Organization) -> Organization:
        present = before.user(user)
        old = present.subject
        subject = _subject(old.issuer if issuer is None else issuer, old.sub if sub is None else sub)
        return before.with_user(replace(present, **fields, subject=subject))

    return UserEdit(edit, user, fields.get("roles") or (), sub, issuer)


def add_role(name: str, **fields: Any) -> Edit:
    """Add a role; AlreadyExists if its name is taken."""

    def edit(before: Organization) -> Organization:
        if name in before.roles:
            raise AlreadyExists(kind="role", name=name)
        return before.with_role(Role(name, **fields))

    return edit


def change_role(role: str, **fields: Any) -> Edit:
    """Change only the named fields of a role."""
    return lambda before: before.with_role(replace(before.role(role), **fields))


def remove_user(user: str) -> UserEdit:
    """Remove a user."""
    return UserEdit(lambda before: before.without_user(user), user)


def remove_role(role: str) -> Edit:
    """Remove a role that no user has."""
    return lambda before: before.without_role(role)


def change_own_fields(
    *,
    name: str | None = None,
    disable: Iterable[str] = (),
    enable: Iterable[str] = (),
    clients: Iterable[str] | None = None,
    trusted_issuers: Iterable[TrustedIssuer] | None = None,
    undoable: bool | None = None,
) -> Edit:
    """Change the named fields of an organization; masks are added to those of its switched-off tools or removed."""

    def edit(before: Organization) -> Organization:
        for mask in enable:
            if mask not in before.disabled:
                known = ", ".join(before.disabled) or "none"
                raise InvalidRequest(field="enable", problem=f'"{mask}" is not a mask that is switched off ({known})')
        disabled = dict.fromkeys([*(mask for mask in before.disabled if mask not in enable), *disable])
        after = replace(before, disabled=tuple(disabled), **given)
        for role in (role for one in given.get("trusted_issuers", ()) for role in one.roles):
            after.role(role)
        return after

    fields: dict[str, Any] = {"name": name, "undoable": undoable}
    fields["clients"] = None if clients is None else tuple(dict.fromkeys(clients))
    fields["trusted_issuers"] = None if trusted_issuers is None else tuple(trusted_issuers)
    given = {name: value for name, value in fields.items() if value is not None}
    return edit


def set_policies(policies: Policies | None) -> Edit:
    """Set an organization's policies, as the next version; None removes them."""

    def edit(before: Organization) -> Organization:
        version = before.policies.version + 1 if before.policies else 1
        return replace(before, policies=policies and replace(policies, version=version))

    return edit


def _subject(issuer: str, sub: str) -> Subject:
    """Return a subject; a slash at the end of an issuer has no meaning."""
    return Subject(issuer.rstrip("/"), sub)
