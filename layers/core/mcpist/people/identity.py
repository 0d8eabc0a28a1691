"""Access tokens: JWTs, verified against the keys that their issuer publishes.

Tokens without a signature or with a symmetric one, of another issuer or audience, without an expiry, and ID tokens are
refused. A token of our own login names the issuer that said who the person is, as `idp`, and the client's login, as
`sid`: it is refused when that has ended. One of a service user names the user's credentials so.
Source: https://www.rfc-editor.org/rfc/rfc9068
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jwt

from mcpist.caller import Subject
from mcpist.errors import AuthenticationError, StoreUnavailable, UpstreamUnavailable
from mcpist.loopback import same_urls
from mcpist.memory import Clock, Memory, cached
from mcpist.people import client_logins, service_credentials
from mcpist.settings import settings

logger = logging.getLogger(__name__)

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
LEEWAY_SECONDS = 30
KEYS_CACHE_SECONDS = 3600
NAMED_KEYS_SECONDS, MAX_NAMED_KEYS = 86_400, 100
MIN_FETCH_INTERVAL_SECONDS = 60
FETCH_RETRY_SECONDS = 5
FETCH_TIMEOUT_SECONDS = 5
MAX_DOCUMENT_BYTES = 1_000_000
TOKEN_CACHE_SECONDS = 60
MAX_CACHED_TOKENS = 1_000
ACCESS_TOKEN_TYPES = {"", "jwt", "at+jwt", "application/at+jwt"}
ID_TOKEN_CLAIMS = ("nonce", "at_hash", "c_hash")
METADATA_PATHS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")


class NotPublished(ValueError):
    """An address at which the issuer publishes nothing."""


class IssuerKeys:
    """An issuer's public keys; fetched at most once a minute, however many unknown key ids arrive."""

    def __init__(self, issuer: str, clock: Clock = time.monotonic, *, jwks_url: str = "") -> None:
        self.issuer = issuer
        self.clock = clock
        self.jwks_url = jwks_url
        self.keys: dict[str, jwt.PyJWK] = {}
        self.reachable = True
        self.stale_at = self.next_fetch_at = float("-inf")

    def find(self, key_id: str) -> jwt.PyJWK:
        """Return the key with this id.

        AuthenticationError if there is none, or UpstreamUnavailable if the issuer cannot be reached. While it cannot,
        known keys stay valid.
        """
        now = self.clock()
        if (now > self.stale_at or key_id not in self.keys) and now > self.next_fetch_at:
            self.fetch()
        if key_id in self.keys:
            return self.keys[key_id]
        if not self.reachable:
            raise UpstreamUnavailable(service="login", problem="the issuer's keys cannot be read")
        raise AuthenticationError(problem="it is signed with an unknown key")

    def fetch(self) -> None:
        """Read our own login's keys from KMS, another issuer's from the URL that its metadata names."""
        try:
            is_own = self.issuer == settings().public_url
            keys = client_logins.published_keys() if is_own else _read(self.jwks_url or self._jwks_uri())
            published = jwt.PyJWKSet.from_dict(keys).keys
            self.keys = {key.key_id: key for key in published if key.key_id}
        except (OSError, ValueError, jwt.PyJWTError, StoreUnavailable):
            logger.exception("issuer's keys not read", extra={"issuer": self.issuer})
            self.reachable = False
            self.next_fetch_at = self.clock() + FETCH_RETRY_SECONDS
        else:
            self.reachable = True
            self.stale_at = self.clock() + KEYS_CACHE_SECONDS
            self.next_fetch_at = self.clock() + MIN_FETCH_INTERVAL_SECONDS

    def _jwks_uri(self) -> str:
        for path in METADATA_PATHS:
            try:
                metadata = _read(self.issuer + path)
            except NotPublished:
                continue
            if "jwks_uri" in metadata:
                return str(metadata["jwks_uri"])
        raise ValueError("no jwks_uri in the issuer's metadata")


issuer_keys = cached(IssuerKeys)
# As many as organizations and clients name, so not for ever.
named_keys: Memory[tuple[str, str], IssuerKeys] = Memory(NAMED_KEYS_SECONDS, MAX_NAMED_KEYS)
type FindKey = Callable[[str], jwt.PyJWK]


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The claims of a verified access token."""

    subject: Subject
    client_id: str
    """The client to which it was issued; empty where the issuer does not say."""
    login: str = ""
    """The id of the client's login; empty for a token of another issuer than our own."""
    email: str = ""
    """The person's verified address, which our own login tells the console alone."""
    organizations: tuple[str, ...] = ()
    """The organizations in which the client may act, of a token that is not for all of the person's."""


verified_tokens: Memory[bytes, AccessToken] = Memory(TOKEN_CACHE_SECONDS, MAX_CACHED_TOKENS)


def verify_token(token: str, audience: str) -> AccessToken:
    """Return the claims of a valid access token of our own login or of the configured issuer.

    AuthenticationError says in general what is wrong with it.
    """
    verified = verify(token, audience=audience)
    if verified.login and not is_live(verified.subject, verified.login):
        raise AuthenticationError(problem="the client's access was ended")
    return verified


