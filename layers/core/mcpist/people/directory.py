"""The directory: organizations, their users, roles and memberships.

Items (`pk`, `sk`):
    orgs, org#ACME                   the entry of an organization in the list of all
    org#ACME, org                    the organization: name, disabled tool masks, company's directory, version
    org#ACME, role#ROLE              a role
    org#ACME, module#MODULE          a module that was registered at run time
    org#ACME, group#ID               a group of the company's directory, with the roles that it gives
    org#ACME, user#USER              a user: name, system_role, locale, subject, acceptance, roles in order, SCIM
    subject#ISSUER#SUB, org#ACME     the resulting access of a user: a request reads it with one Query
    subject#ISSUER#SUB, waiting#ACME the same of one that waits, was declined or is deactivated: no access
    subject#ISSUER#SUB, default      the organization of requests that name none (see `memberships`)
    publications, ACME#VERSION       the mark of a change that is not published to all users yet (see `publication`)
    subject#ISSUER#SUB, service      the credentials of a service user (see `service_credentials`)
    subject#ISSUER#SUB, browser#ID   a browser in which the user is signed in (see `browsers`); read by the same Query

A change is computed from the organization as it was read at some version, and written in a transaction on condition of
that version. So the organization's invariants (no two users with one subject, no user with a role that does not exist,
at least one administrator) hold even if several people change it at once.
The access items are derived from the others: they are created and deleted with their users, and change with them in one
transaction. A change that concerns more users than fit into one is published after it, by `publication`.
A change of one user reads only the part of the organization that it depends on.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from mcpist import errors
from mcpist.aws.attributes import Item
from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Proof, Subject
from mcpist.memory import Memory
from mcpist.people import publication
from mcpist.people.change import NO_OPTIONS, Change, ChangeOptions, Journal
from mcpist.people.organization import KnownSubject, Organization
from mcpist.people.part import UserEdit, read_part
from mcpist.settings import settings

ACCESS_CACHE_SECONDS = 5
MAX_CACHED_SUBJECTS = 1_000
MAX_WRITE_ATTEMPTS = 10  # of a change, while others change the organization, too

ORGANIZATION_CACHE_SECONDS = 60
MAX_CACHED_ORGANIZATIONS = 20

access_cache: Memory[Subject, KnownSubject] = Memory(ACCESS_CACHE_SECONDS, MAX_CACHED_SUBJECTS)
organization_cache: Memory[str, tuple[int, Organization]] = Memory(ORGANIZATION_CACHE_SECONDS, MAX_CACHED_ORGANIZATIONS)
"""Organizations with the versions of which they are; a page reads the version alone where it is still the same."""


def identify(
    subject: Subject,
    *,
    organization: str = "",
    roles: Collection[str] = (),
    proof: Proof | None = None,
    within: Collection[str] = (),
) -> Caller:
    """Return the caller for a subject, with the given roles or with all roles of its membership in their order.

    Where none is named, the person's default organization counts, or the only one. MembershipRequired: the subject is
    no member of it; AcceptanceRequired: its person has not accepted to be. OrganizationAmbiguous: it is a member of
    several, of which none is the default. AuthorizationError: its membership does not have a given role.
    ClientNotAllowed: the organization is not `within` those in which the client may act, if these are named.
    """
    found = known(subject)
    wanted = organization or (found.default if not within or found.default in within else "")
    matching = [caller for caller in found.callers if wanted in {"", caller.organization}]
    if within and matching:
        matching = [caller for caller in matching if caller.organization in within]
        if not matching:
            raise errors.ClientNotAllowed(organization=wanted)
    if not matching:
        raise _no_membership(found, organization)
    if len(matching) > 1:
        raise errors.OrganizationAmbiguous(known=", ".join(caller.organization for caller in matching))
    caller = in_roles(matching[0], roles) if roles else matching[0]
    return replace(caller, proof=proof) if proof else caller


def in_roles(caller: Caller, roles: Collection[str]) -> Caller:
    """Return the caller with only these of its roles, in their order; AuthorizationError for one that it lacks."""
    for name in roles:
        if name not in caller.role_names:
            raise errors.AuthorizationError(name=f"role {name}")
    kept = [role for role in caller.roles if role.name in roles]
    left_out = [role for role in caller.roles if role.name not in roles]
    # A person must not avoid an approval by naming another role.
    approval = tuple(mask for role in left_out for mask in role.approval)
    second = tuple(mask for role in left_out for mask in role.second_person)
    if approval or second:
        kept = [
            replace(role, approval=role.approval + approval, second_person=role.second_person + second) for role in kept
        ]
    return replace(caller, roles=tuple(kept))


def identify_all(subject: Subject) -> list[Caller]:
    """Return the callers for a subject, one for each membership; MembershipRequired if it has none."""
    found = known(subject)
    if not found.callers:
        raise _no_membership(found, "")
    return list(found.callers)


def read_subject(subject: Subject, *, fresh: bool = False) -> list[Item]:
    """Return all items of a subject, cached for seconds unless they must be `fresh`."""
    if fresh:
        access_cache.drop(lambda cached, _: cached == subject)
    return known(subject).items


def subject_key(subject: Subject) -> str:
    """Return the partition key of a subject's items."""
    return f"subject#{subject.issuer}#{subject.sub}"


