"""A sealed secret opens in its own place and nowhere else."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from mcpist.aws import clients
from mcpist.aws.clients import AwsError
from mcpist.errors import IntegrityError, StoreUnavailable
from tests.clock import Clock
from tests.examples import examples
from tests.token_broker.conftest import forget
from token_broker import vault
from token_broker.vault import HEADER, SecretPlace, unseal, unseal_proof

PLACE = SecretPlace(organization="acme", owner="user#ada", service="github", field="access_token", version=3)
SECRET = SecretStr("ghu_canary_of_the_vault")

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
places = st.builds(SecretPlace, organization=text, owner=text, service=text, field=text, version=st.integers(1, 10**9))
quick = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])

pytestmark = pytest.mark.usefixtures("aws")


def seal(secret: SecretStr, place: SecretPlace) -> bytes:
    """As another sandbox did, so that KMS must be asked for the data key."""
    sealed = vault.seal(secret, place)
    vault.data_keys.clear()
    return sealed


@quick
@given(place=places, secret=text)
def test_a_secret_opens_where_it_was_sealed(place: SecretPlace, secret: str) -> None:
    assert unseal(seal(SecretStr(secret), place), place).get_secret_value() == secret


@quick
@given(here=places, there=places)
def test_no_secret_opens_in_another_place(here: SecretPlace, there: SecretPlace) -> None:
    assume(here != there)
    with pytest.raises(IntegrityError):
        unseal(seal(SECRET, here), there)


MOVES: list[dict[str, Any]] = [
    {"organization": "globex"},
    {"owner": "user#bob"},
    {"owner": "role#ada"},
    {"service": "gitlab"},
    {"field": "refresh_token"},
    {"version": 2},
    {"version": 4},
    {"organization": "acm", "owner": "euser#ada"},
    {"organization": 'acme","owner":"user#ada'},
]


@pytest.mark.parametrize("move", MOVES, ids=str)
def test_a_moved_secret_is_refused(move: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        unseal(seal(SECRET, PLACE), replace(PLACE, **move))


@pytest.mark.parametrize("move", MOVES, ids=str)
def test_the_associated_data_alone_refuses_a_moved_secret(move: dict[str, Any]) -> None:
    """Even with the data key that KMS opens for the other place."""
    there = replace(PLACE, **move)
    ours, theirs = Parts(seal(SECRET, PLACE)), Parts(seal(SECRET, there))
    kms = boto3.client("kms")
    plain = kms.decrypt(CiphertextBlob=ours.key, EncryptionContext=PLACE.context())["Plaintext"]
    moved = kms.encrypt(KeyId=os.environ["VAULT_KEY"], Plaintext=plain, EncryptionContext=there.context())
    with pytest.raises(IntegrityError):
        unseal(ours.with_key(moved["CiphertextBlob"]), there)
    assert unseal(theirs.whole, there) == SECRET


def test_the_encryption_context_alone_refuses_a_moved_data_key() -> None:
    kms, key = boto3.client("kms"), Parts(seal(SECRET, PLACE)).key
    assert len(kms.decrypt(CiphertextBlob=key, EncryptionContext=PLACE.context())["Plaintext"]) == 32
    for context in ({}, *(replace(PLACE, **move).context() for move in MOVES)):
        with pytest.raises(ClientError, match="InvalidCiphertext"):
            kms.decrypt(CiphertextBlob=key, EncryptionContext=context)


@quick
@given(one=places, other=places)
def test_no_two_places_read_the_same(one: SecretPlace, other: SecretPlace) -> None:
    assert (one.associated_data() == other.associated_data()) == (one == other)


def test_swapped_data_keys_are_refused() -> None:
    one, other = Parts(seal(SECRET, PLACE)), Parts(seal(SECRET, PLACE))
    with pytest.raises(IntegrityError):
        unseal(one.with_key(other.key), PLACE)


@quick
@given(data=st.data())
def test_a_flipped_bit_is_refused(data: st.DataObject) -> None:
    sealed = bytearray(seal(SECRET, PLACE))
    # moto puts its key's id in the clear at the front of what it encrypts; KMS authenticates all of it.
    named = range(HEADER.size, HEADER.size + 36)
    place = data.draw(st.sampled_from([at for at in range(len(sealed)) if at not in named]))
    sealed[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(IntegrityError):
        unseal(bytes(sealed), PLACE)


@quick
@given(length=st.integers(0, 400))
def test_a_shortened_secret_is_refused(length: int) -> None:
    sealed = seal(SECRET, PLACE)
    assume(length < len(sealed))
    with pytest.raises(IntegrityError):
        unseal(sealed[:length], PLACE)


@quick
@given(noise=st.binary(max_size=60))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(IntegrityError):
        unseal(noise, PLACE)


def test_a_secret_sealed_under_another_key_is_refused() -> None:
    foreign = boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("VAULT_KEY", foreign)
        forget()
        sealed = seal(SECRET, PLACE)
    forget()
    # KMS itself says IncorrectKeyException, which is an IntegrityError; moto says AccessDenied.
    with pytest.raises((IntegrityError, AwsError), match=r"integrity|AccessDenied"):
        unseal(sealed, PLACE)


def test_a_secret_is_sealed_differently_each_time() -> None:
    one, other = Parts(seal(SECRET, PLACE)), Parts(seal(SECRET, PLACE))
    assert one.key != other.key
    assert one.nonce != other.nonce
    assert one.ciphertext != other.ciphertext
    assert b"canary" not in one.whole


@pytest.mark.usefixtures("under_way")
def test_each_refusal_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IntegrityError) as refusal:
        unseal(seal(SECRET, PLACE), replace(PLACE, version=4))
    assert refusal.value.details == {"what": "github access_token"}
    assert '"IntegrityFailures":[1.0]' in capsys.readouterr().out.replace(" ", "")


@pytest.mark.usefixtures("under_way")
def test_a_secret_that_a_client_sends_raises_no_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IntegrityError):
        unseal_proof(seal(SECRET, PLACE), replace(PLACE, version=4))
    assert "IntegrityFailures" not in capsys.readouterr().out


# -- keys ---------------------------------------------------------------------------------------------


@pytest.fixture
def asked(aws: list[str]) -> list[str]:
    aws.clear()
    return aws


def test_a_data_key_is_requested_once_in_five_minutes(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, clock = seal(SECRET, PLACE), Clock()
    monkeypatch.setattr(vault.data_keys, "clock", clock)
    for seconds in (0, 100, 199, 2):
        clock.advance(seconds)
        unseal(sealed, PLACE)
    assert asked == ["GenerateDataKey", "Decrypt", "Decrypt"]


def test_no_data_key_stays_beyond_its_time_or_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(vault.data_keys, "clock", clock)
    monkeypatch.setattr(vault.data_keys, "max_entries", 3)
    for version in range(1, 6):
        vault.seal(SECRET, replace(PLACE, version=version))
    assert [place.version for place, _ in vault.data_keys] == [3, 4, 5]
    clock.advance(vault.KEY_CACHE_SECONDS + 1)
    vault.seal(SECRET, PLACE)
    assert [place for place, _ in vault.data_keys] == [PLACE]


def test_a_cached_data_key_opens_nothing_in_another_place() -> None:
    sealed = vault.seal(SECRET, PLACE)
    for move in MOVES:
        with pytest.raises(IntegrityError):
            unseal(sealed, replace(PLACE, **move))
    assert unseal(sealed, PLACE) == SECRET


def test_a_snapshot_holds_no_data_key_and_no_client() -> None:
    """What a new process has after the door's import, and after all that it prepares for its snapshot."""
    script = """
from snapshot_restore_py import get_before_snapshot
import token_broker.handler
from mcpist.aws import clients
from token_broker.grants.opened import opened_credentials
from token_broker.providers import apps
from token_broker import vault
while (hooks := get_before_snapshot()):
    function, args, kwargs = hooks.pop()
    function(*args, **kwargs)
assert not (vault.data_keys or opened_credentials or apps.app_cache or clients.client.cache_info().currsize)
"""
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=surroundings)


