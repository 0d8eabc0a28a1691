"""Service users, made by administrators: programs with roles, and with credentials in place of a person.

Source: the extension io.modelcontextprotocol/oauth-client-credentials of MCP
"""

import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field, replace
from typing import Any

from mcpist.errors import InvalidRequest, UserNotFound
from mcpist.loopback import is_loopback_url
from mcpist.people import directory, edits, service_credentials
from mcpist.people.administration import Administration, journal_of
from mcpist.people.organization import Organization, User
from mcpist.people.service_credentials import SERVICE_CLIENT_PREFIX, ServiceCredentials
from mcpist.settings import settings
from mcpist.suggestions import nearest

MIN_RSA_BITS = 2048
MAX_PUBLIC_KEY_CHARACTERS = 10_000
PUBLIC_FIELDS = ("kty", "crv", "x", "y", "n", "e", "kid")


@dataclass(frozen=True, slots=True)
class MadeCredentials:
    """New credentials, shown once."""

    client_id: str
    secret: str = field(default="", repr=False)
    """Empty for a program that has a key of its own."""


def create(
    administration: Administration, user: str, *, name: str, roles: tuple[str, ...], public_key: str, jwks_url: str
) -> MadeCredentials:
    """Add a service user; without a key and an address of keys it gets a secret."""
    caller, target = administration.caller, f"users.{user}"
    with administration.permitted("services.create", target):
        client_id = SERVICE_CLIENT_PREFIX + secrets.token_urlsafe(16)
        subject = service_credentials.subject_of(client_id)
        edit = edits.add_user(user, sub=subject.sub, issuer=subject.issuer, name=name, roles=roles, kind="service")
        credentials, secret = _made(public_key, jwks_url)
        service_credentials.store(client_id, credentials)
        # There is nobody to ask whether to accept the membership.
        directory.change(
            caller.organization, edit, journal=journal_of(caller, "services.create", administration.request)
        )
    return MadeCredentials(client_id, secret)


def replace_credentials(
    administration: Administration, user: str, *, public_key: str, jwks_url: str
) -> MadeCredentials:
    """Give a service user new credentials; the former ones and their tokens end within seconds."""
    target = f"users.{user}"
    with administration.permitted("services.credentials", target):
        found = of(administration.read()[1], user)
        credentials, secret = _made(public_key, jwks_url)
        administration.record("services.credentials", target, after={"method": credentials.method})
        service_credentials.store(found.subject.sub, credentials)
    return MadeCredentials(found.subject.sub, secret)


def of(organization: Organization, user: str) -> User:
    """Return a service user; UserNotFound for another one."""
    services = {one.id: one for one in organization.users.values() if one.kind == "service"}
    if user not in services:
        raise UserNotFound(name=user, known=nearest(user, services))
    return services[user]


def _made(public_key: str, jwks_url: str) -> tuple[ServiceCredentials, str]:
    """Return new credentials, and the secret if that is what they are."""
    if public_key and jwks_url:
        raise InvalidRequest(field="public_key", problem="name a key or the address of keys, not both")
    is_safe = jwks_url.startswith("https://") or (settings().local_services and is_loopback_url(jwks_url))
    if jwks_url and not is_safe:
        raise InvalidRequest(field="jwks_url", problem="it begins with https://")
    made = ServiceCredentials(secrets.token_hex(8), "private_key_jwt", int(time.time()), jwks_url)
    if jwks_url:
        return made, ""
    if public_key:
        return replace(made, public_key=read_public_key(public_key)), ""
    secret = secrets.token_urlsafe(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return replace(made, method="client_secret_basic", secret_hash=digest), secret


def read_public_key(text: str) -> dict[str, Any]:
    """Return a public key, written as PEM or as a JWK, as a JWK; InvalidRequest for any other text."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from jwt import PyJWK, PyJWTError
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm

    problem = "it is no public key of EC P-256 or RSA with 2048 bits or more, as PEM or JWK"
    try:
        given = json.loads(text) if text.lstrip().startswith("{") else {}
        key: Any = PyJWK(given).key if given else load_pem_public_key(text.strip().encode())
    except (ValueError, TypeError, RecursionError, PyJWTError):
        raise InvalidRequest(field="public_key", problem=problem) from None
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        jwk = ECAlgorithm.to_jwk(key, as_dict=True)
    elif isinstance(key, RSAPublicKey) and key.key_size >= MIN_RSA_BITS:
        jwk = RSAAlgorithm.to_jwk(key, as_dict=True)
    else:
        raise InvalidRequest(field="public_key", problem=problem)
    kid = {"kid": str(given["kid"])} if given.get("kid") else {}
    return {**{name: value for name, value in jwk.items() if name in PUBLIC_FIELDS}, **kid}
