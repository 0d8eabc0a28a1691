"""Changes of an organization that also remove the accounts which its removed users and roles have connected.

Of the table `Grants` only the keys are known here (`ORGANIZATION#SERVICE`, and `user#ID` or `role#ID` as the owner):
an account is counted and deleted, and its sealed tokens stay with the broker.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mcpist.aws.table import Table
from mcpist.errors import GrantsRemain
from mcpist.people.organization import Change
from mcpist.settings import settings


@dataclass(frozen=True, slots=True, order=True)
class ConnectedAccount:
    """An account that a user or a role has connected."""

    service: str
    owner: str  # the table's sort key

    @property
    def owner_name(self) -> str:
        """The owner for people, e.g. `user uma`."""
        return self.owner.replace("#", " ", 1)


type Make = Callable[[bool], Change]
"""Makes a change, or with True only returns what it would be."""


def apply_change(make: Make, *, dry_run: bool, forget_accounts: bool) -> tuple[Change, list[ConnectedAccount]]:
    """Make a change and return it with the accounts that it removes, or with `dry_run` would remove.

    Raise GrantsRemain if it would leave accounts without their owner, unless they are to be forgotten.
    """
    rehearsed = make(True)
    accounts = orphaned_accounts(rehearsed)
    if accounts and not forget_accounts:
        services = ", ".join(sorted({account.service for account in accounts}))
        owners = ", ".join(sorted({account.owner_name for account in accounts}))
        raise GrantsRemain(field="grants", name=owners, services=services)
    if dry_run:
        return rehearsed, accounts
    # Accounts first: an interrupted removal can be repeated, while a removed user could no longer be named.
    for account in accounts:
        Table(settings().grants_table, "grants").delete(f"{rehearsed.before.id}#{account.service}", account.owner)
    return make(False), accounts


def orphaned_accounts(change: Change) -> list[ConnectedAccount]:
    """Return the accounts that a change would leave without their user or role."""
    users, roles = (set(getattr(change.before, kind)) - set(getattr(change.after, kind)) for kind in ("users", "roles"))
    owners = {*(f"user#{user}" for user in users), *(f"role#{role}" for role in roles)}
    if not owners:
        return []
    # The services are not known by key, upstream servers being among them: so the table is scanned, for keys alone.
    prefix = f"{change.before.id}#"
    keys = Table(settings().grants_table, "grants").scan(prefix, keys_only=True)
    return [ConnectedAccount(key["pk"].removeprefix(prefix), key["sk"]) for key in keys if key["sk"] in owners]
