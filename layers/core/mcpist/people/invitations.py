"""Invitations: links that make the first person who signs in by one a user of an organization.

Item of the directory's table: `invitations#ACME, HASH`, with the user that it makes. The link's secret is stored
nowhere; the item has its hash. An invitation ends when it was used or withdrawn, after some days at the latest, and as
soon as who made it is no administrator any more.
"""

import hashlib
import secrets
import time
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlencode

from mcpist.aws.attributes import decode, encode
from mcpist.aws.table import directory_table, holds
from mcpist.caller import Caller, Subject
from mcpist.errors import AlreadyExists, InvalidRequest, InvitationNotFound, Locale
from mcpist.people import directory, memberships
from mcpist.people.administration import Administration, journal_of
from mcpist.people.organization import Organization, User
from mcpist.people.part import UserEdit
from mcpist.suggestions import nearest

PATH = "/join"
DEFAULT_INVITATION_DAYS, MAX_INVITATION_DAYS = 7, 30
MAX_INVITATIONS = 100
SECRET_BYTES = 32
DAY_SECONDS = 86_400

type Outcome = Literal["joined", "already_member", "invalid", "taken"]


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation that nobody has used yet."""

    key: str
    """The hash of the link's secret."""
    user: str
    """The id that the person gets."""
    name: str
    roles: tuple[str, ...]
    locale: Locale
    invited_by: str
    created_at: int
    """In epoch seconds."""
    expires_at: int
    """In epoch seconds."""
    claimed_by: str = ""
    """The hash of the subject that began to use it; nobody else can any more."""


def invite(
    administration: Administration, user: str, *, name: str, roles: tuple[str, ...], locale: Locale, days: int
) -> str:
    """Store an invitation with an audit row, and return the secret of its link."""
    caller, target = administration.caller, f"invitations.{user}"
    with administration.permitted("invitations.create", target):
        if not 1 <= days <= MAX_INVITATION_DAYS:
            raise InvalidRequest(field="days", problem=f"it is at least 1 and at most {MAX_INVITATION_DAYS}")
        _, organization = administration.read()
        pending = find(caller.organization)
        if user in organization.users or any(one.user == user for one in pending):
            raise AlreadyExists(kind="user or invitation", name=user)
        if len(pending) >= MAX_INVITATIONS:
            raise InvalidRequest(field="id", problem=f"at most {MAX_INVITATIONS} invitations wait: withdraw some")
        rehearsed = User(user, name, Subject("https://invited.invalid", user), roles=roles, locale=locale)
        organization.with_user(rehearsed).validated()
        secret, now = secrets.token_urlsafe(SECRET_BYTES), int(time.time())
        ends = now + days * DAY_SECONDS
        made = Invitation(hash_of(secret), user, name, roles, locale, caller.user, created_at=now, expires_at=ends)
        after = {"name": name, "roles": list(roles), "expires_at": made.expires_at}
        # First the row: no link works without a trail.
        administration.record("invitations.create", target, after=after)
        directory_table().put({"pk": _partition_key(caller.organization), "sk": made.key} | encode(made))
    return secret


def find(organization: str) -> list[Invitation]:
    """Return the invitations that can still be used, the newest first."""
    items = directory_table().query(_partition_key(organization))
    found = [decode(Invitation, item) for item in items if item["expires_at"] > time.time()]
    return sorted(found, key=lambda one: -one.created_at)


def link(public_url: str, organization: str, secret: str) -> str:
    """Return the address that uses an invitation."""
    return f"{public_url}{PATH}?{urlencode({'organization': organization, 'code': secret})}"


def read(organization: str, secret: str) -> Invitation | None:
    """Return the invitation of a link; None if it cannot be used any more."""
    if not organization or not secret:
        return None
    item = directory_table().get(_partition_key(organization), hash_of(secret))
    return decode(Invitation, item) if item and item["expires_at"] > time.time() else None


def withdraw(administration: Administration, key: str) -> None:
    """Delete the invitation with this key, with an audit row; nothing if it was used or withdrawn already."""
    with administration.permitted("invitations.delete", "invitations"):
        for found in find(administration.caller.organization):
            if found.key == key:
                _delete(administration, found)


def withdraw_of(administration: Administration, user: str) -> None:
    """Delete the invitation of a user id, with an audit row; InvitationNotFound if none waits."""
    with administration.permitted("invitations.delete", f"invitations.{user}"):
        waiting = {one.user: one for one in find(administration.caller.organization)}
        if user not in waiting:
            raise InvitationNotFound(name=user, known=nearest(user, waiting))
        _delete(administration, waiting[user])


def accept(organization: str, secret: str, subject: Subject, request: str) -> Outcome:
    """Make the subject a user, if it is the first that uses the link; a subject that is a user already needs none."""
    if any(item["sk"] == f"org#{organization}" for item in directory.read_subject(subject, fresh=True)):
        return "already_member"
    found = read(organization, secret)
    if found is None or not claim(organization, found, subject):
        return "invalid"
    caller = Caller(organization, found.user, subject, "user", ())
    # What the edit reads besides the user: the administrator who made the invitation.
    edit = UserEdit(
        lambda before: _joined(before, found, subject),
        found.user,
        found.roles,
        subject.sub,
        subject.issuer,
        witness=found.invited_by,
    )
    memberships.keep_default(subject)
    try:
        directory.change(organization, edit, journal=journal_of(caller, "invitations.accept", request))
    except AlreadyExists:
        return "taken"
    except InvalidRequest:  # who made it is no administrator any more, or the organization is gone
        return "invalid"
    directory_table().delete(_partition_key(organization), found.key)
    directory.read_subject(subject, fresh=True)
    return "joined"


def hash_of(secret: str) -> str:
    """Return the key of an invitation."""
    return hashlib.sha256(f"an invitation\n{secret}".encode(errors="replace")).hexdigest()


def claim(organization: str, found: Invitation, subject: Subject) -> bool:
    """Whether this subject is the first that uses an invitation; it may go on after an interruption."""
    claimed = replace(found, claimed_by=hashlib.sha256(directory.subject_key(subject).encode()).hexdigest())
    return holds(
        directory_table().put,
        {"pk": _partition_key(organization), "sk": found.key} | encode(claimed),
        condition="attribute_exists(pk) AND (attribute_not_exists(#claimed_by) OR #claimed_by IN (:none, :me))",
        values={":none": "", ":me": claimed.claimed_by},
    )


def _joined(before: Organization, found: Invitation, subject: Subject) -> Organization:
    """Add the user with those of the invitation's roles that still exist."""
    if found.invited_by not in before.administrators:
        raise InvalidRequest(field="invitation", problem="who made it is no administrator")
    present = before.users.get(found.user)
    if present and present.subject != subject:
        raise AlreadyExists(kind="user", name=found.user)
    roles = tuple(role for role in found.roles if role in before.roles)
    return before.with_user(User(found.user, found.name, subject, roles=roles, locale=found.locale))


def _delete(administration: Administration, found: Invitation) -> None:
    directory_table().delete(_partition_key(administration.caller.organization), found.key)
    before = {"name": found.name, "roles": list(found.roles)}
    administration.record("invitations.delete", f"invitations.{found.user}", before=before)


def _partition_key(organization: str) -> str:
    return f"invitations#{organization}"
