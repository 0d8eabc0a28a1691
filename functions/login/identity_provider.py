"""The issuer that says who a person is, and what it says: an ID token, verified (OpenID Connect Core)."""

from login.logins import KnownPerson
from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError
from mcpist.memory import Memory
from mcpist.people.identity import keys_of, signed_claims
from mcpist.people.issuers import Issuer, issuer_of, known_issuers
from mcpist.people.oidc_client import OidcClient

SCOPE = "openid email profile"
SECRET_SECONDS = 300
MAX_SHOWN_PERSON_CHARACTERS = 200

secret_cache: Memory[str, str] = Memory(SECRET_SECONDS, max_entries=100)


def must_ask_address(address: str) -> bool:
    """Whether a login has to know a person's address first, since several issuers know people."""
    return not address and bool(known_issuers())


def client_at(issuer: Issuer) -> OidcClient:
    """Return our client at an issuer."""
    name = issuer.secret_name
    secret = secret_cache.get_or_make(name, lambda: _read_secret(name)) if name else ""
    return OidcClient(issuer.url, issuer.client_id, issuer.redirect_uri, secret)


def identify(issuer: Issuer, code: str, *, verifier: str, nonce: str) -> KnownPerson:
    """Return the person who has logged in; AuthenticationError if no valid ID token says so.

    Of addresses an issuer knows only those of its own domain: another company's people are not its to name.
    """
    token = client_at(issuer).redeem(code, verifier).get("id_token")
    if not isinstance(token, str):
        raise AuthenticationError(problem="the issuer sent no ID token")
    _, claims = signed_claims(token, issuer=issuer.url, audience=issuer.client_id, find_key=keys_of(issuer.url))
    if claims.get("nonce") != nonce:
        raise AuthenticationError(problem="the ID token belongs to another login")
    shown = claims.get("email") or claims.get("preferred_username") or claims.get("name") or claims["sub"]
    email = str(claims.get("email", ""))
    # Some issuers write it as text.
    is_verified = claims.get("email_verified") in (True, "true") and issuer_of(email) == issuer
    return KnownPerson(
        Subject(issuer.url, str(claims["sub"])),
        str(shown)[:MAX_SHOWN_PERSON_CHARACTERS],
        email if is_verified else "",
        issuer.organization,
    )


def _read_secret(name: str) -> str:
    """Return the client's secret; empty for a public client, which has no parameter."""
    try:
        with store_errors("parameters"):
            return str(client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
    except ResourceMissing:
        return ""
