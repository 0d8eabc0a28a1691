"""The path of a request through the door: preflight, authorization, quota, the resolver, and errors as JSON."""

import time

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws import cors
from mcpist.aws.http_request import HttpRequest, HttpResponse, json_response
from mcpist.errors import McpistError, MethodNotAllowed, RateLimitExceeded
from mcpist.people.bearer import challenge
from mcpist.people.in_flight import in_flight
from mcpist.people.quota import request_quota
from mcpist.people.refused_requests import refused_requests
from rest_api import body, status
from rest_api.exchange import Exchange, begin, current

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS = ("idempotency-key", "if-match", "if-none-match", "range")
PUBLIC_PATHS = {"/tools/call", "/v1/openapi.json", "/v1/docs", "/v1/organizations"}
CALL_PATH = "/v1/tools/call"


def answer(request: HttpRequest, context: LambdaContext, deadline: float) -> HttpResponse:
    """Answer a request until `deadline` on the monotonic clock."""
    if request.method == "OPTIONS" and cors.is_allowed(request.headers):
        return {"statusCode": 204, "headers": cors.preflight_headers(METHODS, REQUEST_HEADERS), "body": ""}
    from rest_api.resolver import resolve  # a preflight need not wait for it

    exchange = Exchange(request, context.aws_request_id, deadline)
    begin(exchange)
    if request.path in PUBLIC_PATHS:
        return resolve(body.normalized(request), context)
    with refused_requests.audited(exchange.caller, context.aws_request_id):
        request_quota.count(exchange.caller, time.time())
        with in_flight.counted(exchange.caller):
            return resolve(body.normalized(request), context)


def error_response(request: HttpRequest, error: McpistError, request_id: str) -> HttpResponse:
    """Return an error as `{success, error, code, hint, details, request_id}`, with the headers that belong to it."""
    fields = error.as_dict(request.locale())
    content = {
        "success": False,
        "error": fields["message"],
        "code": fields["code"],
        "hint": fields["hint"],
        "details": fields["details"],
        "request_id": request_id,
    }
    if request.path == CALL_PATH:
        content |= {"executionTime": current().elapsed_milliseconds, "timestamp": status.timestamp()}
    headers = challenge(error, request.asked_url)
    if isinstance(error, RateLimitExceeded):
        headers["retry-after"] = str(error.details["retry_after"])
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = error.details["allowed"]
    return json_response(error.status, content, headers)
