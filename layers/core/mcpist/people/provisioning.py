"""Provisioning: a company's directory makes, changes and ends the memberships of one organization.

It comes with a token of the organization, of which only the hash is stored. A membership that it makes waits like any
other: for the person with its address, who is found at a sign-in whose issuer has verified that address, and who then
accepts. So no directory can make anybody a member, of whichever organization it is.
"""

import base64
import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import decode
from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Subject
from mcpist.errors import AlreadyExists, AuthenticationError, CallerError, GroupNotFound, InvalidRequest, UserNotFound
from mcpist.people import browsers, client_logins, directory
from mcpist.people.administration import Administration, journal_of
from mcpist.people.company import (
    ADDRESS_ISSUER,
    TOKEN_MARK,
    CompanyDirectory,
    Group,
    address_of,
    address_subject,
    name_of,
    organization_of,
    token_hash,
)
from mcpist.people.organization import Organization, User

SCIM_PATH = "/scim/v2"
MAX_GROUPS = 1_000
MAX_NAME_IN_ID = 100
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._@-]+")

type Told = Callable[[Organization], dict[str, Any]]
"""Makes the attributes of a resource, in SCIM's words, of the organization as it is before a change."""


# -- an administrator's side ---------------------------------------------------------------------------


def make_token(work: Administration) -> str:
    """Make the token with which the directory comes, to be shown once; the one before it ends at once."""
    organization = base64.urlsafe_b64encode(work.caller.organization.encode()).decode().rstrip("=")
    token = f"{TOKEN_MARK}{organization}.{secrets.token_urlsafe(32)}"
    edit = change_directory(token_hash=token_hash(token), token_made_at=int(time.time()))
    work.change("directory.connect", "directory", edit)
    return token


def change_directory(**fields: Any) -> directory.Edit:
    """Change the named fields of the access of a company's directory; an empty hash revokes its token."""
    return lambda before: replace(before, directory=replace(before.directory, **fields))


REVOKE_TOKEN = change_directory(token_hash="")


def give_roles(group: str, roles: tuple[str, ...]) -> directory.Edit:
    """Give the members of a group these roles in place of those that it gave; GroupNotFound if there is none."""
    return lambda before: _with_group(before, replace(find_group(before, group), roles=roles))


def find_group(organization: Organization, group: str) -> Group:
    """Return a group by its id; GroupNotFound if there is none."""
    if group not in organization.groups:
        raise GroupNotFound(name=group)
    return organization.groups[group]


# -- the directory's side ------------------------------------------------------------------------------


def identify(token: str) -> Caller:
    """Return the company's directory that a token stands for, as a caller; AuthenticationError for any other value."""
    organization = organization_of(token)
    head = directory_table().get(f"org#{organization}", "org") if organization else None
    known = decode(CompanyDirectory, (head or {}).get("directory", {})).token_hash
    if not known or not hmac.compare_digest(known, token_hash(token)):
        raise AuthenticationError(problem="it is no token of a company's directory, or was replaced or revoked")
    return directory_caller(organization)


def directory_caller(organization: str) -> Caller:
    """Return the caller that acts for the company's directory: it administers, but has no proof for the broker."""
    return Caller(organization, audit.DIRECTORY, Subject("", ""), "admin", ())


def managed_users(organization: Organization) -> dict[str, User]:
    """Return the users that the company's directory manages, by the ids under which it knows them."""
    return {user.scim["id"]: user for user in organization.users.values() if user.scim}


def find_user(organization: Organization, id_: str) -> User:
    """Return a managed user; UserNotFound if there is none."""
    found = managed_users(organization).get(id_)
    if found is None:
        raise UserNotFound(name=id_, known="those that the directory has made")
    return found


def put_user(id_: str, told: Told) -> directory.Edit:
    """Make or change a user; a new one waits for the person with the address. AlreadyExists for a name in use."""

    def edit(before: Organization) -> Organization:
        scim = {"id": id_, **told(before)}
        active, managed = scim.pop("active", True), managed_users(before)
        name = scim["userName"]
        if any(one.scim["userName"].casefold() == name.casefold() for key, one in managed.items() if key != id_):
            raise AlreadyExists(kind="user", name=name)
        user = managed.get(id_) or User(_new_user_id(before, name, id_), name, address_subject(""))
        if user.subject.issuer == ADDRESS_ISSUER:
            user = replace(user, subject=address_subject(address_of(scim)))
        if any(one.subject == user.subject for one in before.users.values() if one.id != user.id):
            raise AlreadyExists(kind="user with the address", name=user.subject.sub)
        ended = 0 if active else user.deactivated_at or int(time.time())
        return before.with_user(replace(user, name=name_of(scim), scim=scim, deactivated_at=ended))

    return edit


