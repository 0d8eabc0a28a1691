"""Whose access token it is: a JWT verified against the issuer's published keys.

Refused: no signature or a symmetric one, another issuer or audience, no expiry, an ID token.
Source: https://www.rfc-editor.org/rfc/rfc9068
"""

import time
from functools import cache
from typing import Any

import httpx
import jwt

from mcpist.caller import Subject
from mcpist.errors import AuthenticationError, UpstreamUnavailable

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
LEEWAY_SECONDS = 30
KEYS_SECONDS = 3600
UNKNOWN_KEY_SECONDS = 60
FETCH_SECONDS = 5
METADATA_PATHS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")


class Keys:
    """An issuer's public keys, fetched at most once a minute however many unknown key ids arrive."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.keys: dict[str, jwt.PyJWK] = {}
        self.fetched_at = float("-inf")

    def find(self, key_id: str) -> jwt.PyJWK:
        """The key with this id, or AuthenticationError."""
        age = time.monotonic() - self.fetched_at
        if age > KEYS_SECONDS or (key_id not in self.keys and age > UNKNOWN_KEY_SECONDS):
            self.fetch()
        if key_id not in self.keys:
            raise AuthenticationError(problem="it is signed with an unknown key")
        return self.keys[key_id]

    def fetch(self) -> None:
        """Read the keys from where the issuer's metadata says they are."""
        self.fetched_at = time.monotonic()
        try:
            with httpx.Client(timeout=FETCH_SECONDS) as client:
                self.keys = _keys(client, self._jwks_uri(client))
        except (httpx.HTTPError, ValueError, jwt.PyJWTError) as error:
            self.fetched_at = float("-inf") if not self.keys else self.fetched_at
            raise UpstreamUnavailable(service="login", problem="the issuer's keys cannot be read") from error

    def _jwks_uri(self, client: httpx.Client) -> str:
        for path in METADATA_PATHS:
            answer = client.get(self.issuer + path)
            if answer.status_code == httpx.codes.OK and "jwks_uri" in (metadata := answer.json()):
                return str(metadata["jwks_uri"])
        raise ValueError("no jwks_uri in the issuer's metadata")


keys_of = cache(Keys)


def verify(token: str, *, issuer: str, audience: str) -> Subject:
    """The subject of a valid access token, or AuthenticationError saying in general what is wrong."""
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise AuthenticationError(problem="its signature algorithm is not accepted")
        key = keys_of(issuer).find(str(header.get("kid", "")))
        claims = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except jwt.ExpiredSignatureError:
        raise AuthenticationError(problem="it has expired") from None
    except jwt.InvalidAudienceError:
        raise AuthenticationError(problem="it was issued for another audience") from None
    except jwt.InvalidIssuerError:
        raise AuthenticationError(problem="it comes from another issuer") from None
    except jwt.PyJWTError:
        raise AuthenticationError(problem="it cannot be verified") from None
    if _is_id_token(header, claims):
        raise AuthenticationError(problem="it is an ID token, not an access token")
    return Subject(issuer=issuer, sub=str(claims["sub"]))


def _keys(client: httpx.Client, uri: str) -> dict[str, jwt.PyJWK]:
    answer = client.get(uri).raise_for_status()
    return {key.key_id: key for key in jwt.PyJWKSet.from_dict(answer.json()).keys if key.key_id}


def _is_id_token(header: dict[str, Any], claims: dict[str, Any]) -> bool:
    return (
        str(header.get("typ", "")).lower() in {"id", "id+jwt"}
        or claims.get("token_use") == "id"
        or any(claim in claims for claim in ("nonce", "at_hash", "c_hash"))
    )
