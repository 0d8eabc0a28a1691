"""The issuer that says who a person is, and what it says: an ID token, verified (OpenID Connect Core)."""

from login.logins import KnownPerson
from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError
from mcpist.memory import Memory
from mcpist.people.identity import signed_claims
from mcpist.people.oidc_client import OidcClient
from mcpist.settings import settings

ISSUER_CALLBACK_PATH = "/login/callback"
SCOPE = "openid email profile"
SECRET_SECONDS = 300
MAX_SHOWN_PERSON_CHARACTERS = 200

secret_cache: Memory[str, str] = Memory(SECRET_SECONDS, max_entries=1)


def provider() -> OidcClient:
    """Return our client at the issuer."""
    name = settings().login_secret
    secret = secret_cache.get_or_make(name, lambda: _read_secret(name)) if name else ""
    return OidcClient(
        settings().issuer, settings().login_client_id, settings().public_url + ISSUER_CALLBACK_PATH, secret
    )


def identify(code: str, *, verifier: str, nonce: str) -> KnownPerson:
    """Return the person who has logged in; AuthenticationError if no valid ID token says so."""
    token = provider().redeem(code, verifier).get("id_token")
    if not isinstance(token, str):
        raise AuthenticationError(problem="the issuer sent no ID token")
    _, claims = signed_claims(token, issuer=settings().issuer, audience=settings().login_client_id)
    if claims.get("nonce") != nonce:
        raise AuthenticationError(problem="the ID token belongs to another login")
    shown = claims.get("email") or claims.get("preferred_username") or claims.get("name") or claims["sub"]
    # Some issuers write it as text.
    is_verified = claims.get("email_verified") in (True, "true")
    return KnownPerson(
        Subject(settings().issuer, str(claims["sub"])),
        str(shown)[:MAX_SHOWN_PERSON_CHARACTERS],
        str(claims.get("email", "")) if is_verified else "",
    )


def _read_secret(name: str) -> str:
    """Return the client's secret; empty for a public client, which has no parameter."""
    try:
        with store_errors("parameters"):
            return str(client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
    except ResourceMissing:
        return ""
