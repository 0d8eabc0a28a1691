"""The public keys of our own login, which KMS holds: only the login's function may sign with them.

Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GetPublicKey.html
"""

from typing import Any

from mcpist.aws.clients import client, store_errors
from mcpist.settings import settings

SIGNATURE_ALGORITHM = "ES256"


def key_id(arn: str) -> str:
    """Return the id that tokens name."""
    return arn.rpartition("/")[2]


def key_ids() -> tuple[str, ...]:
    """Return the ids of all keys, that which signs first."""
    return tuple(map(key_id, settings().login_keys))


def published() -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    return {"keys": [_public_key(arn) for arn in settings().login_keys]}


def _public_key(arn: str) -> dict[str, Any]:
    from cryptography.hazmat.primitives.serialization import load_der_public_key
    from jwt.algorithms import ECAlgorithm

    with store_errors("login"):
        der = client("kms").get_public_key(KeyId=arn)["PublicKey"]
    key: Any = load_der_public_key(der)
    return {**ECAlgorithm.to_jwk(key, as_dict=True), "kid": key_id(arn), "use": "sig", "alg": SIGNATURE_ALGORITHM}