def is_live(subject: Subject, login: str) -> bool:
    """Whether what a token of our own login names as its beginning has not ended."""
    if subject.issuer == settings().public_url:
        return service_credentials.are_live(subject, login)
    return client_logins.is_live(subject, login)


def verify(token: str, *, issuer: str = "", audience: str) -> AccessToken:
    """Return the claims of a valid access token; one verified within the last minute is not verified again.

    Without an `issuer` it is our own login's where the token names one of its keys, else the configured one's.
    """
    key = hashlib.sha256("\n".join((issuer, audience, token)).encode()).digest()
    if known := verified_tokens.get(key):
        return known
    verified, expires_at = _verify(token, issuer=issuer or _issuer_of(token), audience=audience)
    return verified_tokens.put(key, verified, until=expires_at)


def _issuer_of(token: str) -> str:
    """Return the issuer whose keys must have signed a token."""
    try:
        is_own = jwt.get_unverified_header(token).get("kid") in client_logins.key_ids()
    except jwt.PyJWTError:
        is_own = False  # its verification says what is wrong
    return settings().public_url if is_own else settings().issuer


def _verify(token: str, *, issuer: str, audience: str) -> tuple[AccessToken, float]:
    """Return the claims of a valid access token, and its expiry."""
    header, claims = signed_claims(token, issuer=issuer, audience=audience)
    is_own = bool(settings().login_keys) and issuer == settings().public_url
    try:
        subject = Subject(issuer=str(claims["idp"]) if is_own else issuer, sub=str(claims["sub"]))
        login, email = (str(claims["sid"]), str(claims.get("email", ""))) if is_own else ("", "")
        expires_at = float(claims["exp"])
        organizations = tuple(map(str, claims.get("orgs", ()))) if is_own else ()
    except (OverflowError, TypeError, ValueError, KeyError):
        raise AuthenticationError(problem="it cannot be verified") from None
    if not _is_access_token(header, claims):
        raise AuthenticationError(problem="it is an ID token or another kind, not an access token")
    client_id = str(claims.get("client_id") or claims.get("azp") or "")  # RFC 9068, and OpenID Connect
    return AccessToken(subject, client_id, login, email, organizations), expires_at


def signed_claims(
    token: str,
    *,
    issuer: str,
    audience: str,
    find_key: FindKey | None = None,
    algorithms: Sequence[str] = ALGORITHMS,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a JWT that an issuer has signed for an audience, and that has not expired.

    `issuer` has no slash at its end; a token whose issuer has one is valid, too. On loopback the audience may name the
    host as any does. `find_key` returns the key with an id; without it that is one of those which the issuer publishes.
    AuthenticationError says in general what is wrong.
    """
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in algorithms:
            raise AuthenticationError(problem="its signature algorithm is not accepted")
        claims: dict[str, Any] = jwt.decode(
            token,
            (find_key or issuer_keys(issuer).find)(str(header.get("kid", ""))),
            algorithms=algorithms,
            issuer=[issuer, f"{issuer}/"],
            audience=same_urls(audience),
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "sub", "aud"]},
        )
    except jwt.ExpiredSignatureError:
        raise AuthenticationError(problem="it has expired") from None
    except jwt.InvalidAudienceError:
        raise AuthenticationError(problem="it was issued for another audience") from None
    except jwt.InvalidIssuerError:
        raise AuthenticationError(problem="it comes from another issuer") from None
    # Claims have any type and size.
    except (jwt.PyJWTError, RecursionError, OverflowError, TypeError, ValueError):
        raise AuthenticationError(problem="it cannot be verified") from None
    return header, claims


def keys_of(issuer: str, jwks_url: str = "") -> FindKey:
    """Return the search among the keys of an issuer, or of a client, that is named at run time."""
    return named_keys.get_or_make((issuer, jwks_url), lambda: IssuerKeys(issuer, jwks_url=jwks_url)).find


def _read(url: str) -> dict[str, Any]:
    """Return a JSON object that the issuer publishes, or NotPublished; a redirect is followed, but never out of TLS."""
    # Imported here, since a sandbox without a request should not wait for it.
    from mcpist.bounded_http.client import HttpClient

    client = HttpClient(max_bytes=MAX_DOCUMENT_BYTES, connect_seconds=FETCH_TIMEOUT_SECONDS, keep_alive=False)
    response = client.get(url, deadline=time.monotonic() + FETCH_TIMEOUT_SECONDS)
    if response.status != 200:
        raise NotPublished(f"it answered {response.status}")
    content = json.loads(response.body)
    if not isinstance(content, dict):
        raise ValueError("an issuer publishes something else than an object")  # noqa: TRY004 - the value is wrong
    return content


def _is_access_token(header: dict[str, Any], claims: dict[str, Any]) -> bool:
    """Whether a token is marked as an access token (RFC 9068, Cognito, Keycloak), or not marked as an ID token."""
    return (
        str(header.get("typ", "")).lower() in ACCESS_TOKEN_TYPES
        and claims.get("token_use", "access") == "access"
        and str(claims.get("typ", "bearer")).lower() != "id"
        and not any(mark in claims for mark in ID_TOKEN_CLAIMS)
    )
