"""Vault: the only file that sees a stored secret. It seals a secret for one place and opens it only there.

A secret is encrypted with AES-256-GCM under a fresh data key of VaultKey. The KMS encryption context and the GCM
associated data both name the place, so a ciphertext that was moved to another organization, owner, service, field
or version does not open. An old item that is restored as a whole is in its own place and does open.

Generated and decrypted data keys are cached for five minutes, each with its place, so that a moved ciphertext never
finds one. None is generated at import, so no snapshot contains a key.

Sealed bytes: format (1), length of the encrypted data key (2), that key, nonce (12), ciphertext with its tag.
CloudTrail shows the encryption context of each request: it contains ids, never a secret.
Source: https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html
"""

import json
import os
import struct
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from threading import Lock

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from mcpist.aws.clients import AwsError, client, store_errors
from mcpist.errors import IntegrityError, StoreUnavailable
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist.telemetry.invocation import count_now
from mcpist.telemetry.metrics import INTEGRITY_FAILURES

KEY_CACHE_SECONDS = 300
MAX_CACHED_KEYS = 1_000

SEAL_FORMAT = 1
HEADER = struct.Struct(">BH")
NONCE_BYTES = 12

_WRONG_PLACE_CODES = {"InvalidCiphertextException", "IncorrectKeyException"}
# KMS's errors for another key's ciphertext, and for a key that the broker may not use.
_OTHER_KEY_CODES = {"IncorrectKeyException", "AccessDeniedException"}
_UNAVAILABLE_CODES = {
    "DependencyTimeoutException",
    "DisabledException",
    "KeyUnavailableException",
    "KMSInvalidStateException",
}


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """The place of a secret; it opens nowhere else."""

    organization: str
    owner: str
    service: str
    field: str
    """The attribute that holds the secret, such as `access_token`."""
    version: int

    def context(self) -> dict[str, str]:
        """Return the place as the encryption context of KMS."""
        return {name: str(value) for name, value in asdict(self).items()}

    def associated_data(self) -> bytes:
        """Return the place as GCM's associated data: canonical JSON, so that no two places are equal."""
        return json.dumps(self.context(), sort_keys=True, separators=(",", ":")).encode()


class SingleFlight[Key: Hashable, Result]:
    """The executions in progress by their key: concurrent threads that need the same result share one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._in_flight: dict[Key, Future[Result]] = {}

    def run(self, key: Key, work: Callable[[], Result]) -> Result:
        """Return the result of the work or raise its error; join an execution that is already in progress."""
        with self._lock:
            joined = self._in_flight.get(key)
            future = joined or self._in_flight.setdefault(key, Future())
        if joined is None:
            self._execute(key, future, work)
        return future.result()

    def _execute(self, key: Key, future: Future[Result], work: Callable[[], Result]) -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._in_flight[key]


_single_flight: SingleFlight[tuple[SecretPlace, bytes], bytes] = SingleFlight()
data_keys: Memory[tuple[SecretPlace, bytes], bytes] = Memory(KEY_CACHE_SECONDS, MAX_CACHED_KEYS)


@dataclass(frozen=True, slots=True)
class DataKey:
    """A data key of one place, in plain text and encrypted by KMS; its repr shows neither."""

    place: SecretPlace
    plain: bytes = field(repr=False)
    encrypted: bytes = field(repr=False)

    def seal(self, secret: SecretStr) -> bytes:
        """Return the secret as only `unseal` at the key's place can read it; this sends no request."""
        nonce = os.urandom(NONCE_BYTES)
        ciphertext = AESGCM(self.plain).encrypt(nonce, secret.get_secret_value().encode(), self.place.associated_data())
        return HEADER.pack(SEAL_FORMAT, len(self.encrypted)) + self.encrypted + nonce + ciphertext


def generate_data_key(place: SecretPlace) -> DataKey:
    """Generate a data key for a place."""
    with _translating_kms_errors(place):
        key = client("kms").generate_data_key(
            KeyId=settings().vault_key, KeySpec="AES_256", EncryptionContext=place.context()
        )
    return _remember(DataKey(place, key["Plaintext"], key["CiphertextBlob"]))


def seal(secret: SecretStr, place: SecretPlace) -> bytes:
    """Return the secret as only `unseal` at this place can read it."""
    return generate_data_key(place).seal(secret)


def unseal(sealed: bytes, place: SecretPlace) -> SecretStr:
    """Return the stored secret that was sealed for this place; IntegrityError, and an alarm, for any other bytes."""
    try:
        return unseal_proof(sealed, place)
    except IntegrityError:
        count_now(INTEGRITY_FAILURES)
        raise


def unseal_proof(sealed: bytes, place: SecretPlace) -> SecretStr:
    """Return a sealed secret from a request; IntegrityError without an alarm, since a client can send any bytes."""
    encrypted_key, nonce, ciphertext = _split(sealed, place)
    key = data_keys.get((place, encrypted_key)) or _single_flight.run(
        (place, encrypted_key), lambda: _decrypt_data_key(place, encrypted_key)
    )
    try:
        return SecretStr(AESGCM(key).decrypt(nonce, ciphertext, place.associated_data()).decode())
    except (InvalidTag, ValueError):
        raise _integrity_error(place) from None


def _integrity_error(place: SecretPlace) -> IntegrityError:
    return IntegrityError(what=f"{place.service} {place.field}")


def _decrypt_data_key(place: SecretPlace, encrypted: bytes) -> bytes:
    """Decrypt a data key with VaultKey, or with the former VaultKey."""
    present, former = settings().vault_key, settings().former_vault_key
    with _translating_kms_errors(place):
        try:
            plain = _decrypt(present, place, encrypted)
        except AwsError as error:
            if not former or error.code not in _OTHER_KEY_CODES:
                raise
            plain = _decrypt(former, place, encrypted)
    return _remember(DataKey(place, plain, encrypted)).plain


def _decrypt(key: str, place: SecretPlace, encrypted: bytes) -> bytes:
    with store_errors("vault"):
        answer = client("kms").decrypt(KeyId=key, CiphertextBlob=encrypted, EncryptionContext=place.context())
    plain: bytes = answer["Plaintext"]
    return plain


def _remember(key: DataKey) -> DataKey:
    data_keys.put((key.place, key.encrypted), key.plain)
    return key


def _split(sealed: bytes, place: SecretPlace) -> tuple[bytes, bytes, bytes]:
    if len(sealed) < HEADER.size:
        raise _integrity_error(place)
    form, length = HEADER.unpack_from(sealed)
    key, rest = sealed[HEADER.size : HEADER.size + length], sealed[HEADER.size + length :]
    if form != SEAL_FORMAT or not key or len(rest) <= NONCE_BYTES:
        raise _integrity_error(place)
    return key, rest[:NONCE_BYTES], rest[NONCE_BYTES:]


@contextmanager
def _translating_kms_errors(place: SecretPlace) -> Iterator[None]:
    try:
        with store_errors("vault"):
            yield
    except AwsError as error:
        if error.code in _WRONG_PLACE_CODES:
            raise _integrity_error(place) from None
        if error.code in _UNAVAILABLE_CODES:
            raise StoreUnavailable(store="vault") from error
        raise
