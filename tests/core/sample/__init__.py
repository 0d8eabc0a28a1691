"""Two small modules, and callers with any roles."""

from mcpist.caller import Caller, Role, Subject
from mcpist.tools.catalogue import Catalogue
from mcpist.tools.permissions import Permissions

CATALOGUE = Catalogue("tests.core.sample", ("shop", "safe"))
EVERYTHING = Role("everything", modules=("shop", "safe"), allow=("*",), destructive=True)


def caller(*roles: Role, disabled: tuple[str, ...] = ()) -> Caller:
    """A user of acme in these roles."""
    return Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", roles, disabled)


def permissions(*roles: Role, disabled: tuple[str, ...] = ()) -> Permissions:
    """What a user in these roles sees."""
    return Permissions(caller(*roles, disabled=disabled), CATALOGUE)
