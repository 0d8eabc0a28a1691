"""Codes and refresh tokens: what begins a client's login, and what it goes on with; both count once.

Items of the table of logins, besides those of `client_logins`; secrets are stored as their hashes:
    code#HASH, code    an authorization code, and whether it was used
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field

from login.clients import LoginClient, digest
from login.logins import KnownPerson
from mcpist.aws.attributes import decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.caller import Subject
from mcpist.people import client_logins
from mcpist.people.client_logins import CLIENT_PREFIX, ClientLogin, logins_table, person_key

AUTHORIZATION_CODE_SECONDS = 60
# A client whose answer got lost sends the same refresh token again; later that is a thief's or its owner's.
REPEAT_SECONDS = 30
LOGIN_SECONDS = 30 * 86_400
CONSOLE_SECONDS = 600
ASSERTED_SECONDS = 660


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """An authorization code."""

    login: str
    """The id of the client's login that it begins."""
    client_id: str
    client_name: str
    redirect_uri: str
    code_challenge: str
    scope: str
    person: KnownPerson
    expires_at: int
    used: bool = False

    def get_redirect_uri(self) -> str:
        """Return the address to which it was sent."""
        return self.redirect_uri

    def get_scope(self) -> str:
        """Return the scope."""
        return self.scope

    @property
    def code_challenge_method(self) -> str:
        """The only one."""
        return "S256"


@dataclass(frozen=True, slots=True)
class StoredLogin(ClientLogin):
    """A client's login with the state of its refresh token."""

    scope: str = ""
    salt: str = field(default="", repr=False)
    refresh_hash: str = ""
    previous_hash: str = ""
    rotated_at: int = 0
    organizations: tuple[str, ...] = ()
    """The only ones in which the issuer's word for the person counts."""


@dataclass(frozen=True, slots=True)
class ClientGrant:
    """The person, login and next refresh token that a client's code or refresh token stands for."""

    subject: Subject
    login: ClientLogin
    scope: str
    refresh_token: str = field(repr=False)
    email: str = ""
    """The person's verified address, where a code stands for it."""
    organizations: tuple[str, ...] = ()
    """The only organizations in which the client may act; empty for all of the person's."""

    def check_client(self, client: LoginClient) -> bool:
        """Whether it was given to a client."""
        return client.id == self.login.client_id

    def get_scope(self) -> str:
        """Return the scope."""
        return self.scope


def store_code(
    code: str, client: LoginClient, person: KnownPerson, *, redirect_uri: str, challenge: str, scope: str
) -> None:
    """Store an authorization code."""
    stored = AuthorizationCode(
        login=secrets.token_hex(8),
        client_id=client.id,
        client_name=client.name,
        redirect_uri=redirect_uri,
        code_challenge=challenge,
        scope=scope,
        person=person,
        expires_at=int(time.time()) + AUTHORIZATION_CODE_SECONDS,
    )
    logins_table().put({"pk": f"code#{digest(code)}", "sk": "code", **encode(stored)})


def redeem(code: str, client: LoginClient) -> AuthorizationCode | None:
    """Take a code, once; a second time the client's login ends, since one of both is a thief."""
    key = f"code#{digest(code)}", "code"
    try:
        used = {"used": True}
        item = logins_table().set(
            *key, used, condition="attribute_exists(pk) AND #used = :unused", values={":unused": False}
        )
    except ConditionFailed:
        if known := logins_table().get(*key):
            replayed = decode(AuthorizationCode, known)
            client_logins.end(replayed.person.subject, replayed.login)
        return None
    found = decode(AuthorizationCode, item)
    return found if found.client_id == client.id and found.expires_at > time.time() else None


