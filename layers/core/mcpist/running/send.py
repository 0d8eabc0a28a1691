"""Sending: the only place that opens a socket for a tool."""

import json
import logging
import re
import time
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from typing import Any

import httpx

from mcpist.errors import InvalidRequest, RateLimitExceeded, Timeout, ToolExecutionError, UpstreamUnavailable
from mcpist.running.account import Account
from mcpist.running.error_messages import MAX_MESSAGE_CHARACTERS, parse_json
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.running.rate_limits import Key, cooldowns, round_up
from mcpist.running.refusals import Failure, failure, read_refusal
from mcpist.telemetry.tracing import span
from mcpist.tools.call import Call, CallResponse
from mcpist.tools.refusal import TokenRefused

MAX_RESPONSE_BYTES = 10_000_000
MAX_REDIRECTS = 3
HTTP_CONNECT_TIMEOUT_SECONDS = 5.0
MIN_TIMEOUT_SECONDS = 0.001  # a socket takes 0 for "do not wait at all"

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# With these the service has not heard of the request.
_NOT_SENT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Unauthorized(Exception):  # a signal between send and run, not an error of ours
    """The service refused the token, in these words; perhaps another process has just refreshed it."""


@cache
def http() -> httpx.Client:
    """The sandbox's one client.

    It follows no redirect itself, so a token never leaves its host, and keeps no cookie, since many callers share it.
    """
    # At INFO and DEBUG these print addresses and headers, which carry arguments and tokens.
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.Client(follow_redirects=False, cookies=no_cookies)


def send(
    account: Account, call: Call, *, deadline: float, options: RunOptions = DEFAULT_OPTIONS, reads: bool = False
) -> CallResponse:
    """Perform one Call before a moment on the monotonic clock; every failure is a typed error.

    As often as the options say, it is sent again: after a failure that changed nothing, and for a tool that `reads`
    after any that may pass.
    """
    for retries in count():
        outcome = _attempt(account, call, min(deadline, time.monotonic() + options.timeout))
        if isinstance(outcome, CallResponse):
            return outcome
        error = outcome.error
        if error.retryable and not (reads or outcome.safe_to_retry):
            error.details["may_have_happened"] = True
        pause = options.backoff(retries) if outcome.wait is None else outcome.wait
        again = retries < options.retry and (outcome.safe_to_retry or (reads and error.retryable))
        if not again or time.monotonic() + pause >= deadline:
            raise error
        time.sleep(pause)
    raise AssertionError


def _attempt(account: Account, call: Call, deadline: float) -> CallResponse | Failure:
    """One request, unless its time is over or the service has asked for none."""
    service, seconds = account.module.name, deadline - time.monotonic()
    held = cooldowns.remaining(*_cooldown_keys(account, call))
    if held:
        return Failure(RateLimitExceeded(service=service, retry_after=round_up(held)), safe_to_retry=True, wait=held)
    if seconds <= 0:
        return Failure(Timeout(service=service, seconds=0), safe_to_retry=True)
    request = _request(account, call, deadline)
    try:
        with span("upstream", service=service):
            response, body = _exchange(request, service, deadline)
    except httpx.LocalProtocolError:
        raise InvalidRequest(field="params", problem="no request can be made of them") from None
    except httpx.TimeoutException as error:
        return Failure(
            Timeout(service=service, seconds=round(seconds, 1)), safe_to_retry=isinstance(error, _NOT_SENT_ERRORS)
        )
    except httpx.HTTPError as error:
        problem = f"no answer ({type(error).__name__})"
        return Failure(
            UpstreamUnavailable(service=service, problem=problem), safe_to_retry=isinstance(error, _NOT_SENT_ERRORS)
        )
    return _outcome(account, call, response, body)


