"""A catalogue of two small modules, and callers with given roles."""

from mcpist.caller import Caller, Role, Subject
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue

CATALOGUE = Catalogue("tests.core.sample", ("shop", "safe"))
EVERYTHING = Role("everything", modules=("shop", "safe"), allow=("*",), destructive=True)


def caller(*roles: Role, disabled: tuple[str, ...] = ()) -> Caller:
    """Return a user of acme with these roles."""
    return Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", roles, disabled)


def permissions(*roles: Role, disabled: tuple[str, ...] = ()) -> Permissions:
    """Return the permissions of a user with these roles."""
    return Permissions(caller(*roles, disabled=disabled), CATALOGUE)
