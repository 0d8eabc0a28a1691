"""Logins that have begun in a browser, and whom a person has let act.

Items of the table of logins, besides those of `client_logins` and `clients`; secrets are stored as their hashes:
    request#HASH, request              a browser's login that has begun
    person#ISSUER#SUB, consent#HASH    that a person lets a client act which gets its answers at an address
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from login.clients import LoginClient, digest
from mcpist.aws.attributes import INLINE, decode, encode
from mcpist.aws.table import holds
from mcpist.caller import Subject
from mcpist.loopback import is_loopback_url
from mcpist.people.client_logins import logins_table, person_key

REQUEST_SECONDS = 600
CONSENT_SECONDS = 365 * 86_400


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """Somebody, on the word of the issuer."""

    subject: Annotated[Subject, INLINE]
    name: str = ""
    """The address or the name that the issuer knows, for people."""
    email: str = ""
    """The address, if the issuer has verified it."""
    organization: str = ""
    """The only one in which the issuer's word counts; empty for an issuer of the operator."""


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A browser's login that has begun."""

    parameters: Mapping[str, str]
    """Those of the client's request."""
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)
    browser: str
    """The hash of the browser's cookie."""
    expires_at: int
    person: KnownPerson | None = None
    """Who it is, after the issuer has said so."""


# -- a browser's login ---------------------------------------------------------------------------------


def begin(parameters: Mapping[str, str], *, verifier: str, nonce: str, browser: str) -> str:
    """Store a login that begins, and return the secret by which it goes on."""
    handle = secrets.token_urlsafe(32)
    pending = PendingLogin(parameters, verifier, nonce, digest(browser), int(time.time()) + REQUEST_SECONDS)
    logins_table().put({"pk": f"request#{digest(handle)}", "sk": "request", **encode(pending)})
    return handle


def find(handle: str, browser: str) -> PendingLogin | None:
    """Return a login that this browser has begun."""
    item = logins_table().get(f"request#{digest(handle)}", "request")
    if item is None or item["expires_at"] <= time.time():
        return None
    pending = decode(PendingLogin, item)
    return pending if secrets.compare_digest(pending.browser, digest(browser)) else None


def identify(handle: str, person: KnownPerson) -> bool:
    """Store who a login's person is, once."""
    condition = "attribute_exists(pk) AND attribute_not_exists(#person)"
    place, change = (f"request#{digest(handle)}", "request"), {"person": encode(person)}
    return holds(logins_table().set, *place, change, condition=condition)


def finish(handle: str) -> bool:
    """Remove a login that ends; False if it has ended already."""
    return logins_table().delete(f"request#{digest(handle)}", "request")


# -- consent -------------------------------------------------------------------------------------------


def remembers(person: KnownPerson, client: LoginClient, redirect_uri: str) -> bool:
    """Whether a person has let a client act that gets its answers at an address.

    What listens on loopback may be any program, so there a person is asked each time.
    """
    if is_loopback_url(redirect_uri):
        return False
    item = logins_table().get(person_key(person.subject), _consent_key(client, redirect_uri))
    return item is not None and item["expires_at"] > time.time()


def remember(person: KnownPerson, client: LoginClient, redirect_uri: str) -> None:
    """Store that a person lets a client act."""
    item = {"pk": person_key(person.subject), "sk": _consent_key(client, redirect_uri)}
    logins_table().put({**item, "expires_at": int(time.time()) + CONSENT_SECONDS})


def _consent_key(client: LoginClient, redirect_uri: str) -> str:
    return f"consent#{digest(f'{client.id}\n{redirect_uri}')[:32]}"