def _outcome(account: Account, call: Call, response: httpx.Response, body: bytes) -> CallResponse | Failure:
    service, status, headers = account.module.name, response.status_code, dict(response.headers)
    if status == httpx.codes.NOT_MODIFIED and "if-none-match" in call.headers:
        return CallResponse(status, headers, None)
    try:
        content = _parse(body, response, service) if response.is_success else parse_json(body)
    except UpstreamUnavailable as error:
        return Failure(error)
    answer, refusals = CallResponse(status, headers, content), account.module.refusals
    refusal = read_refusal(answer, refusals)
    if refusal is None:
        return answer
    failed = failure(service, answer, refusal, account.secrets(call), refusals)
    if isinstance(refusal, TokenRefused) and account.token(call):
        raise Unauthorized(failed.error.details["problem"])
    if failed.wait:
        wide, narrow = _cooldown_keys(account, call)
        cooldowns.start(narrow if failed.path_only else wide, failed.wait)
    return failed


def _cooldown_keys(account: Account, call: Call) -> tuple[Key, Key]:
    """The names of an account at an origin, and of one path there."""
    wide = (*account.key, call.origin)
    return wide, (*wide, call.path)


def _request(account: Account, call: Call, deadline: float) -> httpx.Request:
    url = account.url(call)
    try:
        headers = httpx.Headers({"user-agent": "mcpist", **account.headers(call)})
    except ValueError:  # its text quotes the header
        raise InvalidRequest(field="params", problem="no headers can be made of them") from None
    try:
        return http().build_request(
            call.method,
            url,
            params=dict(call.query) or None,
            json=call.json,
            headers=headers,
            extensions=_shrinking_timeouts(deadline),
        )
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidRequest(field="params", problem=f"no request can be made of them ({error})") from None


def _shrinking_timeouts(deadline: float) -> dict[str, Any]:
    """Timeouts that shrink: httpx bounds each phase of a request by its own, and their sum must end in time."""
    left = max(deadline - time.monotonic(), MIN_TIMEOUT_SECONDS)
    timeouts = {"connect": min(left, HTTP_CONNECT_TIMEOUT_SECONDS), "pool": left, "read": left, "write": left}

    def cut(event: str, _: Mapping[str, Any]) -> None:
        if event.endswith(".started"):
            timeouts["read"] = timeouts["write"] = max(deadline - time.monotonic(), MIN_TIMEOUT_SECONDS)

    return {"timeout": timeouts, "trace": cut}


def _exchange(request: httpx.Request, service: str, deadline: float) -> tuple[httpx.Response, bytes]:
    """The last answer of a request and of the redirects that may be followed: reads, within one origin."""
    for redirects in count():
        with closing(http().send(request, stream=True)) as response:
            following = response.next_request
            own = following is not None and request.method == "GET" and _origin(following.url) == _origin(request.url)
            if following is None or not own or redirects == MAX_REDIRECTS:
                return response, _read(response, service, deadline)
        request = following
    raise AssertionError


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _read(response: httpx.Response, service: str, deadline: float) -> bytes:
    """The body, in time and not too large: a service that drips a byte now and then keeps no sandbox."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer did not end in time")
        if len(body) > MAX_RESPONSE_BYTES:
            raise ToolExecutionError(
                service=service,
                http_status=response.status_code,
                problem=f"the answer is larger than {MAX_RESPONSE_BYTES} bytes; ask for less",
            )
    return bytes(body)


def _parse(body: bytes, response: httpx.Response, service: str) -> Any:
    """The JSON of a success; one that answers a read with a page of HTML, or with nothing at all, is none."""
    if not body:
        if response.request.method == "GET" and response.status_code == httpx.codes.OK:
            raise UpstreamUnavailable(service=service, problem="its answer is empty")
        return None
    try:
        found = json.loads(body)
        if _SURROGATE_ESCAPE.search(body):  # of a title cut inside an emoji: it could be stored and sent nowhere
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        kind = response.headers.get("content-type", "content without a type")[:MAX_MESSAGE_CHARACTERS]
        raise UpstreamUnavailable(service=service, problem=f"it answered {kind} that is no JSON") from None
    return found
