"""The vault: the only file that sees a stored secret. It seals one into its place and opens it only there.

A secret is encrypted with AES-256-GCM under a fresh data key of VaultKey. The KMS encryption context and the GCM
associated data both name the place, so a ciphertext that was moved to another organization, owner, service, field
or version does not open. An old item restored as a whole stands in its own place and does open.

Data keys that were drawn or decrypted stay in memory for five minutes: under the place they belong to, so that a moved
ciphertext never meets one. Nothing is drawn at import, so no snapshot holds a key.

Sealed bytes: format (1), length of the encrypted data key (2), that key, nonce (12), ciphertext with its tag.
CloudTrail shows the encryption context of each request: ids stand in it, never a secret.
Source: https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html
"""

import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from mcpist.aws.stores import client, reaching
from mcpist.errors import IntegrityError, StoreUnavailable
from mcpist.settings import settings
from mcpist.telemetry.invocation import alert
from mcpist.telemetry.metrics import INTEGRITY_FAILURES
from token_broker.single_flight import Flights

KEY_SECONDS = 300
MOST_KEYS = 1_000

FORMAT = 1
HEAD = struct.Struct(">BH")
NONCE_BYTES = 12

_MOVED = {"InvalidCiphertextException", "IncorrectKeyException"}
# What KMS says to another key's ciphertext, and to a key that the broker may not use.
_NOT_BY_THIS_KEY = {"IncorrectKeyException", "AccessDeniedException"}
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


_flights: Flights[tuple[Place, bytes], bytes] = Flights()
_keys: dict[tuple[Place, bytes], tuple[float, bytes]] = {}


@dataclass(frozen=True, slots=True)
class DataKey:
    """A data key of one place, in the clear and as KMS encrypted it; a repr shows neither."""

    place: Place
    plain: bytes = field(repr=False)
    encrypted: bytes = field(repr=False)

    def seal(self, secret: SecretStr) -> bytes:
        """The secret as only `unseal` at the key's place can read it; no AWS is asked."""
        nonce = os.urandom(NONCE_BYTES)
        ciphertext = AESGCM(self.plain).encrypt(nonce, secret.get_secret_value().encode(), self.place.associated_data())
        return HEAD.pack(FORMAT, len(self.encrypted)) + self.encrypted + nonce + ciphertext


def draw(place: Place) -> DataKey:
    """A fresh data key for a place."""
    with _reaching(place):
        key = _kms().generate_data_key(KeyId=settings().vault_key, KeySpec="AES_256", EncryptionContext=place.context())
    return _remembered(DataKey(place, key["Plaintext"], key["CiphertextBlob"]))


def seal(secret: SecretStr, place: Place) -> bytes:
    """The secret as only `unseal` at this place can read it."""
    return draw(place).seal(secret)


def unseal(sealed: bytes, place: Place) -> SecretStr:
    """The stored secret that was sealed at this place; IntegrityError, and an alarm, for anything else."""
    try:
        return unseal_proof(sealed, place)
    except IntegrityError:
        alert(INTEGRITY_FAILURES)
        raise


def unseal_proof(sealed: bytes, place: Place) -> SecretStr:
    """What somebody brought as sealed here; IntegrityError, and no alarm, since anybody can bring anything."""
    encrypted_key, nonce, ciphertext = _split(sealed, place)
    key = _known(place, encrypted_key) or _flights.share(
        (place, encrypted_key), lambda: _decrypted(place, encrypted_key)
    )
    try:
        return SecretStr(AESGCM(key).decrypt(nonce, ciphertext, place.associated_data()).decode())
    except (InvalidTag, ValueError):
        raise _refusal(place) from None


def _refusal(place: Place) -> IntegrityError:
    return IntegrityError(what=f"{place.service} {place.field}")


def _decrypted(place: Place, encrypted: bytes) -> bytes:
    """The data key as KMS opens it: with VaultKey, or with the key that was VaultKey before."""
    present, former = settings().vault_key, settings().former_vault_key
    with _reaching(place):
        try:
            plain = _decrypt(present, place, encrypted)
        except ClientError as error:
            if not former or error.response["Error"]["Code"] not in _NOT_BY_THIS_KEY:
                raise
            plain = _decrypt(former, place, encrypted)
    return _remembered(DataKey(place, plain, encrypted)).plain


def _decrypt(key: str, place: Place, encrypted: bytes) -> bytes:
    answer = _kms().decrypt(KeyId=key, CiphertextBlob=encrypted, EncryptionContext=place.context())
    plain: bytes = answer["Plaintext"]
    return plain


def _remembered(key: DataKey) -> DataKey:
    _drop_old_keys()
    if len(_keys) >= MOST_KEYS:
        _keys.pop(next(iter(_keys)), None)
    _keys[key.place, key.encrypted] = time.time(), key.plain
    return key


def _known(place: Place, encrypted: bytes) -> bytes | None:
    _drop_old_keys()
    known = _keys.get((place, encrypted))
    return known and known[1]


def _drop_old_keys() -> None:
    """Those that have had their time; the oldest stand first."""
    now = time.time()
    for key, (kept_at, _) in list(_keys.items()):
        if 0 <= now - kept_at < KEY_SECONDS:
            break
        _keys.pop(key, None)


def _split(sealed: bytes, place: Place) -> tuple[bytes, bytes, bytes]:
    if len(sealed) < HEAD.size:
        raise _refusal(place)
    form, length = HEAD.unpack_from(sealed)
    key, rest = sealed[HEAD.size : HEAD.size + length], sealed[HEAD.size + length :]
    if form != FORMAT or not key or len(rest) <= NONCE_BYTES:
        raise _refusal(place)
    return key, rest[:NONCE_BYTES], rest[NONCE_BYTES:]


@contextmanager
def _reaching(place: Place) -> Iterator[None]:
    try:
        with reaching("vault"):
            yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _MOVED:
            raise _refusal(place) from None
        if code in _OUT_OF_ORDER:
            raise StoreUnavailable(store="vault") from error
        raise


def _kms() -> Any:
    return client("kms")
