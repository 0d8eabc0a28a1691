"""Sessions: the broker's sealed statement that a browser belongs to a user.

A session proves its user as a JWT does. It ends when it was not used for an hour, after twelve hours at the latest, and
at once where its browser is signed out in the directory.
"""

import hashlib
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.errors import AuthenticationError, MembershipRequired
from mcpist.people import browsers, directory
from token_broker.vault.sealed_token import SealedToken

IDLE_SECONDS = 3600
MAX_SESSION_SECONDS = 12 * 3600
ID_BYTES = 24


class Session(SealedToken):
    """The user who logged in; `expires_at` is the end unless the session is used before."""

    name = "the browser's session"
    expired_verb = "ended"
    place = ("browser", "session")

    id: str
    """The part that stays when the session is renewed; a secret of the browser's."""
    began_at: int
    """The login, in epoch seconds."""

    @property
    def ends_at(self) -> int:
        """The end that no renewal moves, in epoch seconds."""
        return self.began_at + MAX_SESSION_SECONDS


def issue(caller: Caller) -> dict[str, Any]:
    """Return the session of a caller who has just logged in: its fields, and its sealed form as `session`."""
    now = int(time.time())
    id_ = secrets.token_urlsafe(ID_BYTES)
    session = Session.for_caller(caller, id=id_, began_at=now, expires_at=now + IDLE_SECONDS)
    return {**_fields(session), "session": session.seal()}


def read(value: SecretStr, organization: str) -> dict[str, Any]:
    """Return the fields of a session; with a new sealed form as `session` if it is to be used instead from now on."""
    session, now = Session.open(value, organization), int(time.time())
    until = min(now + IDLE_SECONDS, session.ends_at)
    if until - session.expires_at < IDLE_SECONDS // 2:
        return _fields(session)
    renewed = session.model_copy(update={"expires_at": until})
    return {**_fields(renewed), "session": renewed.seal()}


def redeem(value: SecretStr, organization: str) -> Caller:
    """Return the user of an organization's session as the directory knows it now."""
    session = Session.open(value, organization)
    caller = session.caller()
    if not browsers.is_signed_in(caller.subject, session.id):
        raise AuthenticationError(problem="the browser's session has ended")
    return caller


def record_refused_login(subject: Subject, organization: str, client: ClientInfo, error: MembershipRequired) -> None:
    """Record in a person's own organizations that they wanted to sign in to another one."""
    with suppress(MembershipRequired):  # of nobody known here there is no row
        for caller in directory.identify_all(subject):
            with audit.best_effort():
                target = f"organizations.{organization}"
                audit.record_refused_sign_in(replace(caller, client=client), error.code, target)


def fingerprint(organization: str, value: SecretStr, *, is_session: bool) -> str:
    """Return the hash that a pending connection is bound to: equal for the same session, renewed or not, or JWT."""
    proof = Session.open(value, organization).id if is_session else value.get_secret_value()
    return hashlib.sha256(f"{organization}\n{proof}".encode()).hexdigest()


def _fields(session: Session) -> dict[str, Any]:
    return {**session.model_dump(), "ends_at": session.ends_at}
