"""Sending: the only place that opens a socket for a tool."""

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from mcpist.errors import (
    InvalidRequest,
    McpistError,
    RateLimitExceeded,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
)
from mcpist.tools.call import Answer, Call
from mcpist.tools.module import Module

RETRY_AFTER_SECONDS = 30
MOST_ANSWER_BYTES = 10_000_000
MESSAGE_CHARACTERS = 500

# Where services put their own words, the one for people first.
_WORDS = ("message", "error_description", "errorMessages", "errors", "detail", "error")
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


class Unauthorized(Exception):  # a signal between send and run, not an error of ours
    """The service refused the token; perhaps another process has just refreshed it."""


@cache
def http() -> httpx.Client:
    """The sandbox's one client.

    It follows no redirect, so a token never leaves its module's host, and keeps no cookie, since many callers share it.
    """
    # At INFO and DEBUG these print addresses and headers, which carry arguments and tokens.
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.Client(follow_redirects=False, cookies=no_cookies)


def send(module: Module, call: Call, token: str | None, *, seconds: float = 20.0) -> Answer:
    """Perform one Call at its module's host within some seconds; every failure is a typed error."""
    request = _request(module, call, token, seconds)
    until = time.monotonic() + seconds
    try:
        with closing(http().send(request, stream=True)) as response:
            body = _read(response, module.name, until)
    except httpx.TimeoutException:
        raise Timeout(service=module.name, seconds=seconds) from None
    except httpx.HTTPError as error:
        raise UpstreamUnavailable(service=module.name, problem=f"no answer ({type(error).__name__})") from None
    if response.is_success:
        return Answer(response.status_code, dict(response.headers), _parse(body, response, module.name))
    if response.status_code == httpx.codes.UNAUTHORIZED and token:
        raise Unauthorized
    raise _failure(module.name, response, body)


def _request(module: Module, call: Call, token: str | None, seconds: float) -> httpx.Request:
    headers = httpx.Headers({"user-agent": "mcpist"})
    headers.update(module.headers)
    headers.update(call.headers)
    if token:
        headers["authorization"] = f"Bearer {token}"
    try:
        return http().build_request(
            call.method,
            module.host + call.path,
            params=dict(call.query) or None,
            json=call.json,
            headers=headers,
            timeout=seconds,
        )
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidRequest(field="params", problem=f"no request can be made of them ({error})") from None


def _read(response: httpx.Response, service: str, until: float) -> bytes:
    """The body, in time and not too large: a service that drips a byte now and then keeps no sandbox."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if time.monotonic() > until:
            raise httpx.ReadTimeout("the answer did not end in time")
        if len(body) > MOST_ANSWER_BYTES:
            raise ToolExecutionError(
                service=service,
                http_status=response.status_code,
                problem=f"the answer is larger than {MOST_ANSWER_BYTES} bytes; ask for less",
            )
    return bytes(body)


def _parse(body: bytes, response: httpx.Response, service: str) -> Any:
    if not body:
        return None
    try:
        found = json.loads(body)
        if _HALF_CHARACTER.search(body):  # of a title cut inside an emoji: it could be stored and sent nowhere
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        kind = response.headers.get("content-type", "content without a type")[:MESSAGE_CHARACTERS]
        raise UpstreamUnavailable(service=service, problem=f"it answered {kind} that is no JSON") from None
    return found


def _failure(service: str, response: httpx.Response, body: bytes) -> McpistError:
    status = response.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS or (status == httpx.codes.FORBIDDEN and _is_limit(response, body)):
        return RateLimitExceeded(service=service, retry_after=_retry_after(response.headers))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return UpstreamUnavailable(service=service, problem=f"it answered {status}")
    return ToolExecutionError(service=service, http_status=status, problem=_message(body))


def _is_limit(response: httpx.Response, body: bytes) -> bool:
    """Whether a 403 means a rate limit: GitHub says so in headers, Google by `rateLimitExceeded` in the body."""
    headers = response.headers
    return "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0" or b"ateLimitExceeded" in body


def _retry_after(headers: Mapping[str, str]) -> int:
    """Seconds; services that name none get a fixed wait, GitHub's name the moment of the reset."""
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if re.fullmatch(r"[0-9]{1,6}", after):
        return int(after)
    if headers.get("x-ratelimit-remaining") == "0" and re.fullmatch(r"[0-9]{10}", reset):
        return max(1, int(reset) - int(time.time()))
    return RETRY_AFTER_SECONDS


def _message(body: bytes) -> str:
    """The service's own words, wherever it puts them."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "no readable message"
    return "; ".join(_words(found))[:MESSAGE_CHARACTERS] or "no message"


def _words(found: Any) -> Iterator[str]:
    if not isinstance(found, dict):
        yield found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        return
    if isinstance(found.get("error"), dict):
        found = found["error"]
    said = [found[key] for key in _WORDS if found.get(key)] or [found]
    for words in said:
        yield words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
