"""The token broker as the other doors see it: messages to `token_broker:live`, and a short memory.

Every message is `{"operation", "proof": {"kind", "value"}, "organization", "roles": [...], ...}`, from a door also with
its `correlation`; every answer is `{"result": ...}` or `{"error": {"type", "details"}}`. What comes back is one of our
own errors, whatever happened on the way, and quotes neither the message nor the answer.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpist.aws.clients import AwsError, client, store_errors
from mcpist.caller import Caller
from mcpist.errors import InternalError, McpistError, RateLimitExceeded, UpstreamUnavailable, from_message
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist.telemetry.invocation import correlation
from mcpist.telemetry.tracing import span

CREDENTIAL_CACHE_SECONDS = 60
MAX_CACHED_CREDENTIALS = 1_000
# Two attempts end before the caller's own function does (29 s).
INVOKE_TIMEOUT_SECONDS = 12
MAX_INVOKE_ATTEMPTS = 2
THROTTLE_RETRY_SECONDS = 1

type CacheKey = tuple[str, str, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Credential:
    """What a Call is sent with, and whose account acts.

    `version` is the stored grant's; `scopes` are those granted, none where they are not known; `keep_seconds` is how
    much longer it may be remembered: in all memories together a minute.
    """

    token: str = field(repr=False)
    account_id: str
    account_name: str
    owner: str
    expires_at: int | None
    version: int = 0
    scopes: tuple[str, ...] = ()
    keep_seconds: float = CREDENTIAL_CACHE_SECONDS


credential_cache: Memory[CacheKey, Credential] = Memory(CREDENTIAL_CACHE_SECONDS, MAX_CACHED_CREDENTIALS)
status_cache: Memory[CacheKey, frozenset[str]] = Memory(CREDENTIAL_CACHE_SECONDS, MAX_CACHED_CREDENTIALS)


def resolve(caller: Caller, service: str, *, refused: int | None = None) -> Credential:
    """The caller's credential for a service; `refused` is the version of the last one, where the service refused it."""
    key = (caller.organization, caller.user, caller.role_names, service)
    known = credential_cache.get(key)
    if known and known.version != refused:
        return known
    credential_cache.drop(lambda other, _: other == key)
    fields = {} if refused is None else {"refused": refused}
    credential = _parse_credential(request(caller, "resolve", service=service, **fields))
    kept_until = credential_cache.clock() + credential.keep_seconds
    expires_at = math.inf if credential.expires_at is None else credential.expires_at
    return credential_cache.put(key, credential, until=min(kept_until, expires_at))


def forget(caller: Caller, service: str) -> None:
    """Ask the broker the next time, whatever is remembered of the user, in any roles."""
    user_key = (caller.organization, caller.user)
    credential_cache.drop(lambda key, _: (*key[:2], key[3]) == (*user_key, service))
    status_cache.drop(lambda key, _: key[:2] == user_key)


def connected(caller: Caller, services: Sequence[str]) -> frozenset[str]:
    """Those of the services that the caller has a working grant of, as of a minute ago at most."""
    key = (caller.organization, caller.user, caller.role_names, " ".join(services))

    def ask() -> frozenset[str]:
        rows = request(caller, "status", services=list(services))["grants"]
        return frozenset(row["service"] for row in rows if row["acts"] and row["usable"])

    return status_cache.get_or_make(key, ask)


def warrant(caller: Caller, services: Iterable[str], *, expires_at: int) -> str:
    """The broker's sealed word that a batch of this caller may resolve these services until then, an hour at most."""
    return str(request(caller, "warrant", services=sorted(set(services)), expires_at=expires_at)["warrant"])


def request(caller: Caller, operation: str, **fields: Any) -> dict[str, Any]:
    """Send one message with the caller's proof; the broker's typed error is raised here."""
    if caller.proof is None:
        raise ValueError("a caller without proof cannot ask the broker")
    proof = {"kind": caller.proof.kind, "value": caller.proof.value}
    message = {"operation": operation, "proof": proof, "organization": caller.organization, "roles": caller.role_names}
    return invoke({**message, **fields})


def invoke(
    message: Mapping[str, Any], *, seconds: float = INVOKE_TIMEOUT_SECONDS, attempts: int = MAX_INVOKE_ATTEMPTS
) -> dict[str, Any]:
    """The broker's result; one attempt for what must not be asked twice."""
    correlated = {"correlation": correlation()} if correlation() else {}
    with span("broker", operation=message["operation"]):
        request_id, failed, body = _invoke({**message, **correlated}, seconds, attempts)
    if failed:
        raise UpstreamUnavailable(service="token broker", problem=f"it failed in request {request_id}")
    try:
        payload = json.loads(body)
        if isinstance(payload, dict) and isinstance(result := payload.get("result"), dict):
            return result
        error = payload["error"]
    except (ValueError, TypeError, KeyError):
        raise UpstreamUnavailable(service="token broker", problem=f"no answer in request {request_id}") from None
    raise _parse_error(error, request_id)


def _invoke(message: Mapping[str, Any], seconds: float, attempts: int) -> tuple[str, bool, bytes]:
    """The request's id, whether the function failed, and what it answered."""
    try:
        with store_errors("token broker"):
            answer = client("lambda", read_seconds=seconds, attempts=attempts).invoke(
                FunctionName=settings().token_broker, Payload=json.dumps(message)
            )
            body = answer["Payload"].read()
    except AwsError as error:
        if error.code == "TooManyRequestsException":
            raise RateLimitExceeded(service="token broker", retry_after=THROTTLE_RETRY_SECONDS) from error
        raise UpstreamUnavailable(service="token broker", problem=f"it cannot be asked ({error.code})") from error
    return answer["ResponseMetadata"].get("RequestId", "unknown"), "FunctionError" in answer, body


def _parse_error(message: Any, request_id: str) -> McpistError:
    """The broker's error; one that this release does not know is a defect."""
    try:
        return from_message(message)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return InternalError(request_id=request_id)


def _parse_credential(result: dict[str, Any]) -> Credential:
    try:
        return Credential(**{**result, "scopes": tuple(result.get("scopes", ()))})
    except TypeError:
        raise UpstreamUnavailable(service="token broker", problem="it answered in another release's words") from None
