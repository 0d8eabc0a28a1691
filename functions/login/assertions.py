"""Assertions (RFC 7523): JWTs that count once, and only while they are young.

Item of the table of logins: `assertion#HASH, assertion`, one that was used; it expires with the JWT.
"""

import json
import time
from typing import Any

import jwt
from authlib.oauth2.rfc6749 import InvalidClientError

from login.clients import LoginClient, digest
from login.metadata import ASSERTION_ALGORITHMS
from mcpist.aws.table import IS_NEW, holds
from mcpist.errors import AuthenticationError
from mcpist.people import identity
from mcpist.people.client_logins import logins_table
from mcpist.settings import settings

MAX_ASSERTION_SECONDS = 600
CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
CLIENT_ASSERTION_KINDS = ("", "jwt", "client-authentication+jwt")
MAX_JTI_CHARACTERS = 256
NO_KEY = "it is signed with an unknown key"


def authenticate_client(find_client: Any, request: Any) -> LoginClient | None:
    """Return the client that an assertion of its own proves (`private_key_jwt`); None if the request has none."""
    form = request.form
    if form.get("client_assertion_type") != CLIENT_ASSERTION_TYPE:
        return None
    assertion = form.get("client_assertion", "")
    client_id = unverified(assertion).get("sub")
    if not isinstance(client_id, str) or form.get("client_id", client_id) != client_id:
        raise InvalidClientError(description="the assertion is another client's")
    client: LoginClient | None = find_client(client_id)
    if client is None or client.auth_method != "private_key_jwt":
        raise InvalidClientError(description="the client has no key here")
    try:
        take(assertion, issuer=client_id, kinds=CLIENT_ASSERTION_KINDS, find_key=keys_of(client))
    except AuthenticationError as error:
        raise InvalidClientError(description=str(error.details["problem"])) from None
    return client


def take(
    assertion: str, *, issuer: str, kinds: tuple[str, ...], find_key: identity.FindKey, client_id: str = ""
) -> dict[str, Any]:
    """Return the claims of an assertion for us, and use it up; AuthenticationError says what is wrong with it.

    One about a person names the client that may use it.
    """
    header, claims = _verified(assertion, issuer, find_key)
    if str(header.get("typ", "")).lower() not in kinds:
        raise AuthenticationError(problem="it is another kind of token")
    # One for several could be taken to us by another of them.
    if len(_audiences(claims)) != 1:
        raise AuthenticationError(problem="it was issued for several audiences")
    if client_id and claims.get("client_id") != client_id:
        raise AuthenticationError(problem="it was issued for another client")
    _check_age(claims, must_say_since=bool(client_id))
    _use(issuer, claims)
    return claims


def unverified(assertion: str) -> dict[str, Any]:
    """Return the claims of an assertion, unchecked: they only choose its keys. Empty for any other text."""
    try:
        claims: dict[str, Any] = jwt.decode(assertion, options={"verify_signature": False})
    except (jwt.PyJWTError, RecursionError, OverflowError, TypeError, ValueError):
        return {}
    return claims


def keys_of(client: LoginClient) -> identity.FindKey:
    """Return the search among a client's keys: those at its URL, or the registered one."""
    if client.jwks_url:
        return identity.keys_of(client.id, client.jwks_url)

    def find(key_id: str) -> jwt.PyJWK:
        known = json.loads(client.public_key)
        if key_id and known.get("kid", key_id) != key_id:
            raise AuthenticationError(problem=NO_KEY)
        return jwt.PyJWK(known)

    return find


def _verified(assertion: str, issuer: str, find_key: identity.FindKey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of an assertion for our issuer, or for the endpoint where it is sent."""
    endpoint = f"{settings().public_url}/login/token"
    audience = endpoint if _audiences(unverified(assertion)) == [endpoint] else settings().public_url
    return identity.signed_claims(
        assertion, issuer=issuer, audience=audience, find_key=find_key, algorithms=ASSERTION_ALGORITHMS
    )


def _audiences(claims: dict[str, Any]) -> list[Any]:
    named = claims.get("aud")
    return named if isinstance(named, list) else [named]


def _check_age(claims: dict[str, Any], *, must_say_since: bool) -> None:
    now, leeway = time.time(), identity.LEEWAY_SECONDS
    try:
        ends, began = float(claims["exp"]), float(claims.get("iat", now))
    except (TypeError, ValueError, OverflowError):
        raise AuthenticationError(problem="it cannot be verified") from None
    is_young = now - began <= MAX_ASSERTION_SECONDS + leeway and ends - now <= MAX_ASSERTION_SECONDS + leeway
    if not is_young or (must_say_since and "iat" not in claims):
        raise AuthenticationError(problem=f"it is good for longer than {MAX_ASSERTION_SECONDS} seconds, or older")


def _use(issuer: str, claims: dict[str, Any]) -> None:
    """Keep that an assertion was used; AuthenticationError if it was before."""
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 0 < len(jti) <= MAX_JTI_CHARACTERS:
        raise AuthenticationError(problem="it has no jti")
    item = {"pk": f"assertion#{digest(json.dumps([issuer, jti]))}", "sk": "assertion"}
    ends = int(claims["exp"]) + identity.LEEWAY_SECONDS + 1
    if not holds(logins_table().put, {**item, "expires_at": ends}, condition=IS_NEW):
        raise AuthenticationError(problem="it was used before")
