"""Keys of programs and of companies' issuers, and what they sign."""

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm

from tests.conftest import PUBLIC_URL

CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass
class Signer:
    """Somebody with a key."""

    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    key_id: str = "k1"

    @property
    def pem(self) -> str:
        return str(self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": self.key_id}]}

    def sign(self, claims: dict[str, Any], kind: str = "JWT", **header: Any) -> str:
        """Sign what is said; a claim that is None is left out."""
        said = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(said, self.key, "ES256", {"typ": kind, "kid": self.key_id, **header})

    def prove(self, client_id: str, **changes: Any) -> dict[str, str]:
        """The fields by which a client proves itself."""
        now = int(time.time())
        usual = {"iss": client_id, "sub": client_id, "aud": PUBLIC_URL, "iat": now, "exp": now + 60}
        signed = self.sign({**usual, "jti": secrets.token_hex(8), **changes})
        return {"client_assertion_type": CLIENT_ASSERTION_TYPE, "client_assertion": signed}


def by_hand(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    """A JWT that no library would write."""
    parts = (jwt.utils.base64url_encode(json.dumps(part).encode()).decode() for part in (header, claims))
    return ".".join((*parts, signature))
