"""The directory: organizations, their users, roles and memberships.

Items (`pk`, `sk`):
    orgs, org#ACME                   that there is this organization
    org#ACME, org                    the organization: name, disabled tool masks, and the version of all its items
    org#ACME, role#ROLE              a role
    org#ACME, user#USER              a user: name, system_role, locale, subject
    org#ACME, member#ROLE#USER       one user's role, unique per pair, with its position in the user's order
    subject#ISSUER#SUB, org#ACME     the access that all of these add up to: what one Query reads for a request

Every change is made to what was read at a version, and written in a transaction that the version guards. So what must
hold of the whole organization (each subject one user, no user with a role that is gone, never without its last
administrator) holds however many people change it at once.
The access items are derived: they come and go with their users, and `_publish` writes them anew after every change.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from mcpist.aws.attributes import Item
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.codec import decode
from mcpist.aws.table import Table
from mcpist.caller import Caller, Proof, Role, Subject, SystemRole
from mcpist.errors import (
    AuthorizationError,
    InvalidRequest,
    LastAdministrator,
    Locale,
    MembershipRequired,
    OrganizationAmbiguous,
    StoreUnavailable,
)
from mcpist.memory import Memory
from mcpist.people.organization import Change, Organization, User
from mcpist.settings import settings

ACCESS_CACHE_SECONDS = 5
MAX_CACHED_SUBJECTS = 1_000
MAX_WRITE_ATTEMPTS = 10  # to write while others write, too

access_cache: Memory[Subject, list[Item]] = Memory(ACCESS_CACHE_SECONDS, MAX_CACHED_SUBJECTS)


def identify(
    subject: Subject,
    *,
    organization: str = "",
    roles: Collection[str] = (),
    proof: Proof | None = None,
) -> Caller:
    """The Caller that a subject is, in the roles named, or else in all that it has, in their order.

    MembershipRequired where it is a member of no such organization, OrganizationAmbiguous where it must name one of
    several; AuthorizationError for a role that it does not have.
    """
    accesses = _access_items(subject)
    chosen = [access for access in accesses if not organization or access["organization"] == organization]
    if not chosen:
        raise MembershipRequired(organization=organization)
    if len(chosen) > 1:
        raise OrganizationAmbiguous(known=", ".join(access["organization"] for access in chosen))
    access = chosen[0]
    held = tuple(decode(Role, role) for role in access["roles"])
    for name in roles:
        if all(role.name != name for role in held):
            raise AuthorizationError(name=f"role {name}")
    return Caller(
        organization=access["organization"],
        user=access["user"],
        subject=subject,
        system_role=access["system_role"],
        roles=tuple(role for role in held if not roles or role.name in roles),
        disabled=tuple(access["disabled"]),
        locale=access["locale"],
        proof=proof,
    )


type Edit = Callable[[Organization], Organization]


def organizations() -> list[str]:
    """The ids of all organizations."""
    return [item["organization"] for item in _table().query("orgs")]


def read(organization: str) -> Organization:
    """An organization as it is; InvalidRequest where there is none."""
    _, found = _read(organization)
    return found or _raise_unknown(organization)


def change(organization: str, edit: Edit, *, dry_run: bool = False) -> Change:
    """Make of an organization what `edit` makes of it; a dry run only says what that would be.

    `edit` is asked again where somebody else was quicker. InvalidRequest, with nothing changed, for what must not be;
    LastAdministrator where none would be left. To repeat a change that ended halfway repairs what it left.
    """
    return _apply_edit(organization, lambda before: edit(before or _raise_unknown(organization)), dry_run=dry_run)


def create(organization: Organization, *, dry_run: bool = False) -> Change:
    """Create an organization; InvalidRequest where there is one of this id."""

    def new(before: Organization | None) -> Organization:
        if before is not None:
            raise InvalidRequest(field="organization", problem=f'there is an organization "{organization.id}" already')
        return organization

    return _apply_edit(organization.id, new, dry_run=dry_run)


def replace_organization(organization: Organization, *, dry_run: bool = False) -> Change:
    """Create an organization, or make one exactly this; LastAdministrator for one without an administrator.

    One of more than some dozens of users is written in several transactions, roles and administrators first: if that
    breaks off, repeating it brings it to its end.
    """
    if not organization.administrators:
        raise LastAdministrator(field="users", organization=organization.id)
    return _apply_edit(organization.id, lambda _: organization, dry_run=dry_run, publish_all=True)


def put_organization(organization: str, *, name: str, disabled: Sequence[str] = ()) -> None:
    """Create or change an organization; `disabled` are masks of tools switched off for everybody."""
    new = Organization(organization, name, tuple(disabled))
    _apply_edit(organization, lambda before: replace(before or new, name=name, disabled=new.disabled))


def put_role(organization: str, role: Role) -> None:
    """Create or change a role."""
    change(organization, lambda before: before.with_role(role))


def put_user(
    organization: str,
    user: str,
    *,
    name: str,
    subject: Subject,
    system_role: SystemRole = "user",
    roles: Iterable[str] = (),
    locale: Locale = "en",
) -> None:
    """Create or change a user, and set its roles in their order."""
    new = User(user, name, subject, system_role, tuple(dict.fromkeys(roles)), locale)
    change(organization, lambda before: before.with_user(new))


def role_names(organization: str) -> list[str]:
    """The names of an organization's roles."""
    return [item["name"] for item in _table().query(f"org#{organization}", "role#")]