def begin_login(code: AuthorizationCode, client: LoginClient) -> ClientGrant:
    """Store the login of a client that begins with a code."""
    now, secret = int(time.time()), secrets.token_urlsafe(32)
    login = StoredLogin(
        id=code.login,
        client_id=client.id,
        client_name=client.name,
        redirect_uri=code.redirect_uri,
        began_at=now,
        used_at=now,
        expires_at=now + (CONSOLE_SECONDS if client.is_ours else LOGIN_SECONDS),
        scope=code.scope,
        salt=secrets.token_urlsafe(32),
        refresh_hash=digest(secret),
        organizations=(code.person.organization,) if code.person.organization else (),
    )
    subject = code.person.subject
    logins_table().put({"pk": person_key(subject), "sk": CLIENT_PREFIX + login.id, **encode(login)})
    token = _refresh_token(subject, login.id, secret)
    return ClientGrant(subject, login, login.scope, token, code.person.email, login.organizations)


def begin_asserted_login(
    subject: Subject, client: LoginClient, organization: str, scope: str
) -> tuple[ClientGrant, bool]:
    """Store a client's login for one access token, on the word of an issuer; and return whether it is a new one."""
    now, login_id = int(time.time()), digest(f"{client.id}\n{organization}")[:16]
    known = read_login(subject, login_id)
    login = StoredLogin(
        id=login_id,
        client_id=client.id,
        client_name=client.name,
        redirect_uri="",
        began_at=known.began_at if known else now,
        used_at=now,
        expires_at=now + ASSERTED_SECONDS,
    )
    logins_table().put({"pk": person_key(subject), "sk": CLIENT_PREFIX + login.id, **encode(login)})
    return ClientGrant(subject, login, scope, "", organizations=(organization,)), known is None


def rotate(token: str) -> ClientGrant | None:
    """Take a refresh token and return the grant with the next one; a token from before the last ends its login."""
    known = _parse(token)
    if known is None:
        return None
    subject, login_id, secret = known
    for _ in range(2):
        login = read_login(subject, login_id)
        if login is None:
            return None
        following = _following(login, secret)
        successor = _refresh_token(subject, login_id, following)
        grant = ClientGrant(subject, login, login.scope, successor, organizations=login.organizations)
        sent, now = digest(secret), int(time.time())
        if sent == login.previous_hash and now - login.rotated_at <= REPEAT_SECONDS:
            return grant
        if sent != login.refresh_hash:
            break
        try:
            change = {"refresh_hash": digest(following), "previous_hash": sent, "rotated_at": now}
            change |= {"used_at": now, "expires_at": now + LOGIN_SECONDS}
            condition, values = "#refresh_hash = :sent", {":sent": sent}
            key = person_key(subject), CLIENT_PREFIX + login_id
            logins_table().set(*key, change, condition=condition, values=values)
        except ConditionFailed:
            continue  # the same client, at the same moment: what it stored is the same
        return grant
    client_logins.end(subject, login_id)
    return None


def find_login(token: str) -> ClientGrant | None:
    """Return the grant of a refresh token, the last one or that before it; None for any other text."""
    known = _parse(token)
    if known is None:
        return None
    subject, login_id, secret = known
    login = read_login(subject, login_id)
    if login is None or digest(secret) not in {login.refresh_hash, login.previous_hash}:
        return None
    return ClientGrant(subject, login, login.scope, token)


def read_login(subject: Subject, login_id: str) -> StoredLogin | None:
    """Return the login of a client that has not ended."""
    item = logins_table().get(person_key(subject), CLIENT_PREFIX + login_id)
    return decode(StoredLogin, item) if item and item["expires_at"] > time.time() else None


def _following(login: StoredLogin, secret: str) -> str:
    """Return the secret after one; it is the same for each request that sends that one again."""
    made = hmac.digest(login.salt.encode(), secret.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def _refresh_token(subject: Subject, login_id: str, secret: str) -> str:
    owner = base64.urlsafe_b64encode(f"{subject.issuer}\n{subject.sub}".encode()).decode().rstrip("=")
    return f"{owner}.{login_id}.{secret}"


def _parse(token: str) -> tuple[Subject, str, str] | None:
    owner, _, rest = token.partition(".")
    login_id, _, secret = rest.partition(".")
    try:
        issuer, _, sub = base64.urlsafe_b64decode(owner + "=" * (-len(owner) % 4)).decode().partition("\n")
    except (binascii.Error, ValueError):
        return None
    return (Subject(issuer, sub), login_id, secret) if issuer and sub and login_id and secret else None
