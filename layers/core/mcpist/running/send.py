"""Sending: one Call to its service, again where that is allowed, and every failure as a typed error."""

import json
import re
import time
from functools import cache, partial
from itertools import count
from math import ceil
from typing import Any
from urllib.parse import unquote

from mcpist.bounded_http.client import MAX_REDIRECTS, ExchangeResponse, HttpClient, origin, parse_json, redirect_url
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout, ResponseTooLarge, UnsendableRequest
from mcpist.bounded_http.request import FormField, multipart_body
from mcpist.errors import InvalidRequest, RateLimitExceeded, Timeout, ToolExecutionError, UpstreamUnavailable
from mcpist.files.content import MAX_CONTENT_BYTES, FileContent
from mcpist.memory import Memory
from mcpist.running.accounts import Account
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.running.refusals import MAX_MESSAGE_CHARACTERS, Failure, failure, read_refusal
from mcpist.spending import spending
from mcpist.telemetry import invocation
from mcpist.telemetry.tracing import span
from mcpist.tools.declare.call import Call, FilePart, NewPassword, ServiceResponse
from mcpist.tools.declare.dialect import TokenRefused

MAX_RESPONSE_BYTES = 10_000_000
HTTP_CONNECT_TIMEOUT_SECONDS = 5.0
MAX_COOLDOWN_SECONDS = 3600.0  # a service that names more is asked again after it
MAX_COOLDOWNS = 1_000
PASSWORD_BYTES = 32
# A sleep and the clock may differ by this much.
CLOCK_TOLERANCE_SECONDS = 0.1

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

type Key = tuple[str, ...]


class Unauthorized(Exception):  # a signal between send and run, not an error of ours
    """The service refused the token, with this message; another process may just have refreshed it."""


class Cooldowns(Memory[Key, float]):
    """Per service and account: when the next request may be sent, in seconds since 1970."""

    def start(self, key: Key, seconds: float) -> None:
        """Let nothing be sent for some seconds."""
        self.put(key, self.clock() + seconds)

    def remaining(self, *keys: Key) -> float:
        """Return the seconds that are left of the longest of these cooldowns; 0 where there is none."""
        if not len(self):  # as for most calls, which need wait for no lock
            return 0.0
        now = self.clock()
        left = max(self.get(key) or now for key in keys) - now
        return min(left, self.seconds) if left > CLOCK_TOLERANCE_SECONDS else 0.0


cooldowns = Cooldowns(MAX_COOLDOWN_SECONDS, MAX_COOLDOWNS)


@cache
def http() -> HttpClient:
    """Return the sandbox's one client; it follows no redirect itself, so a token never leaves its host."""
    return HttpClient(max_bytes=MAX_RESPONSE_BYTES, connect_seconds=HTTP_CONNECT_TIMEOUT_SECONDS)


def send_call(
    account: Account, call: Call, *, deadline: float, options: RunOptions = DEFAULT_OPTIONS, reads: bool = False
) -> ServiceResponse:
    """Perform one Call before a moment on the monotonic clock; every failure is a typed error.

    It is retried as often as the options say: after a failure that changed nothing and, for a tool that `reads`, after
    any failure that may be temporary.
    """
    for retries in count():
        outcome = _attempt(account, call, min(deadline, time.monotonic() + options.timeout))
        if isinstance(outcome, ServiceResponse):
            return outcome
        error = outcome.error
        # A request of a tool that writes may have arrived although no answer came.
        if (error.retryable or outcome.is_done) and not (reads or outcome.safe_to_retry):
            error.details["may_have_happened"] = True
        pause = options.backoff(retries) if outcome.wait is None else outcome.wait
        again = retries < options.retry and (outcome.safe_to_retry or (reads and error.retryable))
        if not again or time.monotonic() + pause >= deadline:
            raise error
        time.sleep(pause)
    raise AssertionError


def _attempt(account: Account, call: Call, deadline: float) -> ServiceResponse | Failure:
    """Send one request, unless its time is over or the service wants none now."""
    service, seconds = account.module.name, deadline - time.monotonic()
    max_bytes = MAX_CONTENT_BYTES if call.download else MAX_RESPONSE_BYTES
    held = cooldowns.remaining(*_cooldown_keys(account, call))
    if held:
        return Failure(RateLimitExceeded(service=service, retry_after=ceil(held)), safe_to_retry=True, wait=held)
    if seconds <= 0:
        return Failure(Timeout(service=service, seconds=0), safe_to_retry=True)
    try:
        with span("upstream", service=service):
            response = _exchange(account, call, deadline, max_bytes)
    except UnsendableRequest as error:
        raise InvalidRequest(field="params", problem=f"no request can be made of them ({error.reason})") from None
    except ResponseTooLarge as error:
        problem = f"the answer is larger than {max_bytes} bytes; ask for less"
        refused = ToolExecutionError(service=service, http_status=error.status, problem=problem)
        return Failure(refused, is_done=200 <= error.status < 300)
    except ExchangeTimeout as error:
        return Failure(Timeout(service=service, seconds=round(seconds, 1)), safe_to_retry=not error.sent)
    except ExchangeFailed as error:
        return Failure(UpstreamUnavailable(service=service, problem=str(error)), safe_to_retry=not error.sent)
    return _outcome(account, call, response)


