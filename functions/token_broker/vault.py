"""The vault: the only file that sees a stored secret. It seals one into its place and opens it only there.

A secret is encrypted with AES-256-GCM under a fresh data key of VaultKey. The KMS encryption context and the GCM
associated data both name the place, so a ciphertext that was moved to another organization, owner, service, field
or version does not open. An old item restored as a whole stands in its own place and does open.

Sealed bytes: format (1), length of the encrypted data key (2), that key, nonce (12), ciphertext with its tag.
CloudTrail shows the encryption context of each request: ids stand in it, never a secret.
Source: https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html
"""

import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit, single_metric
from botocore.exceptions import ClientError
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from mcpist.errors import IntegrityError, StoreUnavailable
from mcpist.settings import settings
from mcpist.stores import client, reaching

# Two silent attempts end after 2.7 s; a throttled one is answered at once, and the pause after it is up to 1 s.
CONNECT_SECONDS = 0.4
READ_SECONDS = 0.8
ATTEMPTS = 2

FORMAT = 1
HEAD = struct.Struct(">BH")
NONCE_BYTES = 12

_MOVED = {"InvalidCiphertextException", "IncorrectKeyException"}
_OUT_OF_ORDER = {
    "DependencyTimeoutException",
    "DisabledException",
    "KeyUnavailableException",
    "KMSInvalidStateException",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a secret stands; it opens nowhere else."""

    organization: str
    owner: str
    service: str
    field: str
    version: int

    def context(self) -> dict[str, str]:
        """The place as KMS binds it."""
        return {name: str(value) for name, value in asdict(self).items()}

    def associated_data(self) -> bytes:
        """The place as GCM binds it: canonical JSON, so that no two places read the same."""
        return json.dumps(self.context(), sort_keys=True, separators=(",", ":")).encode()


def seal(secret: SecretStr, place: Place) -> bytes:
    """The secret as only `unseal` at this place can read it."""
    with _reaching(place):
        key = _kms().generate_data_key(KeyId=settings().vault_key, KeySpec="AES_256", EncryptionContext=place.context())
    nonce = os.urandom(NONCE_BYTES)
    ciphertext = AESGCM(key["Plaintext"]).encrypt(nonce, secret.get_secret_value().encode(), place.associated_data())
    encrypted_key: bytes = key["CiphertextBlob"]
    return HEAD.pack(FORMAT, len(encrypted_key)) + encrypted_key + nonce + ciphertext


def unseal(sealed: bytes, place: Place) -> SecretStr:
    """The secret that was sealed at this place; IntegrityError for anything else."""
    encrypted_key, nonce, ciphertext = _split(sealed, place)
    with _reaching(place):
        key = _kms().decrypt(
            KeyId=settings().vault_key, CiphertextBlob=encrypted_key, EncryptionContext=place.context()
        )
    try:
        return SecretStr(AESGCM(key["Plaintext"]).decrypt(nonce, ciphertext, place.associated_data()).decode())
    except (InvalidTag, ValueError):
        raise _counted(place) from None


def _split(sealed: bytes, place: Place) -> tuple[bytes, bytes, bytes]:
    if len(sealed) < HEAD.size:
        raise _counted(place)
    form, length = HEAD.unpack_from(sealed)
    key, rest = sealed[HEAD.size : HEAD.size + length], sealed[HEAD.size + length :]
    if form != FORMAT or not key or len(rest) <= NONCE_BYTES:
        raise _counted(place)
    return key, rest[:NONCE_BYTES], rest[NONCE_BYTES:]


@contextmanager
def _reaching(place: Place) -> Iterator[None]:
    try:
        with reaching("vault"):
            yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _MOVED:
            raise _counted(place) from None
        if code in _OUT_OF_ORDER:
            raise StoreUnavailable(store="vault") from error
        raise


def _counted(place: Place) -> IntegrityError:
    """The refusal, after the metric that an alarm stands on."""
    with single_metric(name="IntegrityFailures", unit=MetricUnit.Count, value=1):
        return IntegrityError(what=f"{place.service} {place.field}")


def _kms() -> Any:
    return client("kms", connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS, attempts=ATTEMPTS)