def known(subject: Subject) -> KnownSubject:
    """Return a subject with its memberships and the organization of its requests that name none, cached for seconds."""
    return access_cache.get_or_make(
        subject, lambda: KnownSubject(subject, directory_table().query(subject_key(subject)))
    )


def _no_membership(found: KnownSubject, organization: str) -> errors.MembershipRequired:
    waiting = [one.organization for one in found.waiting if organization in {"", one.organization}]
    if waiting:
        return errors.AcceptanceRequired(organization=organization, known=", ".join(waiting))
    return errors.MembershipRequired(organization=organization)


type Edit = Callable[[Organization], Organization]


def organizations() -> list[str]:
    """Return the ids of all organizations."""
    return [item["organization"] for item in directory_table().query("orgs")]


def read(organization: str) -> Organization:
    """Read an organization; InvalidRequest if it does not exist."""
    return read_version(organization)[1]


def has_company(organization: str) -> bool:
    """Whether a company's directory has ever been connected to an organization."""
    return "directory" in (directory_table().get(f"org#{organization}", "org") or {})


def find(organization: str) -> Organization | None:
    """Read an organization by one Query; None if it does not exist."""
    return Organization.from_items(organization, directory_table().query(f"org#{organization}"))


def read_version(organization: str) -> tuple[int, Organization]:
    """Read an organization with its version; InvalidRequest if it does not exist.

    What was read of a version a minute ago is not read again: every change of an organization has another version.
    """
    version, found = _read(organization, known=organization_cache.get(organization))
    if found:
        organization_cache.put(organization, (version, found))
    return version, found or _raise_unknown(organization)


def change(
    organization: str, edit: Edit, options: ChangeOptions = NO_OPTIONS, *, journal: Journal | None = None
) -> Change:
    """Replace an organization by the result of `edit`; a dry run only returns the change.

    `edit` is called again if another change was faster; with an `expected_version` that is a VersionChanged. Nothing is
    changed if the result is invalid (InvalidRequest) or has no administrator (LastAdministrator). Repeating a change
    that was interrupted completes it.
    """
    part = edit if isinstance(edit, UserEdit) else None
    return _apply_edit(
        organization, lambda before: edit(before or _raise_unknown(organization)), options, journal, part=part
    )


def finish_publications(created_before: float) -> int:
    """Publish what interrupted changes have left that began before a moment, and return how many there were."""
    marks = publication.unfinished(created_before)
    for mark in marks:
        change(mark["organization"], lambda before: before)
        publication.remove_mark(mark)
    return len(marks)


def create(
    organization: Organization, options: ChangeOptions = NO_OPTIONS, *, journal: Journal | None = None
) -> Change:
    """Create an organization; InvalidRequest if its id is taken."""

    def new(before: Organization | None) -> Organization:
        if before is not None:
            problem = f'there is an organization "{organization.id}" already'
            raise errors.InvalidRequest(field="organization", problem=problem)
        return organization

    return _apply_edit(organization.id, new, options, journal)


