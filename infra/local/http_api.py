"""API Gateway's HTTP API: from requests to events of payload format 2.0, and from results to responses.

Reference: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

import base64
import binascii
import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from infra.local.fair_queue import ApiTurns, TooLate
from infra.local.invocation import InvocationResult, Throttled
from infra.local.lambda_api import MAX_EVENT_BYTES
from infra.local.names import ACCOUNT
from infra.local.server import LoopbackRequest, LoopbackResponse
from infra.local.template import Function, Route, text_of

MAX_API_BODY_BYTES = 10 * 1024 * 1024
INTEGRATION_TIMEOUT_SECONDS = 30.0
API_ID = "local"
# Observed on AWS: forms and requests without a content type arrive as base64.
_TEXT = re.compile(r"text/.+|application/(json|xml|javascript)")
_REMAPPED = frozenset({"www-authenticate", "date", "server", "connection"})


class Invocable(Protocol):
    """Runs the invocations of one function."""

    @property
    def function(self) -> Function:
        """The function of the template."""
        ...

    def invoke(self, event: bytes, arn: str, *, timeout_seconds: float | None = ...) -> InvocationResult:
        """Run one event; raise `Throttled`, or `TimeoutError` after `timeout_seconds`."""
        ...


class HttpApi:
    """Serves the routes of the template; with `turns` no organization makes others wait, unlike on AWS."""

    def __init__(
        self, routes: Sequence[Route], pools: Mapping[str, Invocable], *, domain: str, turns: ApiTurns | None = None
    ) -> None:
        self._routes = [(route, _pattern(route.path)) for route in sorted(routes, key=_precedence)]
        self._pools = pools
        self._domain = domain
        # API Gateway accepts only its domains; here that also prevents DNS rebinding from web pages.
        self._hosts = {domain, "localhost", "127.0.0.1", "::1"}
        self.turns = turns

    def handle(self, request: LoopbackRequest) -> LoopbackResponse:
        """Respond to a request from outside."""
        request_id = str(uuid.uuid4())
        if urlsplit(f"//{request.headers.get('host', '')}").hostname not in self._hosts:
            return _message(403, "Forbidden", request_id)
        path = unquote(request.path)
        found = self._route(request.method, path)
        if found is None:
            return _message(404, "Not Found", request_id)
        route, parameters = found
        if len(request.body) > MAX_API_BODY_BYTES:
            return _message(413, "Request Entity Too Large", request_id)
        # A vendor has no token: its deliveries are those of the source to which they come.
        sender = str(request.headers.get("authorization", "")) or parameters.get("source", "")
        if self.turns is None:
            return self._invoke(request, route, parameters, request_id)
        try:
            with self.turns.turn(sender, INTEGRATION_TIMEOUT_SECONDS):
                response = self._invoke(request, route, parameters, request_id)
        except TooLate:
            return _message(429, "Too Many Requests", request_id)
        self.turns.note(sender, response.status)
        return response

    def _invoke(
        self, request: LoopbackRequest, route: Route, parameters: Mapping[str, str], request_id: str
    ) -> LoopbackResponse:
        content = json.dumps(to_event(request, route, parameters, self._domain, request_id)).encode()
        if len(content) > MAX_EVENT_BYTES:
            return _message(413, "Request Entity Too Large", request_id)
        pool = self._pools[route.function]
        try:
            outcome = pool.invoke(content, pool.function.invoked_arn, timeout_seconds=INTEGRATION_TIMEOUT_SECONDS)
        except (TimeoutError, Throttled):
            return _message(503, "Service Unavailable", request_id)
        return to_response(outcome, request_id)

    def _route(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        for route, pattern in self._routes:
            match = pattern.fullmatch(path)
            if match and route.method in {method, "ANY"} and route.function in self._pools:
                return route, match.groupdict()
        return None


def _pattern(path: str) -> re.Pattern[str]:
    if path == "$default":
        return re.compile(".*", re.DOTALL)
    parts = re.split(r"\{(\w+\+?)\}", path)
    pieces = [
        re.escape(part) if index % 2 == 0 else f"(?P<{part.rstrip('+')}>{'.+' if part.endswith('+') else '[^/]+'})"
        for index, part in enumerate(parts)
    ]
    return re.compile("".join(pieces), re.DOTALL)


def _precedence(route: Route) -> tuple[bool, bool, int, bool]:
    """Sort as API Gateway does: full paths, then `{name}`, then `{proxy+}`, then `$default`; a method before ANY."""
    fixed = len(re.sub(r"\{[^}]+\}", "", route.path))
    return (
        route.path == "$default",
        "+}" in route.path,
        -fixed if "{" in route.path else -100_000,  # before any path with a parameter, however long that is
        route.method == "ANY",
    )


def to_event(
    request: LoopbackRequest, route: Route, parameters: Mapping[str, str], domain: str, request_id: str
) -> dict[str, Any]:
    """Return the event of payload format 2.0, without the fields that API Gateway leaves out."""
    now = time.time()
    headers = _headers(request, domain)
    cookies = [cookie.strip() for cookie in headers.pop("cookie", "").split(";") if cookie.strip()]
    # HTTP APIs decode the path and cut it at a decoded question mark.
    path = unquote(request.path).partition("?")[0]
    text = _TEXT.fullmatch(headers.get("content-type", "").partition(";")[0].strip().lower()) is not None
    made: dict[str, Any] = {"version": "2.0", "routeKey": route.key, "rawPath": path, "rawQueryString": request.query}
    if cookies:
        made["cookies"] = cookies
    made["headers"] = headers
    if request.query:
        made["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    made["requestContext"] = {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "domainName": domain,
        "domainPrefix": domain.partition(".")[0],
        "http": {
            "method": request.method,
            "path": path,
            "protocol": str(request.environ["SERVER_PROTOCOL"]),
            "sourceIp": request.peer,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": request_id,
        "routeKey": route.key,
        "stage": "$default",
        "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now * 1000),
    }
    if parameters:
        made["pathParameters"] = dict(parameters)
    if request.body:
        made["body"] = request.body.decode("utf-8", "replace") if text else base64.b64encode(request.body).decode()
    made["isBase64Encoded"] = bool(request.body) and not text
    return made


def _headers(request: LoopbackRequest, domain: str) -> dict[str, str]:
    """Return headers with lower-case names, joined values and API Gateway's own headers."""
    sent = _joined([(name.lower(), value.strip()) for name, value in request.headers.items()])
    dropped = {"connection", "transfer-encoding", "keep-alive", "te", "upgrade"}
    added = {
        "content-length": str(len(request.body)),
        "x-amzn-trace-id": f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}",
        "x-forwarded-for": ", ".join(filter(None, [sent.get("x-forwarded-for"), request.peer])),
        "x-forwarded-port": str(request.environ["SERVER_PORT"]),
        "x-forwarded-proto": "http",
    }
    kept = {name: value for name, value in sent.items() if name not in dropped}
    return {"host": domain, **kept, **added}


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def to_response(outcome: InvocationResult, request_id: str) -> LoopbackResponse:
    """Return a function's result as an HTTP response."""
    if outcome.error is not None:
        return _message(500, "Internal Server Error", request_id)
    result = json.loads(outcome.payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        return LoopbackResponse(
            200, (("content-type", "application/json"), ("apigw-requestid", request_id)), outcome.payload
        )
    try:
        status, body = int(result["statusCode"]), _body(result)
    except (ValueError, TypeError, binascii.Error):
        return _message(500, "Internal Server Error", request_id)
    given = {str(name).lower(): text_of(value) for name, value in (result.get("headers") or {}).items()}
    headers = {"content-type": "text/plain;charset=UTF-8", **given, "apigw-requestid": request_id}
    renamed = [(f"x-amzn-remapped-{name}" if name in _REMAPPED else name, value) for name, value in headers.items()]
    cookies = [("set-cookie", str(cookie)) for cookie in result.get("cookies") or []]
    return LoopbackResponse(status, (*renamed, *cookies), body)


def _body(result: dict[str, Any]) -> bytes:
    body = result.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise TypeError
    return base64.b64decode(body, validate=True) if result.get("isBase64Encoded") else body.encode()


def _message(status: int, text: str, request_id: str) -> LoopbackResponse:
    headers = (("content-type", "application/json"), ("apigw-requestid", request_id))
    return LoopbackResponse(status, headers, json.dumps({"message": text}).encode())