def _apply_edit(
    organization: str,
    edit: Callable[[Organization | None], Organization],
    *,
    dry_run: bool = False,
    publish_all: bool = False,
) -> Change:
    for _ in range(MAX_WRITE_ATTEMPTS):
        version, before = _read(organization)
        made = Change(before or Organization(organization, ""), edit(before).validated())
        if made.before.administrators and not made.after.administrators:
            raise LastAdministrator(field="users", organization=organization)
        if dry_run:
            return made
        written = version if before == made.after else _write(version, made)
        if written is not None:
            _publish(written, made.after, set(made.after.users) if publish_all else made.affected_users())
            return made
    raise StoreUnavailable(store="directory")


def _read(organization: str) -> tuple[int, Organization | None]:
    """An organization with its version, read first: what changes while the rest is read makes a write fail."""
    pk = f"org#{organization}"
    head = _table().get(pk, "org")
    return (head or {}).get("version", 0), Organization.from_items(organization, _table().query(pk) if head else ())


def _write(version: int, made: Change) -> int | None:
    """Write what differs and give the new version; None where somebody else has written since `version`."""
    for puts, deletes in made.transactions(is_new=not version):
        held = _table().transact(
            puts,
            [(item["pk"], item["sk"]) for item in deletes],
            guard=made.after.head_item(version + 1),
            condition="#version = :version" if version else "attribute_not_exists(#version)",
            values={":version": version} if version else {},
        )
        if not held:
            return None
        version += 1
    return version


def _publish(version: int, state: Organization, users: set[str]) -> None:
    """Write anew the access items of these users.

    Whether the organization has changed since is looked up afterwards, until it stands still: so whoever writes an
    item last has seen every change, however many administrators work at once.
    """
    while True:
        for access in state.access_items():
            if access["user"] in users:
                _replace_access_item(access)
        latest, found = _read(state.id)
        if latest == version:
            return
        version, state = latest, found or state


def _replace_access_item(access: Item) -> None:
    """Replace an access item; one that was removed meanwhile stays removed."""
    with suppress(ConditionFailed):
        _table().put(access, condition="#user = :user", values={":user": access["user"]})


def _raise_unknown(organization: str) -> NoReturn:
    known = ", ".join(organizations()) or "none"
    problem = f'there is no organization "{organization}" (organizations: {known})'
    raise InvalidRequest(field="organization", problem=problem)


def _access_items(subject: Subject) -> list[Item]:
    """The subject's access items, from memory for some seconds."""
    return access_cache.get_or_make(subject, lambda: _table().query(f"subject#{subject.issuer}#{subject.sub}"))


def _table() -> Table:
    return Table(settings().directory_table, "directory")
