"""People of an organization that registers modules: its administrator, and a member."""

from dataclasses import dataclass, field, replace
from typing import Any

from mcpist.caller import Caller, Subject
from mcpist.people import directory
from mcpist.people.administration import Administration, AppliedChange
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse
from tests import members


@dataclass
class Registrar:
    """An administrator, the services whose accounts were revoked on the way, and the operator's apps."""

    administration: Administration
    issuer: str
    revoked: list[str]
    apps: set[str] = field(default_factory=set)

    def register(self, **body: Any) -> AppliedChange:
        """Register a module."""
        return registration.register(self.administration, parse(body)).applied

    def unregister(self, name: str) -> AppliedChange:
        """Remove a module."""
        return registration.unregister(self.administration, name)

    def grant(self, *modules: str, allow: tuple[str, ...] = ("*",)) -> None:
        """Let the members use modules, and all their tools but those that destroy."""
        role = directory.read("acme").role("members")
        members.put_role("acme", replace(role, modules=(*role.modules, *modules), allow=allow))

    def member(self) -> Caller:
        """Return Uma as a sandbox sees her whose cache of people has expired."""
        directory.access_cache.clear()
        return directory.identify(Subject(self.issuer, "uma"))

    def permissions(self) -> Permissions:
        """Return what Uma may use."""
        return Permissions(self.member(), CATALOGUE)
