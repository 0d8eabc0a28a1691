"""Memberships: a person's answers to the organizations that added them, and the choice of the default one.

Item: `subject#ISSUER#SUB, default` with the organization, which counts while the person is a member of it.
"""

from dataclasses import replace
from typing import Literal

from mcpist.audit import record as audit
from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Subject
from mcpist.errors import MembershipRequired
from mcpist.people import directory
from mcpist.people.administration import journal_of
from mcpist.people.organization import DEFAULT_KEY, Organization
from mcpist.people.part import UserEdit

type Answer = Literal["accepted", "declined"]
ACTIONS: dict[Answer, str] = {"accepted": "memberships.accept", "declined": "memberships.decline"}


def answer(subject: Subject, organization: str, given: Answer, request: str) -> None:
    """Accept or decline a membership, with an audit row; MembershipRequired if none waits for the person's answer."""
    directory.read_subject(subject, fresh=True)
    asked = next((one for one in directory.known(subject).waiting if one.organization == organization), None)
    if asked is None:
        if given == "accepted" and directory.identify(subject, organization=organization):
            return  # a form that was sent twice
        raise MembershipRequired(organization=organization)
    if given == "accepted":
        keep_default(subject)
    edit = UserEdit(lambda before: _answered(before, asked, given), asked.user)
    directory.change(organization, edit, journal=journal_of(asked, ACTIONS[given], request))
    directory.read_subject(subject, fresh=True)


def choose_default(caller: Caller, organization: str, request: str) -> None:
    """Make an organization the one of a person's requests that name none; MembershipRequired for another's.

    The row is in that organization alone, and does not name the former default: nobody learns of others by it.
    """
    chosen = replace(directory.identify(caller.subject, organization=organization), client=caller.client)
    audit.record_change(
        chosen, action="memberships.default", target=f"users.{chosen.user}", request=request, after={"default": True}
    )
    _put_default(caller.subject, organization)


def keep_default(subject: Subject) -> None:
    """Before a person becomes a member of one more organization: their requests go where they have gone so far."""
    if present := directory.known(subject).default:
        _put_default(subject, present)


def _put_default(subject: Subject, organization: str) -> None:
    directory_table().put({"pk": directory.subject_key(subject), "sk": DEFAULT_KEY, "organization": organization})
    directory.read_subject(subject, fresh=True)


def _answered(before: Organization, asked: Caller, given: Answer) -> Organization:
    present = before.users.get(asked.user)
    if present is None or (present.subject, present.acceptance) != (asked.subject, "waiting"):
        raise MembershipRequired(organization=before.id)
    return before.with_user(replace(present, acceptance=given))
