"""Client of the token broker: messages to `token_broker:live`, and a short-lived cache.

A message is `{"operation", "proof": {"kind", "value"}, "organization", "roles": [...], ...}`, with the `correlation` id
of the door's request.
"""

import base64
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from mcpist.aws import functions
from mcpist.caller import MAIN_ACCOUNT, Caller
from mcpist.errors import UpstreamUnavailable
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist.telemetry.invocation import carried
from mcpist.telemetry.tracing import span

CREDENTIAL_CACHE_SECONDS = 60
MAX_CACHED_CREDENTIALS = 1_000
# Two attempts end before the caller's own function does (29 s).
INVOKE_TIMEOUT_SECONDS = 12
MAX_INVOKE_ATTEMPTS = 2
# A revocation waits for providers; a function behind API Gateway has 29 s.
ADMINISTRATION_TIMEOUT_SECONDS = 26

type CacheKey = tuple[str, str, tuple[str, ...], str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Credential:
    """An access token, and the account that it acts as."""

    token: str = field(repr=False)
    account_id: str
    account_name: str
    owner: str
    """The grant's owner: `user#ID` or `role#NAME`."""
    expires_at: int | None
    """The end of the token (epoch seconds); None where it is unknown."""
    version: int = 0
    """The stored grant's version."""
    scopes: tuple[str, ...] = ()
    """The granted scopes; empty where they are unknown."""
    site_url: str = ""
    """The address of the account's own site; empty where it has none."""
    label: str = MAIN_ACCOUNT
    """The label that tells it from its owner's other accounts."""
    keep_seconds: float = CREDENTIAL_CACHE_SECONDS
    """The seconds for which it may still be cached: a minute in all caches together."""


credential_cache: Memory[CacheKey, Credential] = Memory(CREDENTIAL_CACHE_SECONDS, MAX_CACHED_CREDENTIALS)
status_cache: Memory[CacheKey, list[dict[str, Any]]] = Memory(CREDENTIAL_CACHE_SECONDS, MAX_CACHED_CREDENTIALS)


def resolve(caller: Caller, service: str, *, refused: int | None = None) -> Credential:
    """Return the credential of the account that the caller names, else of the default one.

    `refused` is the version that the service refused.
    """
    key = cache_key(caller, service)
    cached = credential_cache.get(key)
    if cached and cached.version != refused:
        return cached
    # What was refused must not be found again if the broker fails now.
    credential_cache.drop(lambda other, _: other == key)
    fields = {"refused": refused, "account": caller.account or None, "pins": caller.pins or None}
    given = {name: value for name, value in fields.items() if value is not None}
    credential = _parse_credential(request(caller, "resolve", service=service, **given))
    cached_until = credential_cache.clock() + credential.keep_seconds
    expires_at = math.inf if credential.expires_at is None else credential.expires_at
    return credential_cache.put(key, credential, until=min(cached_until, expires_at))


def cache_key(caller: Caller, about: str) -> CacheKey:
    """Return the key of what is cached about one or several services: with all that decides which account acts."""
    return caller.organization, caller.user, caller.role_names, about, caller.account, caller.pins


def resolve_sender(caller: Caller) -> Credential:
    """Return the credential that sends the messages of the caller's organization."""
    return _parse_credential(request(caller, "sender"))


def forget(caller: Caller, service: str) -> None:
    """Drop what is cached of the user and the service, in any roles."""
    user_key = (caller.organization, caller.user)
    credential_cache.drop(lambda key, _: (*key[:2], key[3]) == (*user_key, service))
    status_cache.drop(lambda key, _: key[:2] == user_key)


def connected(caller: Caller, services: Sequence[str]) -> frozenset[str]:
    """Return the services for which the caller has a working grant, as it was within the last minute."""
    return frozenset(row["service"] for row in known_accounts(caller, services) if row["acts"] and row["usable"])


def known_accounts(caller: Caller, services: Sequence[str]) -> list[dict[str, Any]]:
    """Return the broker's rows about the caller's accounts, cached for a minute."""
    return status_cache.get_or_make(cache_key(caller, " ".join(services)), lambda: accounts(caller, services))


def accounts(caller: Caller, services: Sequence[str]) -> list[dict[str, Any]]:
    """Return the broker's rows about the caller's accounts at these services; it is not asked about none."""
    rows: list[dict[str, Any]] = request(caller, "status", services=list(services))["grants"] if services else []
    return rows


def warrant(caller: Caller, services: Iterable[str], *, expires_at: int) -> tuple[str, tuple[str, ...]]:
    """Return a warrant with which a batch of this caller resolves these services until then, an hour at most.

    With it come the accounts that act now, to which the batch keeps.
    """
    answer = request(caller, "warrant", services=sorted(set(services)), expires_at=expires_at)
    return str(answer["warrant"]), tuple(answer.get("pins", ()))


@dataclass(frozen=True, slots=True)
class IssuedPermit:
    """A standing permission, with which something acts while its person is away."""

    id: str
    value: str = field(repr=False)
    """Its sealed form: the value of a proof of the kind `permit`."""
    expires_at: int


def permit(caller: Caller, services: Iterable[str], purpose: str) -> IssuedPermit:
    """Return a standing permission of this caller for these services; its person and administrators can end it."""
    answer = request(caller, "permit", services=sorted(set(services)), purpose=purpose)
    return IssuedPermit(str(answer["id"]), str(answer["permit"]), int(answer["expires_at"]))


def keep_secret(caller: Caller, owner: str, secret: str | None = None) -> tuple[str, str]:
    """Return the sealed form of a secret of a webhook, and a secret that was made because none was given."""
    answer = request(caller, "keep_secret", owner=owner, secret=secret)
    return str(answer["sealed"]), str(answer["secret"] or "")


def mac(organization: str, owner: str, sealed: str, message: bytes) -> bytes:
    """Return the HMAC-SHA256 of a message under a kept secret of an owner."""
    text = base64.b64encode(message).decode()
    sent = {"operation": "mac", "organization": organization, "owner": owner, "sealed": sealed, "message": text}
    return bytes.fromhex(invoke(sent)["mac"])


def request(caller: Caller, operation: str, **fields: Any) -> dict[str, Any]:
    """Send one message with the caller's proof, and return the result or raise the broker's typed error."""
    return invoke({**_message(caller, operation), **fields})


def administer(caller: Caller, operation: str, **fields: Any) -> dict[str, Any]:
    """Send a message about grants once: a revocation must not run twice unseen. A field that is None is left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    message = {**_message(caller, operation), **given}
    return invoke(message, seconds=ADMINISTRATION_TIMEOUT_SECONDS, attempts=1)


def invoke(
    message: Mapping[str, Any], *, seconds: float = INVOKE_TIMEOUT_SECONDS, attempts: int = MAX_INVOKE_ATTEMPTS
) -> dict[str, Any]:
    """Send a message and return the broker's result; use one attempt for a message that must not be repeated."""
    with span("broker", operation=message["operation"]):
        function = settings().token_broker
        return functions.invoke(function, "token broker", {**message, **carried()}, seconds=seconds, attempts=attempts)


def end_expired_accounts(organization: str) -> bool:
    """Let the broker end the accounts of deactivated users whose days are over; False where some are left."""
    return all(not answer["left"] for answer in ended_accounts(organization) if not answer["ended"])


def ended_accounts(organization: str) -> Iterator[dict[str, Any]]:
    """Let the broker end some accounts at a time, until none is left or none can be ended, and yield its answers."""
    answer = {"ended": 1, "left": 1}
    while answer["ended"] and answer["left"]:
        message = {"operation": "expire", "organization": organization}
        answer = invoke(message, seconds=ADMINISTRATION_TIMEOUT_SECONDS, attempts=1)
        yield answer


def _message(caller: Caller, operation: str) -> dict[str, Any]:
    """Return the fields that every message of a caller has."""
    if caller.proof is None:
        raise ValueError("a caller without proof cannot ask the broker")
    proof = {"kind": caller.proof.kind, "value": caller.proof.value}
    message: dict[str, Any] = {"operation": operation, "proof": proof, "organization": caller.organization}
    return message | {"roles": caller.role_names, **({"client": asdict(caller.client)} if caller.client.name else {})}


def _parse_credential(result: dict[str, Any]) -> Credential:
    """Return the credential of a result; what a newer broker adds to it is ignored."""
    known = {field.name: result[field.name] for field in fields(Credential) if field.name in result}
    try:
        return Credential(**known | {"scopes": tuple(result.get("scopes", ()))})
    except TypeError:
        raise UpstreamUnavailable(service="token broker", problem="its response is of another release") from None
