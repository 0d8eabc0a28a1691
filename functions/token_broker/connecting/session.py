"""Sessions: the broker's own sealed word that a browser is a user's, for a quarter of an hour.

A session lets its browser connect and disconnect accounts; nothing can be resolved with it.
"""

import hashlib
import time
from typing import Any

from pydantic import SecretStr

from mcpist.caller import Caller
from token_broker.vault.sealed_token import SealedToken

SESSION_SECONDS = 900


class Session(SealedToken):
    """Who logged in."""

    name = "the browser's session"
    expired_verb = "ended"
    place = ("browser", "session")


def issue(caller: Caller) -> dict[str, Any]:
    """`{session, organization, user, expires_at}` for the browser of a caller who has just logged in."""
    session = Session.for_caller(caller, expires_at=int(time.time()) + SESSION_SECONDS)
    return {"session": session.seal(), **session.model_dump(include={"organization", "user", "expires_at"})}


def redeem(value: SecretStr, organization: str) -> Caller:
    """The user that a session of this organization stands for, as the directory knows it now."""
    return Session.open(value, organization).caller()


def fingerprint(organization: str, value: SecretStr) -> str:
    """What a pending connection is bound to: whoever brings the same proof for the same organization began it."""
    return hashlib.sha256(f"{organization}\n{value.get_secret_value()}".encode()).hexdigest()
