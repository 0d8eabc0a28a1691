"""Access tokens of our own (RFC 9068), signed by KMS: the key is in no memory, and no other function may sign."""

import base64
import secrets
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from jwt.utils import der_to_raw_signature

from mcpist.aws.attributes import json_bytes
from mcpist.aws.clients import client, store_errors
from mcpist.caller import Subject
from mcpist.people.client_logins import SIGNATURE_ALGORITHM, key_id
from mcpist.settings import settings

ACCESS_TOKEN_SECONDS = 600
KMS_ALGORITHM = "ECDSA_SHA_256"


def access_token(subject: Subject, *, login: str, client_id: str, scope: str, **claims: Any) -> str:
    """Return an access token for the endpoint, by which a client acts for a person; `claims` are further ones."""
    now = int(time.time())
    whole = {
        "iss": settings().public_url,
        "sub": subject.sub,
        "idp": subject.issuer,
        "aud": settings().audience,
        "exp": now + ACCESS_TOKEN_SECONDS,
        "iat": now,
        "jti": secrets.token_hex(16),
        "client_id": client_id,
        "scope": scope,
        "sid": login,
        **claims,
    }
    return _sign(whole)


def _sign(claims: dict[str, Any]) -> str:
    key = settings().login_keys[0]
    header = {"alg": SIGNATURE_ALGORITHM, "typ": "at+jwt", "kid": key_id(key)}
    content = b".".join(map(_encode, (json_bytes(header), json_bytes(claims))))
    with store_errors("login"):
        answer = client("kms").sign(KeyId=key, Message=content, MessageType="RAW", SigningAlgorithm=KMS_ALGORITHM)
    return b".".join((content, _encode(der_to_raw_signature(answer["Signature"], SECP256R1())))).decode()


def _encode(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
