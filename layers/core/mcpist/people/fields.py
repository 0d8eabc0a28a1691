"""An organization and its parts as plain values, as the audit, documents and answers have them."""

from collections.abc import Mapping
from typing import Any

from mcpist.aws.attributes import encode
from mcpist.caller import RegisteredModule, Role
from mcpist.people.organization import Organization, User

type Fields = Mapping[str, Any]
"""A user, a role or an organization's own fields as plain values: mappings, lists and texts."""


def own_fields(organization: Organization) -> Fields:
    """Return an organization's own fields as plain values."""
    return {"name": organization.name, "disabled": list(organization.disabled)}


def role_fields(role: Role) -> Fields:
    """Return a role as plain values, without its name."""
    return {name: value for name, value in encode(role).items() if name != "name"}


def user_fields(user: User) -> Fields:
    """Return a user as plain values, without the id."""
    return {name: value for name, value in encode(user).items() if name != "id"}


def module_fields(module: RegisteredModule) -> Fields:
    """Return a registered module as plain values, without its name."""
    return {name: value for name, value in encode(module).items() if name != "name"}


def fields_of(organization: Organization) -> Fields:
    """Return a whole organization as plain values."""
    return {
        "organization": organization.id,
        **own_fields(organization),
        "roles": {name: role_fields(role) for name, role in sorted(organization.roles.items())},
        "users": {user: user_fields(one) for user, one in sorted(organization.users.items())},
    }