def replace_organization(
    organization: Organization, options: ChangeOptions = NO_OPTIONS, *, journal: Journal | None = None
) -> Change:
    """Create an organization or replace what its document has; LastAdministrator if it has no administrator.

    Whoever is new in an organization that exists is asked first. One of more than some dozens of users is written in
    several transactions, roles and administrators first. Repeating a replacement that was interrupted completes it.
    """
    if not organization.administrators:
        raise errors.LastAdministrator(field="users", organization=organization.id)
    return _apply_edit(
        organization.id,
        lambda before: organization.asking(before).keeping(before) if before else organization,
        options,
        journal,
        publish_all=True,
    )


def read_settings(organization: str) -> Organization:
    """Read an organization without its roles, users and modules; InvalidRequest if it does not exist."""
    items = directory_table().query(f"org#{organization}", "org")
    return Organization.from_items(organization, items) or _raise_unknown(organization)


def role_names(organization: str) -> list[str]:
    """Return the names of an organization's roles."""
    return [item["name"] for item in directory_table().query(f"org#{organization}", "role#")]


def _apply_edit(
    organization: str,
    edit: Callable[[Organization | None], Organization],
    options: ChangeOptions = NO_OPTIONS,
    journal: Journal | None = None,
    *,
    part: UserEdit | None = None,
    publish_all: bool = False,
) -> Change:
    for _ in range(MAX_WRITE_ATTEMPTS):
        change = _evaluate(organization, edit, part)
        if options.expected_version not in {None, change.version}:
            raise errors.VersionChanged(what=f"the organization {organization}")
        if change.before.administrator_count and not change.after.administrator_count:
            raise errors.LastAdministrator(field="users", organization=organization)
        if options.dry_run:
            return change
        is_empty = change.before == change.after
        written = change.version if is_empty else _write(change, journal)
        if written is not None:
            published = set() if is_empty else change.published_users()
            users = publication.stale_users(change.after) if is_empty or publish_all else published
            publication.publish(written, change.after, users)
            if published:
                publication.remove_mark(publication.mark(organization, change.version + 1))
            return replace(change, version=written)
    raise errors.StoreUnavailable(store="directory")


def _evaluate(organization: str, edit: Callable[[Organization | None], Organization], part: UserEdit | None) -> Change:
    """Return the change that an edit makes of an organization, or of the part on which it depends."""
    if part is not None:
        version, before = read_part(directory_table(), organization, part)
        if before is not None:
            with suppress(errors.McpistError):  # its text names what there is: that needs the whole organization
                return Change(before, edit(before).validated(), version)
    version, before = _read(organization)
    return Change(before or Organization(organization, ""), edit(before).validated(), version)


def _read(organization: str, *, known: tuple[int, Organization] | None = None) -> tuple[int, Organization | None]:
    """Read an organization and its version; the version first, so that a change in between makes a later write fail.

    If the version is that of the organization which is `known`, that one is returned.
    """
    table, pk = directory_table(), f"org#{organization}"
    head = table.get(pk, "org")
    if known and head and head.get("version") == known[0]:
        return known
    items = table.query(pk) if head else ()
    return (head or {}).get("version", 0), Organization.from_items(organization, items)


def _write(change: Change, journal: Journal | None) -> int | None:
    """Write a change with its audit rows and return the new version; None if another change was faster."""
    version, parts = change.version, list(change.transactions(is_new=not change.version))
    for part in parts:
        rows = [journal(difference) for difference in part.differences] if journal else []
        is_written = directory_table().transact(
            part.puts,
            [(item["pk"], item["sk"]) for item in part.deletes],
            guard=change.after.head_item(version + 1, is_whole=part is parts[-1]),
            condition="#version = :version" if version else "attribute_not_exists(#version)",
            values={":version": version} if version else {},
            new_items={settings().audit_table: rows},
        )
        if not is_written:
            return None
        version += 1
    return version


def _raise_unknown(organization: str) -> NoReturn:
    known = ", ".join(organizations()) or "none"
    problem = f'there is no organization "{organization}" (organizations: {known})'
    raise errors.InvalidRequest(field="organization", problem=problem)
