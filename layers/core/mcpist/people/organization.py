"""An organization as one value: its roles and users, their invariants, and the items that they are stored in.

Every change is a function from one such value to the next; `directory` writes the difference.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from mcpist.audit.record import RESERVED_USERS
from mcpist.aws.attributes import INLINE, Attribute, Item, decode, encode
from mcpist.caller import Caller, Policies, RegisteredModule, Role, Subject, SystemRole
from mcpist.errors import InvalidRequest, Locale, RoleInUse, RoleNotFound, UserNotFound
from mcpist.paging import search
from mcpist.people.company import ADDRESS_ISSUER, MAX_GRANT_DAYS, CompanyDirectory, Group, is_issuer_url
from mcpist.suggestions import nearest

WAITING_KIND = "waiting"
"""The kind of a subject's items that are no access yet: of memberships that its person has not accepted."""
DEFAULT_KEY = "default"
"""The sort key of a subject's choice among its organizations."""
RESERVED_IDS = ("categories", "readonly")  # parts of the endpoint's addresses, where an organization's id may stand
MAX_ID_CHARACTERS = 128
# A client of a URL that ends in `/.` or `/..` asks for another one.
ID = re.compile(rf"(?!\.{{1,2}}$)[^#/\x00-\x1f]{{1,{MAX_ID_CHARACTERS}}}")
CHOICES = {"system_role": ("user", "admin"), "locale": ("en", "ja"), "kind": ("person", "service")}
type Acceptance = Literal["accepted", "waiting", "declined"]

MAX_CLIENTS, MAX_CLIENT_CHARACTERS = 100, 200
MAX_TRUSTED_ISSUERS = 10
MAX_ROLES_PER_USER = 40  # each is in the user's access item, which every request reads


type UserKind = Literal["person", "service"]


@dataclass(frozen=True, slots=True)
class User:
    """A person of an organization, or a program that acts for none."""

    id: Annotated[str, Attribute("user")]
    """The id, unique in the organization."""
    name: str
    """The name for people."""
    subject: Annotated[Subject, INLINE]
    """The user at the identity provider."""
    system_role: SystemRole = "user"
    """Whether the user administers the organization."""
    roles: tuple[str, ...] = ()
    """The names of the roles, in the order in which they apply."""
    locale: Locale = "en"
    """The language of answers."""
    acceptance: Acceptance = "accepted"
    """Whether the person agreed to be a user here; items that were written before people were asked have no value."""
    kind: UserKind = "person"
    """A service has credentials of our own login instead of a person: see `services`."""
    scim: dict[str, Any] = field(default_factory=dict)
    """What the company's directory says, in SCIM's words; empty for a user that it does not manage."""
    groups: tuple[str, ...] = ()
    """The ids of the company's groups."""
    deactivated_at: int = 0
    """When the company's directory deactivated the user, in epoch seconds; 0 for an active one."""

    @property
    def membership(self) -> str:
        """Whether the user can act: only if it is `accepted`."""
        return "deactivated" if self.deactivated_at else self.acceptance

    @property
    def administers(self) -> bool:
        """Whether the user is an administrator who can act."""
        return self.system_role == "admin" and self.membership == "accepted"


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """A company's issuer that may let clients act for people without asking them (ID-JAG)."""

    issuer: str
    """Its URL."""
    adds_people: bool = False
    """Whether somebody who is no user yet becomes one."""
    roles: tuple[str, ...] = ()
    """The roles that these people get."""


@dataclass(frozen=True, slots=True)
class Others:
    """The users of an organization that were not read, counted."""

    administrators: int = 0
    issuers: Mapping[str, int] = field(default_factory=dict)
    """The number of users of each issuer."""


