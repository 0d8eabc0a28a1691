"""A change of an organization: what differs, and the items that its transactions write."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.aws.attributes import Item, encode
from mcpist.caller import RegisteredModule, Role
from mcpist.people import publication
from mcpist.people.company import CompanyDirectory, Group
from mcpist.people.organization import Organization, User

MAX_TRANSACTION_ITEMS = 99  # besides the organization's own
MAX_ACCESS_ITEMS = 40  # that change with the organization in its transaction; more are published after it

UNDOCUMENTED_FIELDS = ("acceptance", "active", "groups", "directory_name")
"""The fields of a user that no document has."""

type Fields = Mapping[str, Any]
"""A user, a role or an organization's own fields as plain values: mappings, lists and texts."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One part of an organization before and after a change; None where it does not exist."""

    path: str
    """`organization`, `directory`, `policies`, `modules.NAME`, `groups.ID`, `users.ID` or `roles.NAME`."""
    before: Fields | None
    after: Fields | None

    @property
    def group(self) -> str:
        """The key of the items that are written together with it."""
        kind, _, name = self.path.partition(".")
        return f"{kind[:-1]}#{name}" if name else "org"


type Journal = Callable[[Difference], Item]
"""Makes the audit row of a difference, which is written in the same transaction."""


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """The options of a change."""

    dry_run: bool = False
    """Whether nothing is written."""
    expected_version: int | None = None
    """The version that the organization must still have; None for any."""
    with_grants: bool = False
    """Whether the accounts of users and roles that it removes, or makes other people, are revoked."""


NO_OPTIONS = ChangeOptions()


@dataclass(slots=True)
class Transaction:
    """Items to put and to delete together, and the differences that they make."""

    puts: list[Item] = field(default_factory=list)
    deletes: list[Item] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of items that it writes: each difference has an audit row."""
        return len(self.puts) + len(self.deletes) + len(self.differences)

    def extend(self, other: "Transaction") -> None:
        """Add what another one writes."""
        self.puts += other.puts
        self.deletes += other.deletes
        self.differences += other.differences


@dataclass(frozen=True, slots=True)
class Change:
    """An organization before and after a change; before its creation it is empty."""

    before: Organization
    after: Organization
    version: int = 0
    """The version of `after`, or of `before` where nothing was written."""

    def affected_users(self) -> set[str]:
        """Return the users whose access differs; all of them if nothing does, which repairs an interrupted change."""
        old = {} if self.before == self.after else {access["user"]: access for access in self.before.access_items()}
        return {access["user"] for access in self.after.access_items() if access != old.get(access["user"])}

    def published_users(self) -> set[str]:
        """Return the users whose access items are written after the transactions: none where these few are in them."""
        users = self.affected_users() & self.before.users.keys()
        return users if len(users) > MAX_ACCESS_ITEMS else set()

    def transactions(self, *, is_new: bool) -> Iterator[Transaction]:
        """Iterate over what each transaction writes; there is at least one.

        The items of one user stay together. A role is written before its users and deleted after them, and
        administrators are written first: so an interrupted change leaves no user with a role that does not exist, and
        never no administrator.
        """
        entry = {"pk": "orgs", "sk": f"org#{self.after.id}", "organization": self.after.id}
        published = self.published_users()
        marks = [publication.mark(self.after.id, self.version + 1)] if published else []
        groups = {"org": Transaction([entry] if is_new else marks)}
        before, after = _items_by_key(self.before), _items_by_key(self.after)
        for key, item in after.items():
            if _must_write(before.get(key), item, published):
                written = item | ({"version": self.version + 1} if _is_access(item) else {})
                groups.setdefault(_transaction_group(item), Transaction()).puts.append(written)
        for key, item in reversed(before.items()):
            if key not in after:
                groups.setdefault(_transaction_group(item), Transaction()).deletes.append(item)
        for difference in self.differences():
            groups.setdefault(difference.group, Transaction()).differences.append(difference)
        current = Transaction()
        for group_writes in groups.values():
            if current.size + group_writes.size > MAX_TRANSACTION_ITEMS:
                yield current
                current = Transaction()
            current.extend(group_writes)
        yield current

    def differences(self) -> list[Difference]:
        """Return the differences: the organization's own fields, modules, roles and users."""
        old, new = _fields_by_path(self.before), _fields_by_path(self.after)
        paths = [path for path in dict.fromkeys((*old, *new)) if old.get(path) != new.get(path)]
        return [Difference(path, old.get(path), new.get(path)) for path in paths]


