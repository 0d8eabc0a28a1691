"""Refusals: read from a response, and turned into the error that says who must act, in the service's own words.

Seconds to wait are rounded up, so that nobody comes too early.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from mcpist import errors
from mcpist.settings import settings
from mcpist.tools.declare import dialect
from mcpist.tools.declare.call import ServiceResponse, given
from mcpist.tools.declare.dialect import HTTP_STANDARD, Refusal, Refusals

# Where a service limits without saying for how long.
RETRY_AFTER_SECONDS = 30
# The request is not wrong: it came too early or took too long.
_TRANSIENT_STATUSES = {408, 425}
# An overloaded service names the seconds; 529 is not registered, but common.
_OVERLOADED_STATUSES = {503, 529}

MAX_MESSAGE_CHARACTERS = 500
MAX_PHRASES = 20
MIN_SECRET_CHARACTERS = 4

# For people: `title` and `detail` of RFC 9457, `error_description` of OAuth.
_MESSAGE_FIELDS = ("message", "error_description", "title", "detail", "error")
_CODE_FIELDS = ("code",)
_LIST_FIELDS = ("errors",)

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
        case dialect.RateLimited():
            waits = (refusal.retry_after, retry_after(response.headers), rate_limit_reset(response.headers))
            wait = next((seconds for seconds in waits if seconds is not None), None)
            seconds = RETRY_AFTER_SECONDS if wait is None else ceil(wait)
            limited = errors.RateLimitExceeded(service=service, retry_after=seconds, **given(problem=problem or None))
            return Failure(limited, safe_to_retry=wait is not None, wait=wait, path_only=refusal.path_only)
        case dialect.MissingScope():
            scope, url = refusal.scope or _challenged_scope(response.headers), settings().connect_url(service)
            if not scope:
                return Failure(errors.UnnamedScopeMissing(service=service, url=url, problem=problem))
            named = given(problem=problem or None)
            return Failure(errors.ScopeMissing(service=service, scope=scope, url=url, **named))
        case dialect.Unavailable(retry_after=wait):
            problem = f"it answered {response.status}" + (f": {problem}" if problem else "")
            later = given(retry_after=None if wait is None else ceil(wait))
            error = errors.UpstreamUnavailable(service=service, problem=problem, **later)
            return Failure(error, safe_to_retry=wait is not None, wait=wait)
    problem = problem or "no readable message"
    return Failure(errors.ToolExecutionError(service=service, http_status=response.status, problem=problem))


def _http_refusal(response: ServiceResponse) -> Refusal | None:
    """Return the refusal that a status means; None for a success."""
    status, headers = response.status, response.headers
    if 200 <= status < 300:
        return None
    if is_rate_limit(status, headers):
        return dialect.RateLimited()
    if status in {401, 403, 404} and _challenged_scope(headers) is not None:
        return dialect.MissingScope()
    if status == 401:
        return dialect.TokenRefused()
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return dialect.Unavailable(retry_after=retry_after(headers) if status in _OVERLOADED_STATUSES else None)
    return Refusal(problem=_redirect(headers) if 300 <= status < 400 else "")


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


def is_rate_limit(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a response means a limit: some services answer 403 where 429 is the standard."""
    return status == 429 or (status == 403 and ("retry-after" in headers or _remaining(headers) == "0"))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that `Retry-After` names, as a number or as a date; None where there is none."""
    return _seconds(headers.get("retry-after", ""), time.time() if now is None else now)


def rate_limit_reset(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds until the limit of the `RateLimit` headers ends; None where another limit was exceeded."""
    if _remaining(headers) not in {"0", ""}:
        return None
    text = headers.get("ratelimit-reset") or headers.get("x-ratelimit-reset", "")
    return _seconds(text, time.time() if now is None else now)


def _remaining(headers: Mapping[str, str]) -> str:
    return headers.get("ratelimit-remaining") or headers.get("x-ratelimit-remaining", "")


def _seconds(text: str, now: float) -> float | None:
    """Read seconds, seconds since 1970, an HTTP date or an ISO date; a moment in the past is no wait."""
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text):
        return float(text)
    if re.fullmatch(r"[0-9]{10}", text):
        return max(0.0, int(text) - now)
    moment = _parse_date(text)
    return None if moment is None else max(0.0, moment - now)


def _parse_date(text: str) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def error_message(content: Any, secrets: Iterable[str] = (), fields: Refusals = HTTP_STANDARD) -> str:
    """Return one line for people, without secrets that the service repeats; empty where the content says nothing."""
    try:
        phrases = list(dict.fromkeys(islice(_Phrases(fields).of(content), MAX_PHRASES)))
        whole = json.dumps(content, ensure_ascii=False) if content and not phrases else ""
    except RecursionError:
        return ""
    distinct = [phrase for phrase in phrases if not any(phrase != other and phrase in other for other in phrases)]
    line = " ".join(("; ".join(distinct) or whole).splitlines())  # a further one would read as a line of ours
    for secret in secrets:
        if len(secret) >= MIN_SECRET_CHARACTERS:
            line = line.replace(secret, "...")
    return line[:MAX_MESSAGE_CHARACTERS].encode(errors="replace").decode()


class _Phrases:
    """The phrases of an error's JSON, by the usual fields and those of one service."""

    def __init__(self, fields: Refusals) -> None:
        self._messages = _MESSAGE_FIELDS + fields.message_fields
        self._codes = _CODE_FIELDS + fields.code_fields
        self._lists = fields.list_fields + _LIST_FIELDS

    def of(self, content: Any) -> Iterator[str]:
        match content:
            case str():
                yield content
            case list():
                for item in content:
                    yield from self.of(item)
            case {"error": dict() as error}:
                yield from self.of(error)
            case dict():
                yield from self._own(content)
                for name in self._lists:
                    yield from self._listed(content.get(name))

    def _own(self, content: dict[str, Any]) -> Iterator[str]:
        """Yield the object's own phrase: `title: is required (missing_field)`."""
        texts = [content[name] for name in self._messages if isinstance(content.get(name), str) and content[name]]
        code = next((content[name] for name in self._codes if isinstance(content.get(name), str)), "")
        line = "; ".join(texts)
        if code and code not in line:
            line = f"{line} ({code})" if line else code
        field = content.get("field")
        if line:
            yield f"{field}: {line}" if isinstance(field, str) else line

    def _listed(self, problems: Any) -> Iterator[str]:
        if not isinstance(problems, dict):
            yield from self.of(problems)
            return
        for field, problem in problems.items():
            for phrase in self.of(problem):
                yield f"{field}: {phrase}"