def test_a_secret_under_the_former_key_opens_while_that_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, former = seal(SECRET, PLACE), os.environ["VAULT_KEY"]
    monkeypatch.setenv("VAULT_KEY", boto3.client("kms").create_key()["KeyMetadata"]["Arn"])
    forget()
    with pytest.raises((IntegrityError, AwsError), match=r"integrity|AccessDenied"):
        unseal(sealed, PLACE)
    monkeypatch.setenv("FORMER_VAULT_KEY", former)
    forget()
    assert unseal(sealed, PLACE) == SECRET
    monkeypatch.undo()
    forget()


# -- when KMS is down ---------------------------------------------------------------------------------


@pytest.fixture
def silence() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("where", ["silence", "nobody"])
def test_an_unreachable_kms_is_a_typed_error_within_five_seconds(where: str, request: pytest.FixtureRequest) -> None:
    sealed = seal(SECRET, PLACE)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", request.getfixturevalue(where))
        clients.client.cache_clear()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            unseal(sealed, PLACE)
        elapsed = time.monotonic() - began
    clients.client.cache_clear()
    assert elapsed < 5


class Parts:
    """Sealed bytes, taken apart."""

    def __init__(self, sealed: bytes) -> None:
        self.whole = sealed
        _, length = HEADER.unpack_from(sealed)
        self.key, rest = sealed[HEADER.size : HEADER.size + length], sealed[HEADER.size + length :]
        self.nonce, self.ciphertext = rest[: vault.NONCE_BYTES], rest[vault.NONCE_BYTES :]

    def with_key(self, key: bytes) -> bytes:
        return HEADER.pack(vault.SEAL_FORMAT, len(key)) + key + self.nonce + self.ciphertext