def _fields_by_path(organization: Organization) -> dict[str, Fields]:
    own = {"organization": own_fields(organization)} if organization.name else {}
    own |= {"directory": directory_fields(organization)} if organization.directory != CompanyDirectory() else {}
    own |= {"policies": encode(organization.policies)} if organization.policies else {}
    own |= {f"groups.{name}": unnamed_fields(group, "group") for name, group in organization.groups.items()}
    own |= {f"modules.{name}": unnamed_fields(module) for name, module in organization.modules.items()}
    roles = {f"roles.{name}": unnamed_fields(role) for name, role in organization.roles.items()}
    return own | roles | {f"users.{name}": user_fields(user) for name, user in organization.users.items()}


def _items_by_key(organization: Organization) -> dict[tuple[str, str], Item]:
    return {(item["pk"], item["sk"]): item for item in (*organization.items(), *organization.access_items())}


def _transaction_group(item: Item) -> str:
    """Return the key of the items that are written together: those of a user, or a role."""
    return f"user#{item['user']}" if "user" in item else str(item["sk"])


def _must_write(before: Item | None, after: Item, published: Collection[str]) -> bool:
    """Whether a transaction must write an item; of the access items that are published only a new one."""
    if before and _is_access(after) and after["user"] in published:
        return bool(before["user"] != after["user"])
    return before != after


def _is_access(item: Item) -> bool:
    return bool(item["pk"].startswith("subject#"))


def own_fields(organization: Organization) -> Fields:
    """Return an organization's own fields as plain values."""
    issuers = [encode(one) for one in organization.trusted_issuers]
    own = {"name": organization.name, "disabled": list(organization.disabled)}
    return {**own, "clients": list(organization.clients), "trusted_issuers": issuers, "undoable": organization.undoable}


def directory_fields(organization: Organization) -> Fields:
    """Return the fields of the company's directory that administrators see, which has no hash of its token."""
    own = organization.directory
    return {"connected": bool(own.token_hash), "token_made_at": own.token_made_at, "grant_days": own.grant_days}


def unnamed_fields(value: Role | RegisteredModule | Group, key: str = "name") -> Fields:
    """Return a role, a registered module or a group as plain values, without its name, which is the field `key`."""
    return {name: field for name, field in encode(value).items() if name != key}


def user_fields(user: User) -> Fields:
    """Return a user as plain values, without the id."""
    subject = {"issuer": user.subject.issuer, "sub": user.subject.sub}
    own = {"name": user.name, "subject": subject, "system_role": user.system_role}
    own |= {"roles": list(user.roles), "locale": user.locale, "acceptance": user.acceptance}
    directory = {"active": not user.deactivated_at, "groups": list(user.groups)}
    return {**own, **directory, "directory_name": user.scim.get("userName", ""), "kind": user.kind}


def fields_of(organization: Organization) -> Fields:
    """Return a whole organization as its document has it: without acceptances and the company's directory."""
    fields_by_user = {user: user_fields(one) for user, one in sorted(organization.users.items())}
    return {
        "organization": organization.id,
        **own_fields(organization),
        "roles": {name: unnamed_fields(role) for name, role in sorted(organization.roles.items())},
        "users": {
            user: {name: value for name, value in one.items() if name not in UNDOCUMENTED_FIELDS}
            for user, one in fields_by_user.items()
        },
    }
