"""Organizations, roles and users that tests put into the directory, whatever was there before."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcpist.caller import Role, Subject, SystemRole
from mcpist.errors import Locale
from mcpist.people import directory
from mcpist.people.organization import Organization, User


def put_organization(organization: str, *, name: str, disabled: Sequence[str] = ()) -> None:
    """Create or change an organization; `disabled` are masks of tools that nobody may use."""
    if organization in directory.organizations():
        directory.change(organization, lambda before: replace(before, name=name, disabled=tuple(disabled)))
    else:
        directory.create(Organization(organization, name, tuple(disabled)))


def put_role(organization: str, role: Role) -> None:
    """Create or change a role."""
    directory.change(organization, lambda before: before.with_role(role))


def put_user(
    organization: str,
    user: str,
    *,
    name: str,
    subject: Subject,
    system_role: SystemRole = "user",
    roles: Iterable[str] = (),
    locale: Locale = "en",
) -> None:
    """Create or change a user with its roles, in their order."""
    new = User(user, name, subject, system_role, tuple(dict.fromkeys(roles)), locale)
    directory.change(organization, lambda before: before.with_user(new))
