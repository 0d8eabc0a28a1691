"""Who is calling: the values that every decision about a request stands on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

type SystemRole = Literal["admin", "user"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom the identity provider vouches for; never an e-mail."""

    issuer: str
    sub: str


@dataclass(frozen=True, slots=True)
class Role:
    """A permission pattern.

    `modules` are enabled; `allow` and `deny` are masks such as `tracker.*` or `*.get_*`. Of its modules a role has the
    tools that read and reveal no secret, and those that `allow` names; one that destroys also needs `destructive`.
    What `deny` names it has not.
    """

    name: str
    modules: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    destructive: bool = False

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "Role":
        """A role as the directory keeps it."""
        return cls(
            name=item["name"],
            modules=tuple(item.get("modules", ())),
            allow=tuple(item.get("allow", ())),
            deny=tuple(item.get("deny", ())),
            destructive=bool(item.get("destructive", False)),
        )

    def as_item(self) -> dict[str, Any]:
        """The role as the directory keeps it."""
        return {
            "name": self.name,
            "modules": list(self.modules),
            "allow": list(self.allow),
            "deny": list(self.deny),
            "destructive": self.destructive,
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """What convinces the token broker of the user: the caller's own JWT, or a batch's warrant."""

    kind: Literal["jwt", "warrant"]
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """A user of an organization, with the roles that count for this request, in their order."""

    organization: str
    user: str
    subject: Subject
    system_role: SystemRole
    roles: tuple[Role, ...]
    disabled: tuple[str, ...] = ()
    locale: Literal["en", "ja"] = "en"
    proof: Proof | None = field(default=None, repr=False)

    @property
    def role_names(self) -> tuple[str, ...]:
        """The names of the roles, in their order."""
        return tuple(role.name for role in self.roles)
