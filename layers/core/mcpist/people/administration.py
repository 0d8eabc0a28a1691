"""Administration: changes of an organization by one of its administrators, with their audit rows.

A change and the rows about it are one transaction. A refused change has a row, too.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.errors import AuthorizationError, GrantsRemain, Locale, McpistError, TransientError
from mcpist.people import directory, edits
from mcpist.people.change import NO_OPTIONS, Change, ChangeOptions, Difference, Fields, Journal
from mcpist.people.organization import Organization
from mcpist.people.part import UserEdit

PROFILE_UPDATE = "profile.update"


@dataclass(frozen=True, slots=True, order=True)
class ConnectedAccount:
    """An account that a user or a role has connected."""

    service: str
    owner: str
    """`user#ID` or `role#NAME`."""

    @property
    def owner_name(self) -> str:
        """The owner for people, e.g. `user uma`."""
        return self.owner.replace("#", " ", 1)


class Accounts(Protocol):
    """The connected accounts of an organization, which the token broker keeps; here as if there were none."""

    def find(self, owners: Collection[str]) -> list[ConnectedAccount]:  # noqa: ARG002 - an interface of others
        """Return the accounts of these owners."""
        return []

    def revoke(self, owners: Collection[str]) -> None:
        """Delete the accounts of these owners, and revoke them at their services."""

    def revoke_service(self, service: str) -> None:
        """Delete all accounts that people have connected for a service, and the organization's own app for it."""

    def has_app(self, service: str) -> bool:  # noqa: ARG002
        """Whether the operator has set up an app by which accounts of this service are connected."""
        return False


class NoAccounts(Accounts):
    """The accounts as a company's directory reaches them: the broker ends those of its users by itself."""

    def revoke(self, owners: Collection[str]) -> None:
        """Have nothing to end."""

    def revoke_service(self, service: str) -> None:
        """Have nothing to end."""


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A change, and the accounts that it removes; with a dry run what they would be."""

    change: Change
    accounts: tuple[ConnectedAccount, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Administration:
    """One administrator's request."""

    caller: Caller
    request: str
    """The id of the request."""
    accounts: Accounts

    @contextmanager
    def permitted(self, action: str, target: str = "", *, event: audit.Event = "change") -> Iterator[None]:
        """Run a block for administrators only; an error in it has an audit row, unless trying again helps.

        The row's event is `look` for a block that only reads.
        """
        try:
            if self.caller.system_role != "admin":
                raise AuthorizationError(name=action)
            yield
        except TransientError:
            raise
        except McpistError as error:
            with audit.best_effort():
                audit.record_event(self.caller, event, action, target=target, request=self.request, outcome=error.code)
            raise

    def record(self, action: str, target: str, before: Fields | None = None, after: Fields | None = None) -> None:
        """Append the audit row of a change of what is no part of the organization."""
        audit.record_change(self.caller, action=action, target=target, request=self.request, before=before, after=after)

    def read(self) -> tuple[int, Organization]:
        """Return the version and the content of the administrator's organization."""
        return directory.read_version(self.caller.organization)

    def create(self, new: Organization, *, dry_run: bool = False) -> AppliedChange:
        """Create an organization."""
        action = "organization.create"
        with self.permitted(action, "organization"):
            journal = journal_of(self.caller, action, self.request)
            return AppliedChange(directory.create(new, ChangeOptions(dry_run), journal=journal), (), dry_run)

    def change(
        self, action: str, target: str, edit: directory.Edit, options: ChangeOptions = NO_OPTIONS
    ) -> AppliedChange:
        """Change the organization; `target` is the path of what is changed, such as `users.uma`."""
        organization, journal = self.caller.organization, journal_of(self.caller, action, self.request)
        # With rights in AWS somebody may be made an administrator where none can log in.
        edit = edit if self.caller.user == audit.OPERATOR else _asking(edit)
        with self.permitted(action, target):
            return self._apply(lambda chosen: directory.change(organization, edit, chosen, journal=journal), options)

    def replace(self, new: Organization, options: ChangeOptions = NO_OPTIONS) -> AppliedChange:
        """Replace the whole organization."""
        action = "organization.replace"
        journal = journal_of(self.caller, action, self.request)
        with self.permitted(action, "organization"):
            if new.id != self.caller.organization:
                raise AuthorizationError(name=new.id)
            return self._apply(lambda chosen: directory.replace_organization(new, chosen, journal=journal), options)

    def _apply(self, make: Callable[[ChangeOptions], Change], options: ChangeOptions) -> AppliedChange:
        """Make a change, and before it revoke the accounts whose owners it removes, or makes other people.

        An interrupted removal can then be repeated, while a removed user could no longer be named.
        """
        rehearsed = make(replace(options, dry_run=True))
        owners = removed_owners(rehearsed)
        accounts = tuple(sorted(self.accounts.find(owners))) if owners else ()
        if accounts and not options.with_grants:
            services = ", ".join(sorted({account.service for account in accounts}))
            names = ", ".join(sorted({account.owner_name for account in accounts}))
            raise GrantsRemain(field="grants", name=names, services=services)
        if options.dry_run:
            return AppliedChange(rehearsed, accounts, dry_run=True)
        if accounts:
            self.accounts.revoke({account.owner for account in accounts})
        return AppliedChange(make(options), accounts, dry_run=False)


def _asking(edit: directory.Edit) -> directory.Edit:
    """Return an edit after which the users that it adds, or makes another person, wait for that person to accept."""
    if isinstance(edit, UserEdit):
        return replace(edit, apply=lambda before: edit.apply(before).asking(before))
    return lambda before: edit(before).asking(before)


def journal_of(caller: Caller, action: str, request: str) -> Journal:
    """Return a function that makes the audit row of each difference of a change by this caller."""

    def row(difference: Difference) -> Item:
        path, before, after = difference.path, difference.before, difference.after
        return audit.administration_row(
            caller, "change", action, request=request, target=path, before=before, after=after
        )

    return row


def removed_owners(change: Change) -> set[str]:
    """Return the owners of accounts that a change removes; a user who becomes another person is a new owner."""
    before, after = ({(user.id, user.subject) for user in one.users.values()} for one in (change.before, change.after))
    roles = change.before.roles.keys() - change.after.roles.keys()
    return {*(f"user#{user}" for user, _ in before - after), *(f"role#{role}" for role in roles)}


def operator(organization: str) -> Caller:
    """Return the caller that acts with rights in AWS instead of a token: it creates the first administrator."""
    return Caller(organization, audit.OPERATOR, Subject("", ""), "admin", (), client=ClientInfo(name="mcpist"))


def set_locale(caller: Caller, locale: Locale, request: str) -> None:
    """Store the language of a person's errors and pages at every door, with an audit row in the same transaction."""
    # People change it themselves, without an administrator.
    if caller.locale != locale:
        edit = edits.change_user(caller.user, locale=locale)
        directory.change(caller.organization, edit, journal=journal_of(caller, PROFILE_UPDATE, request))
        directory.access_cache.drop(lambda subject, _: subject == caller.subject)
