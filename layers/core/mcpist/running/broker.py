"""The token broker as the other doors see it: messages to `token_broker:live`, and a short memory.

Every message is `{"operation", "proof": {"kind", "value"}, "organization", "roles": [...], ...}`, from a door also with
its `correlation`; every answer is `{"result": ...}` or `{"error": {"type", "details"}}`. What comes back is one of our
own errors, whatever happened on the way, and quotes neither the message nor the answer.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpist.aws.stores import client, reaching, refused
from mcpist.caller import Caller
from mcpist.errors import InternalError, McpistError, RateLimitExceeded, UpstreamUnavailable, from_message
from mcpist.settings import settings
from mcpist.telemetry.invocation import correlation
from mcpist.telemetry.tracing import span

CACHE_SECONDS = 60
MOST_CACHED_CREDENTIALS = 1_000
# Two attempts end before the caller's own function does (29 s).
ANSWER_SECONDS = 12
ATTEMPTS = 2
THROTTLED_SECONDS = 1

type Owner = tuple[str, str, tuple[str, ...], str]


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
    keep_seconds: float = CACHE_SECONDS


_memory: dict[Owner, tuple[float, Credential]] = {}
_statuses: dict[Owner, tuple[float, frozenset[str]]] = {}


def resolve(caller: Caller, service: str, *, refused: int | None = None) -> Credential:
    """The caller's credential for a service; `refused` is the version of the last one, where the service refused it."""
    key = (caller.organization, caller.user, caller.role_names, service)
    known = _memory.get(key)
    if known and known[1].version != refused and _alive(*known):
        return known[1]
    _memory.pop(key, None)
    about = {} if refused is None else {"refused": refused}
    credential = _credential(ask(caller, "resolve", service=service, **about))
    if len(_memory) >= MOST_CACHED_CREDENTIALS:
        _memory.clear()
    _memory[key] = (time.time(), credential)
    return credential


def forget(caller: Caller, service: str) -> None:
    """Ask the broker the next time, whatever is remembered of the user, in any roles."""
    whose = (caller.organization, caller.user)
    for key in [key for key in _memory if (*key[:2], key[3]) == (*whose, service)]:
        del _memory[key]
    for key in [key for key in _statuses if key[:2] == whose]:
        del _statuses[key]


def connected(caller: Caller, services: Sequence[str]) -> frozenset[str]:
    """Those of the services that the caller has a working grant of, as of a minute ago at most."""
    key = (caller.organization, caller.user, caller.role_names, " ".join(services))
    known = _statuses.get(key)
    if known and 0 <= time.time() - known[0] < CACHE_SECONDS:
        return known[1]
    rows = ask(caller, "status", services=list(services))["grants"]
    found = frozenset(row["service"] for row in rows if row["acts"] and row["usable"])
    if len(_statuses) >= MOST_CACHED_CREDENTIALS:
        _statuses.clear()
    _statuses[key] = (time.time(), found)
    return found


def warrant(caller: Caller, services: Iterable[str], *, expires_at: int) -> str:
    """The broker's sealed word that a batch of this caller may resolve these services until then, an hour at most."""
    return str(ask(caller, "warrant", services=sorted(set(services)), expires_at=expires_at)["warrant"])


def ask(caller: Caller, operation: str, **fields: Any) -> dict[str, Any]:
    """Send one message with the caller's proof; the broker's typed error is raised here."""
    if caller.proof is None:
        raise ValueError("a caller without proof cannot ask the broker")
    proof = {"kind": caller.proof.kind, "value": caller.proof.value}
    asked = {"operation": operation, "proof": proof, "organization": caller.organization, "roles": caller.role_names}
    return send({**asked, **fields})


def send(message: Mapping[str, Any], *, seconds: float = ANSWER_SECONDS, attempts: int = ATTEMPTS) -> dict[str, Any]:
    """The broker's result; one attempt for what must not be asked twice."""
    named = {"correlation": correlation()} if correlation() else {}
    with span("broker", operation=message["operation"]):
        request_id, failed, body = _invoke({**message, **named}, seconds, attempts)
    if failed:
        raise UpstreamUnavailable(service="token broker", problem=f"it failed in request {request_id}")
    try:
        payload = json.loads(body)
        if isinstance(payload, dict) and isinstance(result := payload.get("result"), dict):
            return result
        error = payload["error"]
    except (ValueError, TypeError, KeyError):
        raise UpstreamUnavailable(service="token broker", problem=f"no answer in request {request_id}") from None
    raise _error(error, request_id)


def _invoke(message: Mapping[str, Any], seconds: float, attempts: int) -> tuple[str, bool, bytes]:
    """The request's id, whether the function failed, and what it answered."""
    from botocore.exceptions import ClientError

    try:
        with reaching("token broker"):
            answer = client("lambda", read_seconds=seconds, attempts=attempts).invoke(
                FunctionName=settings().token_broker, Payload=json.dumps(message)
            )
            body = answer["Payload"].read()
    except ClientError as error:
        if refused(error, "TooManyRequestsException"):
            raise RateLimitExceeded(service="token broker", retry_after=THROTTLED_SECONDS) from error
        code = error.response["Error"]["Code"]
        raise UpstreamUnavailable(service="token broker", problem=f"it cannot be asked ({code})") from error
    return answer["ResponseMetadata"].get("RequestId", "unknown"), "FunctionError" in answer, body


def _error(message: Any, request_id: str) -> McpistError:
    """The broker's error; one that this release does not know is a defect."""
    try:
        return from_message(message)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return InternalError(request_id=request_id)


def _credential(result: dict[str, Any]) -> Credential:
    try:
        return Credential(**{**result, "scopes": tuple(result.get("scopes", ()))})
    except TypeError:
        raise UpstreamUnavailable(service="token broker", problem="it answered in another release's words") from None


def _alive(kept_at: float, credential: Credential) -> bool:
    expired = credential.expires_at is not None and credential.expires_at <= time.time()
    return not expired and 0 <= time.time() - kept_at < min(credential.keep_seconds, CACHE_SECONDS)
