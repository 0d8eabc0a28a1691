"""Refusals: read from a response, and turned into the error that says who must act."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcpist import errors
from mcpist.running.error_messages import MAX_MESSAGE_CHARACTERS, error_message
from mcpist.running.rate_limits import is_rate_limit, rate_limit_reset, retry_after, round_up
from mcpist.settings import settings
from mcpist.tools.declare.call import ServiceResponse, given
from mcpist.tools.declare.dialect import (
    HTTP_STANDARD,
    MissingScope,
    RateLimited,
    Refusal,
    Refusals,
    TokenRefused,
    Unavailable,
)

# Where a service limits without saying for how long.
RETRY_AFTER_SECONDS = 30
# The request is not wrong: it came too early or took too long.
_TRANSIENT_STATUSES = {408, 425}
# An overloaded service names the seconds; 529 is not registered, but common.
_OVERLOADED_STATUSES = {503, 529}

_INSUFFICIENT_SCOPE = re.compile(r'\berror="?insufficient_scope\b')
_SCOPE = re.compile(r'\bscope="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that failed."""

    error: errors.McpistError
    safe_to_retry: bool = False
    """Whether the service surely did nothing."""
    is_done: bool = False
    """Whether the service has done it, and only its answer cannot be used."""
    wait: float | None = None
    """Seconds in which the service wants no further request of this account."""
    path_only: bool = False
    """Whether `wait` is about requests to this path alone."""


def read_refusal(response: ServiceResponse, refusals: Refusals = HTTP_STANDARD) -> Refusal | None:
    """Return the refusal in a response, read by its service's own rules and then by the HTTP standards."""
    return refusals.read(response) or _http_refusal(response)


def failure(
    service: str,
    response: ServiceResponse,
    refusal: Refusal,
    secrets: Iterable[str] = (),
    refusals: Refusals = HTTP_STANDARD,
) -> Failure:
    """Return the error that a refusal means; its message has none of the secrets."""
    problem = error_message(refusal.problem or response.json, secrets, refusals)
    match refusal:
        case RateLimited():
            return _rate_limited(service, response.headers, refusal, problem)
        case MissingScope():
            return Failure(_missing_scope(service, refusal.scope or _challenged_scope(response.headers) or "", problem))
        case Unavailable(retry_after=wait):
            problem = f"it answered {response.status}" + (f": {problem}" if problem else "")
            seconds = None if wait is None else round_up(wait)
            error = errors.UpstreamUnavailable(service=service, problem=problem, **given(retry_after=seconds))
            return Failure(error, safe_to_retry=wait is not None, wait=wait)
    problem = problem or "no readable message"
    return Failure(errors.ToolExecutionError(service=service, http_status=response.status, problem=problem))


def _http_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal that a status means; None for a success."""
    status, headers = response.status, response.headers
    if 200 <= status < 300:
        return None
    if is_rate_limit(status, headers):
        return RateLimited()
    if status in {401, 403, 404} and _challenged_scope(headers) is not None:
        return MissingScope()
    if status == 401:
        return TokenRefused()
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return Unavailable(retry_after=retry_after(headers) if status in _OVERLOADED_STATUSES else None)
    return Refusal(problem=_redirect(headers) if 300 <= status < 400 else "")


def _rate_limited(service: str, headers: Mapping[str, str], refusal: RateLimited, problem: str) -> Failure:
    waits = (refusal.retry_after, retry_after(headers), rate_limit_reset(headers))
    wait = next((seconds for seconds in waits if seconds is not None), None)
    seconds = RETRY_AFTER_SECONDS if wait is None else round_up(wait)
    error = errors.RateLimitExceeded(service=service, retry_after=seconds, **given(problem=problem or None))
    return Failure(error, safe_to_retry=wait is not None, wait=wait, path_only=refusal.path_only)


def _missing_scope(service: str, scope: str, problem: str) -> errors.McpistError:
    url = settings().connect_url(service)
    if not scope:
        return errors.UnnamedScopeMissing(service=service, url=url, problem=problem)
    return errors.ScopeMissing(service=service, scope=scope, url=url, **given(problem=problem or None))


def _challenged_scope(headers: Mapping[str, str]) -> str | None:
    """Return the scope that a challenge names (RFC 6750), empty where it names none; None where no scope is missing."""
    challenge = headers.get("www-authenticate", "")
    if not _INSUFFICIENT_SCOPE.search(challenge):
        return None
    named = _SCOPE.search(challenge)
    return named[1][:MAX_MESSAGE_CHARACTERS] if named else ""


def _redirect(headers: Mapping[str, str]) -> str:
    """Name the host of a redirect; its whole address may carry a signature."""
    try:
        host = urlsplit(headers.get("location", "")).hostname or "another place"
    except ValueError:
        host = "no place"
    return f"it redirects to {host}; only a read is followed, within its own origin and not often"