def _exchange(account: Account, call: Call, deadline: float, max_bytes: int) -> ExchangeResponse:
    """Return the last response of a request and of the redirects that may be followed.

    These are those of reads within one origin, and from there the one of a download to any other: without a header.
    """
    url, query = account.url(call), account.query(call)
    body = request_body(call)
    # No header of the client's own is passed on, but the service may continue the trace.
    traceparent = invocation.traceparent()
    trace = {"traceparent": traceparent} if traceparent else {}
    body["headers"] = body.get("headers", {}) | account.headers(call) | trace
    body["on_send"] = partial(spending.add, account.organization, "bytes")
    for redirects in count():
        response = http().exchange(call.method, url, deadline=deadline, query=query, max_bytes=max_bytes, **body)
        target = redirect_url(url, response) if call.method == "GET" and redirects < MAX_REDIRECTS else None
        if target is None:
            return response
        if origin(target) != origin(url):
            return _fetch(target, deadline, max_bytes) if call.download else response
        url, query = target, {}
    raise AssertionError


def _fetch(url: str, deadline: float, max_bytes: int) -> ExchangeResponse:
    """Return the response of an address that a service has signed; nothing of the account is sent there."""
    response = http().exchange("GET", url, deadline=deadline, max_bytes=max_bytes)
    if response.status != 200:
        raise ExchangeFailed(f"the address of the download answers {response.status}")
    return response


def _outcome(account: Account, call: Call, response: ExchangeResponse) -> ServiceResponse | Failure:
    service, status, headers = account.module.name, response.status, response.headers
    if status == 304 and (
        "if-none-match" in call.headers or call.method != "GET"
    ):  # a write: nothing was left to change
        return ServiceResponse(status, headers, None)
    try:
        content = _parse(call, response, service) if 200 <= status < 300 else parse_json(response.body)
    except UpstreamUnavailable as error:
        return Failure(error)
    downloaded = content if isinstance(content, FileContent) else None
    answer = ServiceResponse(status, headers, None if downloaded else content, downloaded)
    refusals = account.module.refusals
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
    """Return the keys of an account at an origin, and of one path there."""
    wide = (*account.key, call.origin)
    return wide, (*wide, call.path)


def _parse(call: Call, response: ExchangeResponse, service: str) -> Any:
    """Return the JSON of a success, or the content of a download.

    A read that is answered with a page of HTML, or with nothing at all, is none.
    """
    body = response.body
    if call.download:
        return FileContent(body, response.headers.get("content-type", ""), unquote(call.path))
    if not body:
        if call.method == "GET" and response.status == 200:
            raise UpstreamUnavailable(service=service, problem="its answer is empty")
        return None
    try:
        content = json.loads(body)
        if _SURROGATE_ESCAPE.search(body):  # half an emoji of a title that was cut: it could be neither stored nor sent
            content = json.loads(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        if call.text:
            return body.decode(errors="replace")
        kind = response.headers.get("content-type", "content without a type")[:MAX_MESSAGE_CHARACTERS]
        raise UpstreamUnavailable(service=service, problem=f"it answered {kind} that is no JSON") from None
    return content


def request_body(call: Call) -> dict[str, Any]:
    """Return the body as the client's `exchange` takes it, with the header of its type where the client knows none."""
    if call.multipart is not None:
        lists = {name: [one] if isinstance(one, str | FilePart) else one for name, one in call.multipart.items()}
        kind, content = multipart_body(_field(name, part) for name, parts in lists.items() for part in parts)
        return {"content": content, "headers": {"content-type": kind}}
    if call.content is not None:
        return {"content": call.content.content, "headers": {"content-type": call.content.content_type}}
    return {"json": _with_passwords(call.json), "form": call.form}


def _with_passwords(body: Any) -> Any:
    """Return a body with a random password in each field that wants a new one."""
    if not isinstance(body, dict) or not any(isinstance(value, NewPassword) for value in body.values()):
        return body
    import secrets  # few requests wait for it

    return {
        name: secrets.token_urlsafe(PASSWORD_BYTES) if isinstance(value, NewPassword) else value
        for name, value in body.items()
    }


def _field(name: str, part: str | FilePart) -> FormField:
    if isinstance(part, str):
        return FormField(name, part.encode(errors="replace"))
    return FormField(name, part.content.content, part.filename, part.content.content_type)
