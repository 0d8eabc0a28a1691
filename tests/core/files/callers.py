"""Callers of the organizations acme and globex."""

from mcpist.caller import Caller, Role, Subject, SystemRole


def caller(user: str, *roles: str, organization: str = "acme", system_role: SystemRole = "user") -> Caller:
    """Return a user with some roles."""
    return Caller(organization, user, Subject("issuer", user), system_role, tuple(map(Role, roles)))


UMA = caller("uma", "members", "writers")
BOB = caller("bob", "members")
EVE = caller("uma", "members", organization="globex")
ADA = caller("ada", "admins", system_role="admin")
