"""Failures: a service's refusal as the error that says who must act."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcpist.errors import (
    McpistError,
    RateLimitExceeded,
    ScopeMissing,
    ToolExecutionError,
    UnnamedScopeMissing,
    UpstreamUnavailable,
)
from mcpist.running.error_messages import error_message, parse_json
from mcpist.running.rate_limits import is_limit, rate_limit_reset, retry_after, round_up
from mcpist.running.scopes import missing_scope
from mcpist.settings import settings
from mcpist.tools.call import given

# Where a service limits without saying for how long.
RETRY_AFTER_SECONDS = 30
# Not wrong, but too early or too slow.
_TRANSIENT_STATUSES = {408, 425}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request brought nothing.

    `safe_to_retry` where the service surely did nothing; `wait` where it asks to be left alone for some seconds, by
    this account, or only with requests to this path where the limit is `path_only`.
    """

    error: McpistError
    safe_to_retry: bool = False
    wait: float | None = None
    path_only: bool = False


def failure(service: str, status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = ()) -> Failure:
    """What a status that is no success means; header names are lower-case."""
    found = parse_json(body)
    said = error_message(found, secrets)
    if is_limit(status, headers, found):
        return _limited(service, headers, said)
    scope = missing_scope(status, headers, found)
    if scope is not None:
        url = settings().connect_url(service)
        named = ScopeMissing(service=service, scope=scope, url=url, **given(problem=said or None))
        return Failure(named if scope else UnnamedScopeMissing(service=service, url=url, problem=said))
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return _unavailable(service, status, headers, said)
    if 300 <= status < 400:
        said = _redirect(headers)
    return Failure(ToolExecutionError(service=service, http_status=status, problem=said or "no readable message"))


def _limited(service: str, headers: Mapping[str, str], said: str) -> Failure:
    wait = retry_after(headers)
    wait = rate_limit_reset(headers) if wait is None else wait
    seconds = RETRY_AFTER_SECONDS if wait is None else round_up(wait)
    error = RateLimitExceeded(service=service, retry_after=seconds, **given(problem=said or None))
    path_only = headers.get("x-ratelimit-resource", "core") != "core"  # GitHub counts searches apart
    return Failure(error, safe_to_retry=wait is not None, wait=wait, path_only=path_only)


def _unavailable(service: str, status: int, headers: Mapping[str, str], said: str) -> Failure:
    wait = retry_after(headers) if status in {503, 529} else None
    problem = f"it answered {status}" + (f": {said}" if said else "")
    error = UpstreamUnavailable(
        service=service, problem=problem, **given(retry_after=None if wait is None else round_up(wait))
    )
    return Failure(error, safe_to_retry=wait is not None, wait=wait)


def _redirect(headers: Mapping[str, str]) -> str:
    """Not the address itself: it may carry a signature."""
    try:
        host = urlsplit(headers.get("location", "")).hostname or "another place"
    except ValueError:
        host = "no place"
    return f"it redirects to {host}; only a read is followed, within its own origin and not often"