def release_user(id_: str) -> directory.Edit:
    """Deactivate a user whom the directory deletes: nothing of the person's works any more, their accounts may end."""

    def edit(before: Organization) -> Organization:
        user = find_user(before, id_)
        ended = user.deactivated_at or int(time.time())
        return before.with_user(replace(user, scim={}, groups=(), deactivated_at=ended))

    return edit


def put_group(id_: str, told: Told) -> directory.Edit:
    """Make or change a group and its members; AlreadyExists for a name in use."""

    def edit(before: Organization) -> Organization:
        sent = told(before)
        name, members = sent["displayName"], {member["value"] for member in sent.get("members", ())}
        others = [group for group in before.groups.values() if group.id != id_]
        if any(group.name.casefold() == name.casefold() for group in others):
            raise AlreadyExists(kind="group", name=name)
        if len(others) >= MAX_GROUPS:
            raise InvalidRequest(field="displayName", problem=f"an organization has at most {MAX_GROUPS} groups")
        if unknown := sorted(members - managed_users(before).keys()):
            raise InvalidRequest(field="members", problem=f"there is no user {unknown[0]}")
        present = before.groups.get(id_, Group(id_, name))
        group = replace(present, name=name, external_id=sent.get("externalId", ""))
        return _with_members(_with_group(before, group), id_, members)

    return edit


def remove_group(group: str) -> directory.Edit:
    """Remove a group, and with it the roles that it gives."""

    def edit(before: Organization) -> Organization:
        find_group(before, group)
        left = {id_: other for id_, other in before.groups.items() if id_ != group}
        return replace(_with_members(before, group, set()), groups=left)

    return edit


def is_expired(organization: Organization, user: User, now: float) -> bool:
    """Whether the accounts of a deactivated user have to end: after the days of the organization, or once deleted."""
    due = user.deactivated_at + (organization.directory.grant_days * 86_400 if user.scim else 0)
    return bool(user.deactivated_at) and due <= now


def end_access(organization: str, subject: Subject) -> None:
    """End the browsers and clients with which a person whose membership has ended could act."""
    for browser in browsers.find(subject, fresh=True):
        if browser.organization == organization:
            browsers.sign_out(subject, browser.key)
    # A client acts for its person in each of their organizations.
    if not directory.known(subject).callers:
        for login in client_logins.find(subject):
            client_logins.end(subject, login.id)


# -- the person's side ---------------------------------------------------------------------------------


def meet(subject: Subject, address: str, request: str, within: Collection[str] = ()) -> None:
    """Give a person, whose issuer has verified an address, what waits for it: they still accept or decline each.

    The word of an organization's own issuer counts `within` that one alone. Where the person is a user of the
    organization already, the directory manages that user from now on.
    """
    if not address:
        return
    expected = address_subject(address)
    directory.read_subject(expected, fresh=True)
    for waiting in directory.known(expected).waiting:
        if within and waiting.organization not in within:
            continue
        journal = journal_of(waiting, "memberships.meet", request)
        with suppress(CallerError):  # the person signs in all the same
            directory.change(waiting.organization, _met(waiting.user, expected, subject), journal=journal)
        directory.read_subject(subject, fresh=True)


def _met(id_: str, expected: Subject, subject: Subject) -> directory.Edit:
    def edit(before: Organization) -> Organization:
        user = before.users.get(id_)
        present = next((one for one in before.users.values() if one.subject == subject), None)
        if user is None or user.subject != expected or (present and present.scim):
            return before
        if present is None:
            return before.with_user(replace(user, subject=subject))
        known = replace(present, scim=user.scim, groups=user.groups, deactivated_at=user.deactivated_at)
        return before.without_user(id_).with_user(known)

    return edit


# -- parts of edits ------------------------------------------------------------------------------------


def _new_user_id(before: Organization, name: str, id_: str) -> str:
    readable = _NOT_IN_ID.sub("-", name)[:MAX_NAME_IN_ID]
    is_taken = readable in {*before.users, *audit.RESERVED_USERS, ".", ".."}
    return f"{readable}-{id_[:8]}" if is_taken else readable


def _with_group(before: Organization, group: Group) -> Organization:
    return replace(before, groups={**before.groups, group.id: group})


def _with_members(before: Organization, group: str, members: set[str]) -> Organization:
    users = dict(before.users)
    for user in before.users.values():
        is_member = user.scim.get("id") in members
        if is_member != (group in user.groups):
            left = tuple(one for one in user.groups if one != group)
            users[user.id] = replace(user, groups=(*left, group) if is_member else left)
    return replace(before, users=users)
