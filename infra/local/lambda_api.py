"""Lambda's Invoke API and its runtime API, served from the pools.

References: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html,
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import contextlib
import json
import re
import threading
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from infra.local.invocation import InvocationResult, Sandbox, Throttled
from infra.local.pool import Pool
from infra.local.server import DropConnection, LoopbackRequest, LoopbackResponse

MAX_EVENT_BYTES = 6 * 1024 * 1024
_INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")
_FUNCTION = re.compile(
    r"(?:(?:arn:aws:lambda:[\w-]+:)?(?P<account>\d{12}):(?:function:)?)?(?P<name>[\w-]+)(?::(?P<qualifier>[\w$-]+))?"
)
_JSON = ("content-type", "application/json")


def is_invoke(request: LoopbackRequest) -> bool:
    """Return whether the request is Lambda's Invoke."""
    return request.method == "POST" and _INVOKE.fullmatch(request.path) is not None


class LambdaApi:
    """Invokes functions by name, partial ARN or ARN, with or without a qualifier."""

    def __init__(self, pools: Mapping[str, Pool]) -> None:
        self._pools = {pool.function.name: pool for pool in pools.values()}

    def invoke(self, request: LoopbackRequest) -> LoopbackResponse:
        """Respond to an Invoke request."""
        match = _INVOKE.fullmatch(request.path)
        assert match is not None
        name, qualifier = _named(unquote(match[1]), request.query)
        pool = self._pools.get(name)
        if pool is None or (qualifier is not None and qualifier not in pool.function.qualifiers):
            arn = f"function not found: {name}" + (f":{qualifier}" if qualifier else "")
            return _error(404, "ResourceNotFoundException", arn, Type="User")
        if len(request.body) > MAX_EVENT_BYTES:
            return _error(413, "RequestTooLargeException", f"Request must be smaller than {MAX_EVENT_BYTES} bytes")
        event = request.body or b"{}"
        try:
            json.loads(event)
        except ValueError:
            return _error(400, "InvalidRequestContentException", "Could not parse request body into json")
        arn = f"{pool.function.arn}:{qualifier}" if qualifier else pool.function.arn
        match request.headers.get("x-amz-invocation-type", "RequestResponse"):
            case "Event":
                threading.Thread(target=_run_event, args=(pool, event, arn), daemon=True).start()
                return LoopbackResponse(202, _ids())
            case "DryRun":
                return LoopbackResponse(204, _ids())
        try:
            outcome = pool.invoke(event, arn)
        except Throttled as throttled:
            return _error(429, "TooManyRequestsException", "Rate Exceeded.", Reason=str(throttled))
        return _answer(outcome)


def _run_event(pool: Pool, event: bytes, arn: str) -> None:
    with contextlib.suppress(Throttled):
        pool.invoke(event, arn, queued=True)


def _named(function: str, query: str) -> tuple[str, str | None]:
    match = _FUNCTION.fullmatch(function)
    if match is None:
        return function, None
    return match["name"], match["qualifier"] or parse_qs(query).get("Qualifier", [None])[0]


def _ids() -> tuple[tuple[str, str], ...]:
    return (_JSON, ("x-amzn-RequestId", str(uuid.uuid4())))


def _answer(outcome: InvocationResult) -> LoopbackResponse:
    error = () if outcome.error is None else (("X-Amz-Function-Error", outcome.error),)
    return LoopbackResponse(200, (*_ids(), ("X-Amz-Executed-Version", "1"), *error), outcome.payload)


def _error(status: int, kind: str, message: str, **more: str) -> LoopbackResponse:
    body = json.dumps({"Message": message, "message": message, **more}).encode()
    return LoopbackResponse(status, (*_ids(), ("x-amzn-ErrorType", kind)), body)


class RuntimeApi:
    """The API of a sandbox's runtime: it fetches the next event and posts its result."""

    def __init__(self, sandboxes: Mapping[str, tuple[Sandbox, Pool]]) -> None:
        self._sandboxes = sandboxes

    def handle(self, request: LoopbackRequest, path: str) -> LoopbackResponse:
        """Respond to `{sandbox}/2018-06-01/runtime/...`."""
        id_, _, endpoint = path.partition("/2018-06-01/runtime/")
        found = self._sandboxes.get(id_)
        if found is None:
            return LoopbackResponse(404)
        sandbox, pool = found
        match endpoint.split("/"):
            case ["invocation", "next"]:
                return self._next(sandbox, pool)
            case ["invocation", request_id, "response"]:
                return _accepted(pool.complete(sandbox, request_id, InvocationResult(request.body)))
            case ["invocation", request_id, "error"]:
                return _accepted(pool.complete(sandbox, request_id, InvocationResult(request.body, "Unhandled")))
            case ["init" | "restore", "error"]:
                sandbox.init_error = InvocationResult(request.body, "Unhandled")
                return LoopbackResponse(202)
            case ["restore", "next"]:
                return LoopbackResponse(200)
        return LoopbackResponse(404)

    def _next(self, sandbox: Sandbox, pool: Pool) -> LoopbackResponse:
        invocation = pool.next(sandbox)
        if invocation is None:
            raise DropConnection
        headers = (
            _JSON,
            ("Lambda-Runtime-Aws-Request-Id", invocation.id),
            ("Lambda-Runtime-Deadline-Ms", str(invocation.deadline_ms)),
            ("Lambda-Runtime-Invoked-Function-Arn", invocation.arn),
            ("Lambda-Runtime-Trace-Id", _trace(invocation.id, sampled=pool.function.traced)),
        )
        return LoopbackResponse(200, headers, invocation.event)


def _trace(id_: str, *, sampled: bool) -> str:
    """Return the trace header of an invocation; with tracing every one is sampled."""
    digits = id_.replace("-", "")
    return f"Root=1-{digits[:8]}-{digits[8:]};Parent={digits[:16]};Sampled={int(sampled)}"


def _accepted(accepted: Any) -> LoopbackResponse:
    return LoopbackResponse(202 if accepted else 400)
