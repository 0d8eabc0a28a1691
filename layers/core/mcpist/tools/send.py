"""Sending: the only place that opens a socket for a tool."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode

import httpx

from mcpist.errors import (
    McpistError,
    RateLimitExceeded,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
)
from mcpist.tools.call import Answer, Call
from mcpist.tools.module import Module

TIMEOUT_SECONDS = 20.0
RETRY_AFTER_SECONDS = 30
MOST_ANSWER_BYTES = 10_000_000
MESSAGE_CHARACTERS = 500


class Unauthorized(Exception):  # a signal between send and run, not an error of ours
    """The service refused the token; perhaps another process has just refreshed it."""


@cache
def http() -> httpx.Client:
    """The sandbox's one client; it follows no redirect, so a token never leaves its module's host."""
    return httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False)


def send(module: Module, call: Call, token: str | None) -> Answer:
    """Perform one Call at its module's host; every failure is a typed error."""
    headers = {"user-agent": "mcpist", **module.headers, **call.headers}
    if token:
        headers["authorization"] = f"Bearer {token}"
    url = module.host + call.path + (f"?{urlencode(call.query, doseq=True)}" if call.query else "")
    try:
        with http().stream(call.method, url, json=call.json, headers=headers) as response:
            body = _read(response, module.name)
    except httpx.TimeoutException:
        raise Timeout(service=module.name, seconds=TIMEOUT_SECONDS) from None
    except httpx.HTTPError as error:
        raise UpstreamUnavailable(service=module.name, problem=type(error).__name__) from None
    if response.is_success:
        return Answer(response.status_code, dict(response.headers), _parse(body, response, module.name))
    if response.status_code == httpx.codes.UNAUTHORIZED and token:
        raise Unauthorized
    raise _failure(module.name, response, body)


def _read(response: httpx.Response, service: str) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
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
        return json.loads(body)
    except ValueError:
        kind = response.headers.get("content-type", "no content type")
        raise UpstreamUnavailable(service=service, problem=f"it answered {kind} instead of JSON") from None


def _failure(service: str, response: httpx.Response, body: bytes) -> McpistError:
    status, headers = response.status_code, response.headers
    limited = status == httpx.codes.FORBIDDEN and (
        "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    )
    if status == httpx.codes.TOO_MANY_REQUESTS or limited:
        return RateLimitExceeded(service=service, retry_after=_retry_after(headers))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return UpstreamUnavailable(service=service, problem=f"it answered {status}")
    return ToolExecutionError(service=service, http_status=status, problem=_message(body))


def _retry_after(headers: Mapping[str, str]) -> int:
    """Seconds; services that name none get a fixed wait."""
    value = headers.get("retry-after", "")
    return int(value) if value.isdecimal() else RETRY_AFTER_SECONDS


def _message(body: bytes) -> str:
    """The service's own words, wherever it puts them."""
    try:
        found = json.loads(body)
    except ValueError:
        return "no readable message"
    for key in ("message", "error_description", "errorMessages", "error"):
        if isinstance(found, dict) and found.get(key):
            value = found[key]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return text[:MESSAGE_CHARACTERS]
    return json.dumps(found, ensure_ascii=False)[:MESSAGE_CHARACTERS]
