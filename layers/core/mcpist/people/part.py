"""A part of an organization: a few of its users, with all that a change of them depends on.

So a change of one user costs the same requests however many users there are. What is not read is counted in the
organization's own item: how many administrators there are, and how many users of each issuer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from mcpist.aws.attributes import Item, decode
from mcpist.aws.table import Table
from mcpist.caller import Subject
from mcpist.people.organization import WAITING_KIND, Organization, Others, User

MAX_ITEMS_PER_REQUEST = 100


@dataclass(frozen=True, slots=True)
class UserEdit:
    """An edit that depends on one user, and on what this part names."""

    apply: Callable[[Organization], Organization]
    user: str
    """The id of the user that it adds, changes or removes."""
    roles: tuple[str, ...] = ()
    """The roles that it gives."""
    sub: str | None = None
    """The user's new id at the identity provider; None where it stays."""
    issuer: str | None = None
    """The issuer of that; None for the user's present one, or the one that all users share."""
    witness: str = ""
    """The id of another user on which it depends."""

    def __call__(self, before: Organization) -> Organization:
        """Return the next organization."""
        return self.apply(before)


def read_part(table: Table, organization: str, edit: UserEdit) -> tuple[int, Organization | None]:
    """Read what an edit depends on, and the organization's version; None where only the whole can say.

    The version is read first: where anything changes afterwards, a write on condition of it fails.
    """
    pk = f"org#{organization}"
    head = table.get(pk, "org")
    if head is None or "issuers" not in head:
        return 0, None
    users = list(dict.fromkeys(filter(None, (edit.user, edit.witness))))
    items = table.get_many([(pk, f"user#{user}") for user in users])
    present = next((item for item in items if item["user"] == edit.user), None)
    groups = table.query(pk, "group#") if any(item.get("groups") for item in items) else []
    roles = dict.fromkeys([*edit.roles, *(role for item in (*items, *groups) for role in item["roles"])])
    keys = [(pk, f"role#{role}") for role in roles]
    subject = _new_subject(edit, head, present)
    if subject is not None:
        keys += [
            (f"subject#{subject.issuer}#{subject.sub}", sort_key) for sort_key in (pk, f"{WAITING_KIND}#{organization}")
        ]
    if len(keys) > MAX_ITEMS_PER_REQUEST:
        return 0, None
    found = table.get_many(keys)
    if any(item.get("user", edit.user) != edit.user for item in found):  # another user has the subject
        return 0, None
    own = [item for item in found if item["pk"] == pk]
    part = Organization.from_items(organization, [head, *items, *groups, *own, *table.query(pk, "module#")])
    return head["version"], part and replace(part, others=_others(head, items))


def _new_subject(edit: UserEdit, head: Item, present: Item | None) -> Subject | None:
    """Return the subject that the user gets; None where it keeps its own."""
    if edit.sub is None and edit.issuer is None:
        return None
    issuers = [*head["issuers"]]
    usual = present["issuer"] if present else issuers[0] if len(issuers) == 1 else ""
    sub = edit.sub if edit.sub is not None else present["sub"] if present else ""
    return Subject((edit.issuer or usual).rstrip("/"), sub)


def _others(head: Item, items: list[Item]) -> Others:
    """Return the counts of the users whose items were not read."""
    issuers = dict(head["issuers"])
    for item in items:
        issuers[item["issuer"]] = issuers.get(item["issuer"], 0) - 1
    administrators = head["administrators"] - sum(decode(User, item).administers for item in items)
    return Others(administrators, {issuer: count for issuer, count in issuers.items() if count > 0})
