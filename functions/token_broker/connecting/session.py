"""Sessions: the broker's sealed statement that a browser belongs to a user, valid for a quarter of an hour.

A session allows its browser to connect and disconnect accounts; it resolves no credential.
"""

import hashlib
import time
from typing import Any

from pydantic import SecretStr

from mcpist.caller import Caller
from token_broker.vault.sealed_token import SealedToken

SESSION_SECONDS = 900


class Session(SealedToken):
    """The user who logged in."""

    name = "the browser's session"
    expired_verb = "ended"
    place = ("browser", "session")


def issue(caller: Caller) -> dict[str, Any]:
    """Return `{session, organization, user, expires_at}` for the browser of a caller who has just logged in."""
    session = Session.for_caller(caller, expires_at=int(time.time()) + SESSION_SECONDS)
    return {"session": session.seal(), **session.model_dump(include={"organization", "user", "expires_at"})}


def redeem(value: SecretStr, organization: str) -> Caller:
    """Return the user of an organization's session as the directory knows it now."""
    return Session.open(value, organization).caller()


def fingerprint(organization: str, value: SecretStr) -> str:
    """Return the hash that a pending connection is bound to: the same proof for the same organization has the same."""
    return hashlib.sha256(f"{organization}\n{value.get_secret_value()}".encode()).hexdigest()