@dataclass(frozen=True, slots=True)
class Organization:
    """A tenant."""

    id: str
    """The id, which begins the key of every stored item."""
    name: str
    """The name for people."""
    disabled: tuple[str, ...] = ()
    """Masks of tools, and names of modules, that nobody may use."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """The roles by their names."""
    users: Mapping[str, User] = field(default_factory=dict)
    """The users by their ids."""
    modules: Mapping[str, RegisteredModule] = field(default_factory=dict)
    """The modules that were registered at run time, by their names."""
    clients: tuple[str, ...] = ()
    """The names and hosts of the clients that may act for people; empty for all."""
    trusted_issuers: tuple[TrustedIssuer, ...] = ()
    """The company's issuers."""
    undoable: bool = False
    """Whether the state before each write is kept, so that it can be undone."""
    policies: Policies | None = None
    """What it permits on arguments and on the way of data; None where only roles decide."""
    others: Others = field(default_factory=Others)
    """Where only some users were read: the rest."""
    directory: CompanyDirectory = field(default_factory=CompanyDirectory)
    """The company's directory, which may make users."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """The groups of the company's directory by their ids."""

    @property
    def administrators(self) -> tuple[str, ...]:
        """The ids of the administrators who have accepted to be users here."""
        return tuple(user.id for user in self.users.values() if user.administers)

    @property
    def administrator_count(self) -> int:
        """How many administrators there are, whether they were read or not."""
        return len(self.administrators) + self.others.administrators

    @property
    def issuers(self) -> Mapping[str, int]:
        """The number of people of each issuer, whether they were read or not; those yet to come have none."""
        people = (user.subject.issuer for user in self.users.values() if user.kind == "person")
        return Counter(issuer for issuer in people if issuer != ADDRESS_ISSUER) + Counter(self.others.issuers)

    def search_users(self, text: str) -> list[User]:
        """Return the users whose id, name, subject or role has a text."""
        return search(self.users.values(), text, lambda user: (user.id, user.name, user.subject.sub, *user.roles))

    def search_roles(self, text: str) -> list[Role]:
        """Return the roles whose name has a text."""
        return search(self.roles.values(), text, lambda role: (role.name,))

    def users_with_role(self, role: str) -> tuple[str, ...]:
        """Return the ids of the users who have a role."""
        return tuple(user.id for user in self.users.values() if role in self.roles_of(user))

    def members_of(self, group: str) -> list[User]:
        """Return the members of a group of the company's directory."""
        return [user for user in self.users.values() if group in user.groups]

    def roles_of(self, user: User) -> tuple[str, ...]:
        """Return the names of a user's roles: its own, and after them those of its groups."""
        if not user.groups:
            return user.roles
        groups = [self.groups[group] for group in user.groups if group in self.groups]
        return tuple(dict.fromkeys([*user.roles, *(role for group in groups for role in group.roles)]))

    def role(self, name: str) -> Role:
        """Return the role with this name; RoleNotFound if there is none."""
        if name not in self.roles:
            raise RoleNotFound(name=name, known=nearest(name, self.roles))
        return self.roles[name]

    def user(self, user: str) -> User:
        """Return the user with this id; UserNotFound if there is none."""
        if user not in self.users:
            raise UserNotFound(name=user, known=nearest(user, self.users))
        return self.users[user]

    def with_role(self, role: Role) -> Self:
        """Return a copy with this role, new or changed."""
        return replace(self, roles={**self.roles, role.name: role})

    def with_user(self, user: User) -> Self:
        """Return a copy with this user, new or changed."""
        return replace(self, users={**self.users, user.id: user})

    def without_role(self, name: str) -> Self:
        """Return a copy without a role; RoleInUse if users have it."""
        self.role(name)
        givers = [group.name for group in self.groups.values() if name in group.roles]
        if holders := (*self.users_with_role(name), *givers):
            raise RoleInUse(field="role", name=name, users=nearest("", holders))
        return replace(self, roles={key: role for key, role in self.roles.items() if key != name})

    def without_user(self, user: str) -> Self:
        """Return a copy without a user."""
        self.user(user)
        return replace(self, users={key: other for key, other in self.users.items() if key != user})

    def asking(self, before: Self) -> Self:
        """Return a copy in which each user who is new, or another person than before, waits for that one to accept."""
        known = {(user.id, user.subject): user.acceptance for user in before.users.values()}
        answers = {name: known.get((name, user.subject), "waiting") for name, user in self.users.items()}
        asked = ((user, answers[name]) for name, user in self.users.items() if user.acceptance != answers[name])
        return replace(self, users=dict(self.users) | {user.id: replace(user, acceptance=to) for user, to in asked})

    def keeping(self, before: Self) -> Self:
        """Return a copy with what no document has: modules, and what the company's directory says of whom it knows."""
        users = dict(self.users)
        for old in before.users.values():
            if (new := users.get(old.id)) and new.subject == old.subject:
                users[old.id] = replace(new, scim=old.scim, groups=old.groups, deactivated_at=old.deactivated_at)
        own = replace(self, modules=before.modules, policies=before.policies, directory=before.directory)
        return replace(own, users=users, groups=before.groups)

    def validated(self) -> Self:
        """Return itself if all invariants hold; else InvalidRequest, whose `field` is the path of the wrong field."""
        _check_id("organization", self.id)
        if self.id in RESERVED_IDS:
            raise InvalidRequest(field="organization", problem=f"/mcp/{self.id} is another address of the endpoint")
        for name in self.roles:
            _check_id(f"roles.{name}", name)
        self._check_clients()
        self._check_company()
        owners: dict[Subject, str] = {}
        for user in self.users.values():
            place = f"users.{user.id}"
            _check_id(place, user.id)
            if user.id in RESERVED_USERS:
                raise InvalidRequest(field=place, problem="the audit names the operator or the company's directory so")
            self._check_roles(f"{place}.roles", self.roles_of(user))
            # A form may send any text, which no model has checked.
            for name, known in CHOICES.items():
                if getattr(user, name) not in known:
                    raise InvalidRequest(field=f"{place}.{name}", problem=f"it is one of {', '.join(known)}")
            if user.kind == "service" and user.system_role != "user":
                raise InvalidRequest(field=f"{place}.system_role", problem="a program does not administer")
            if not user.subject.issuer or not user.subject.sub or "#" in user.subject.issuer:
                problem = "it needs an issuer, whose URL has no #, and a sub"
                raise InvalidRequest(field=f"{place}.subject", problem=problem)
            if owners.setdefault(user.subject, user.id) != user.id:
                problem = f"another user of {self.id} has this subject: {owners[user.subject]}"
                raise InvalidRequest(field=f"{place}.subject", problem=problem)
        return self

    def _check_clients(self) -> None:
        if len(self.clients) > MAX_CLIENTS or not all(0 < len(one) <= MAX_CLIENT_CHARACTERS for one in self.clients):
            problem = f"at most {MAX_CLIENTS} names or hosts, each of at most {MAX_CLIENT_CHARACTERS} characters"
            raise InvalidRequest(field="clients", problem=problem)
        issuers = [one.issuer for one in self.trusted_issuers]
        if len(issuers) > MAX_TRUSTED_ISSUERS or len(set(issuers)) < len(issuers):
            problem = f"at most {MAX_TRUSTED_ISSUERS} issuers, each once"
            raise InvalidRequest(field="trusted_issuers", problem=problem)
        for issuer in issuers:
            if not is_issuer_url(issuer):
                problem = f'"{issuer}" is not the https URL of another issuer'
                raise InvalidRequest(field="trusted_issuers", problem=problem)

    def _check_company(self) -> None:
        for group in self.groups.values():
            self._check_roles(f"groups.{group.id}.roles", group.roles)
        if not 0 <= self.directory.grant_days <= MAX_GRANT_DAYS:
            raise InvalidRequest(field="grant_days", problem=f"it is a number from 0 to {MAX_GRANT_DAYS}")

    def _check_roles(self, place: str, names: tuple[str, ...]) -> None:
        for name in names:
            if name not in self.roles:
                problem = f'there is no role "{name}" (roles: {nearest(name, self.roles)})'
                raise InvalidRequest(field=place, problem=problem)
        if len(set(names)) < len(names):
            raise InvalidRequest(field=place, problem="a role is listed twice")
        if len(names) > MAX_ROLES_PER_USER:
            raise InvalidRequest(field=place, problem=f"a user has at most {MAX_ROLES_PER_USER} roles")

    # -- items: see `directory` for their keys ----------------------------------------------------------

    @classmethod
    def from_items(cls, organization: str, items: Iterable[Item]) -> Self | None:
        """Return the organization that is stored in these items; None if there is none."""
        by_key = {item["sk"]: item for item in items}
        if "org" not in by_key:
            return None
        return cls(
            organization,
            by_key["org"]["name"],
            tuple(by_key["org"].get("disabled", ())),
            {item["name"]: decode(Role, item) for key, item in by_key.items() if key.startswith("role#")},
            {item["user"]: decode(User, item) for key, item in by_key.items() if key.startswith("user#")},
            {item["name"]: decode(RegisteredModule, item) for key, item in by_key.items() if key.startswith("module#")},
            tuple(by_key["org"].get("clients", ())),
            tuple(decode(TrustedIssuer, one) for one in by_key["org"].get("trusted_issuers", ())),
            undoable=by_key["org"].get("undoable", False),
            policies=decode(Policies, own) if (own := by_key["org"].get("policies")) else None,
            directory=decode(CompanyDirectory, by_key["org"].get("directory", {})),
            groups={item["group"]: decode(Group, item) for key, item in by_key.items() if key.startswith("group#")},
        )

    def items(self) -> Iterator[Item]:
        """Iterate over the items of its modules, roles, groups and users."""
        pk = f"org#{self.id}"
        for module in self.modules.values():
            yield {"pk": pk, "sk": f"module#{module.name}", **encode(module)}
        for role in self.roles.values():
            yield {"pk": pk, "sk": f"role#{role.name}", **encode(role)}
        for group in self.groups.values():
            yield {"pk": pk, "sk": f"group#{group.id}", **encode(group)}
        for user in sorted(self.users.values(), key=lambda user: user.system_role):  # administrators are written first
            yield {"pk": pk, "sk": f"user#{user.id}", **encode(user)}

    def head_item(self, version: int, *, is_whole: bool = True) -> Item:
        """Return the organization's own item, with this version, and the counts of its users once all are written."""
        item: Item = {"pk": f"org#{self.id}", "sk": "org", "name": self.name, **self._shared_attributes}
        item["clients"], item["trusted_issuers"] = list(self.clients), list(map(encode, self.trusted_issuers))
        counts = {"administrators": self.administrator_count, "issuers": dict(self.issuers)} if is_whole else {}
        company = encode(self.directory, omit_defaults=True)
        return item | {"version": version} | counts | ({"directory": company} if company else {})

    @property
    def _shared_attributes(self) -> Item:
        """The attributes that the organization's own item and each access item have."""
        undoable = {"undoable": True} if self.undoable else {}
        policies = {"policies": encode(self.policies)} if self.policies else {}
        return {"disabled": list(self.disabled), **undoable, **policies}

    def access_items(self) -> Iterator[Item]:
        """Iterate over the access items, one for each user; requests do not look at those of `waiting#`."""
        roles = {name: encode(role) for name, role in self.roles.items()}
        modules = {"modules": [encode(module) for module in self.modules.values()]} if self.modules else {}
        shared = self._shared_attributes
        for user in self.users.values():
            yield {
                "pk": f"subject#{user.subject.issuer}#{user.subject.sub}",
                "sk": f"{'org' if user.membership == 'accepted' else WAITING_KIND}#{self.id}",
                "organization": self.id,
                "user": user.id,
                **({} if user.membership == "accepted" else {"acceptance": user.membership}),
                "name": user.name,
                "system_role": user.system_role,
                "locale": user.locale,
                "roles": [roles[name] for name in self.roles_of(user)],
                **modules,
                **shared,
            }


