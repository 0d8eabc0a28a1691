"""Sessions: the broker's own sealed word that a browser is a user's, for a quarter of an hour.

Sealed like a warrant, and like it checked against the directory at each use. A session lets its browser connect and
disconnect accounts; nothing can be resolved with it.
"""

import base64
import hashlib
import time
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr

from mcpist.caller import Caller, Subject
from mcpist.directory import identify
from mcpist.errors import AuthenticationError, IntegrityError

from . import vault

SESSION_SECONDS = 900


class Session(BaseModel):
    """Who logged in, and until when it counts (epoch seconds)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    organization: str
    user: str
    issuer: str
    sub: str
    expires_at: int


def issue(caller: Caller) -> dict[str, Any]:
    """`{session, organization, user, expires_at}` for the browser of a caller who has just logged in."""
    session = Session(
        organization=caller.organization,
        user=caller.user,
        issuer=caller.subject.issuer,
        sub=caller.subject.sub,
        expires_at=int(time.time()) + SESSION_SECONDS,
    )
    sealed = vault.seal(SecretStr(session.model_dump_json()), _place(caller.organization))
    return {
        "session": base64.urlsafe_b64encode(sealed).decode(),
        **session.model_dump(include={"organization", "user", "expires_at"}),
    }


def redeem(value: SecretStr, organization: str) -> Caller:
    """The user that a session of this organization stands for, as the directory knows it now."""
    session = _open(value, organization)
    if session.expires_at <= time.time():
        raise AuthenticationError(problem="the browser's session has ended")
    caller = identify(Subject(session.issuer, session.sub), organization=organization)
    if caller.user != session.user:
        raise AuthenticationError(problem="the browser's session is another user's")
    return caller


def fingerprint(organization: str, value: SecretStr) -> str:
    """What a pending connection is bound to: whoever brings the same proof for the same organization began it."""
    return hashlib.sha256(f"{organization}\n{value.get_secret_value()}".encode()).hexdigest()


def _open(value: SecretStr, organization: str) -> Session:
    try:
        sealed = base64.b64decode(value.get_secret_value(), altchars=b"-_", validate=True)
        opened = vault.unseal_proof(sealed, _place(organization))
    except (ValueError, IntegrityError):
        raise AuthenticationError(problem="the browser's session cannot be opened") from None
    return Session.model_validate_json(opened.get_secret_value())


def _place(organization: str) -> vault.Place:
    """Neither a grant's nor a warrant's: none of them opens as another."""
    return vault.Place(organization=organization, owner="browser", service="any", field="session", version=1)
