"""The items of a subject in the directory, and the callers that are made of them once."""

from dataclasses import dataclass
from functools import cached_property

from mcpist.aws.attributes import Item, decode
from mcpist.caller import Caller, RegisteredModule, Role, Subject


@dataclass(frozen=True)
class KnownSubject:
    """A subject with all its items."""

    subject: Subject
    items: list[Item]

    @cached_property
    def callers(self) -> tuple[Caller, ...]:
        """One caller for each membership, with all its roles and without a proof."""
        return tuple(_caller(self.subject, item) for item in self.items if item["sk"].startswith("org#"))


def _caller(subject: Subject, access: Item) -> Caller:
    return Caller(
        organization=access["organization"],
        user=access["user"],
        name=access.get("name", ""),
        subject=subject,
        system_role=access["system_role"],
        roles=tuple(decode(Role, role) for role in access["roles"]),
        disabled=tuple(access["disabled"]),
        modules=tuple(decode(RegisteredModule, module) for module in access.get("modules", ())),
        locale=access["locale"],
    )