@dataclass(frozen=True)
class KnownSubject:
    """A subject with all its items, of which the callers are made once."""

    subject: Subject
    items: list[Item]

    @cached_property
    def callers(self) -> tuple[Caller, ...]:
        """One caller for each membership, with all its roles and without a proof."""
        return tuple(decode(Caller, item, subject=self.subject) for item in self._of_kind("org"))

    @cached_property
    def waiting(self) -> tuple[Caller, ...]:
        """One for each membership that its person has yet to accept or to decline: no caller, it has no rights yet."""
        waiting = (item for item in self._of_kind(WAITING_KIND) if item["acceptance"] == "waiting")
        return tuple(decode(Caller, item, subject=self.subject) for item in waiting)

    @cached_property
    def default(self) -> str:
        """The organization of requests that name none: the person's choice, or the only one; empty if none is."""
        own = [item["organization"] for item in self._of_kind("org")]
        chosen = [item["organization"] for item in self.items if item["sk"] == DEFAULT_KEY]
        return next((one for one in chosen if one in own), own[0] if len(own) == 1 else "")

    def _of_kind(self, kind: str) -> list[Item]:
        return [item for item in self.items if item["sk"].startswith(f"{kind}#")]


def _check_id(place: str, value: str) -> None:
    """Check an id, which is a part of keys, of paths of URLs and of messages to the broker."""
    if not ID.fullmatch(value):
        characters = f"1 to {MAX_ID_CHARACTERS} characters, none of them #, / or a control character"
        raise InvalidRequest(field=place, problem=f"an id has {characters}, and is not . or ..")
