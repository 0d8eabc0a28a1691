"""The issuer that says who a person is, and what it says: an ID token, verified (OpenID Connect Core)."""

from login.logins import KnownPerson
from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError
from mcpist.memory import Memory
from mcpist.people.identity import signed_claims
from mcpist.people.issuers import Issuer, by_domain, issuer_of
from mcpist.people.oidc_client import OidcClient
from mcpist.settings import settings

ISSUER_CALLBACK_PATH = "/login/callback"
SCOPE = "openid email profile"
SECRET_SECONDS = 300
MAX_SHOWN_PERSON_CHARACTERS = 200

secret_cache: Memory[str, str] = Memory(SECRET_SECONDS, max_entries=100)


def must_ask_address(address: str) -> bool:
    """Whether a login has to know a person's address first, since several issuers know people."""
    return not address and bool(by_domain(settings().issuers_by_domain))


def callback_path(issuer: Issuer) -> str:
    """Return where an issuer's answers come, each at its own path: most do not say whose they are (RFC 9700, 4.4)."""
    return f"{ISSUER_CALLBACK_PATH}/{issuer.domain}".rstrip("/")


def client_at(issuer: Issuer) -> OidcClient:
    """Return our client at an issuer."""
    name = f"{settings().login_secrets}/{issuer.domain}" if issuer.domain else settings().login_secret
    secret = secret_cache.get_or_make(name, lambda: _read_secret(name)) if name else ""
    return OidcClient(issuer.url, issuer.client_id, settings().public_url + callback_path(issuer), secret)


def identify(issuer: Issuer, code: str, *, verifier: str, nonce: str) -> KnownPerson:
    """Return the person who has logged in; AuthenticationError if no valid ID token says so.

    Of addresses an issuer knows only those of its own domain: another company's people are not its to name.
    """
    token = client_at(issuer).redeem(code, verifier).get("id_token")
    if not isinstance(token, str):
        raise AuthenticationError(problem="the issuer sent no ID token")
    _, claims = signed_claims(token, issuer=issuer.url, audience=issuer.client_id)
    if claims.get("nonce") != nonce:
        raise AuthenticationError(problem="the ID token belongs to another login")
    shown = claims.get("email") or claims.get("preferred_username") or claims.get("name") or claims["sub"]
    email = str(claims.get("email", ""))
    # Some issuers write it as text.
    is_verified = claims.get("email_verified") in (True, "true") and issuer_of(email) == issuer
    return KnownPerson(
        Subject(issuer.url, str(claims["sub"])), str(shown)[:MAX_SHOWN_PERSON_CHARACTERS], email if is_verified else ""
    )


def _read_secret(name: str) -> str:
    """Return the client's secret; empty for a public client, which has no parameter."""
    try:
        with store_errors("parameters"):
            return str(client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
    except ResourceMissing:
        return ""
