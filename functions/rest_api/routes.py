"""The path of a request through the door: preflight, authorization, quota, the resolver, and errors as JSON."""

import binascii
import json
from contextlib import suppress
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.errors import InvalidRequest, McpistError, OriginNotAllowed, UnsupportedMediaType
from mcpist.http.front import Exchange, error_headers, limited
from mcpist.http.request import HttpRequest, HttpResponse, json_response, preflight_response
from mcpist.spending import spending
from mcpist.strict_json import load_json
from rest_api.exchange import RestExchange, begin, current, timestamp
from rest_api.idempotency import respond_once
from rest_api.negotiation import negotiated, negotiated_error, without_body

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST_HEADERS = ("idempotency-key", "if-match", "if-none-match", "range")
PUBLIC_PATHS = {"/tools/call", "/v1/openapi.json", "/v1/docs", "/v1/organizations"}
CALL_PATH = "/v1/tools/call"
MAX_BODY_BYTES = 1_000_000
MAX_DESCRIPTION_BYTES = 4_500_000  # of an API, in an event of at most 6 MB
JSON_TYPE = "application/json"
JSON_LINES_TYPES = ("application/jsonl", "application/x-ndjson")
SCIM_PATHS = "/scim/"
BATCHES_PATH = "/v1/batches"
MODULES_PATH = "/v1/modules"
TRUE_WORDS = {"true", "1", "yes", "on", "t", "y"}  # as pydantic reads a query's boolean


def respond(request: HttpRequest, context: LambdaContext, arrived: Exchange) -> HttpResponse:
    """Return the response to a request."""
    if request.path.startswith(SCIM_PATHS):
        from rest_api.scim import routes as scim

        return scim.respond(request, arrived)
    if preflight := preflight_response(request, METHODS, REQUEST_HEADERS):
        return preflight
    if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
        raise OriginNotAllowed(origin=request.headers.get("origin", ""))
    if request.method == "HEAD":
        return without_body(respond(_as_get(request), context, arrived))
    from rest_api.resolver import check_route, resolve  # a preflight need not wait for them

    exchange = RestExchange(arrived.request_id, arrived.deadline, request)
    begin(exchange)
    if request.path in PUBLIC_PATHS:
        check_route(request)
        return negotiated(exchange, resolve(_normalized(request), context))
    with limited(exchange.caller, exchange.request_id):
        check_route(request)
        event = _normalized(request)
        response = respond_once(exchange, event, lambda: resolve(event, context))
    spending.add(exchange.caller.organization, "bytes", len(response.get("body") or ""))
    return negotiated(exchange, response)


def refuse(request: HttpRequest, error: McpistError, request_id: str) -> HttpResponse:
    """Return an error as `{success, error, code, hint, details, request_id}`."""
    if request.path.startswith(SCIM_PATHS):
        from rest_api.scim import routes as scim

        return scim.refuse(request, error)
    if error.details.get("may_have_happened") and _changes_nothing(request):
        error.details = {name: value for name, value in error.details.items() if name != "may_have_happened"}
    fields = error.as_dict(request.locale())
    content = {"success": False, "error": fields.pop("message"), **fields, "request_id": request_id}
    if request.path == CALL_PATH:
        content |= {"executionTime": current().elapsed_milliseconds, "timestamp": timestamp()}
    return negotiated_error(request, json_response(error.status, content, error_headers(request, error)))


def _as_get(request: HttpRequest) -> HttpRequest:
    """Return a HEAD request as the GET whose headers answer it."""
    context = request.event["requestContext"]
    return HttpRequest({**request.event, "requestContext": {**context, "http": {**context["http"], "method": "GET"}}})


def _changes_nothing(request: HttpRequest) -> bool:
    """Whether a request only reads, or is a dry run: one that timed out can be sent again."""
    if request.method in {"GET", "HEAD"} or request.query.get("dryRun", "").lower() in TRUE_WORDS:
        return True
    with suppress(McpistError, ValueError, RecursionError):
        body = load_json(request.body(MAX_BODY_BYTES).decode())
        return isinstance(body, dict) and True in {body.get("dryRun") is True, body.get("dry_run") is True}
    return False


def _normalized(request: HttpRequest) -> dict[str, Any]:
    """Return the event with its body as JSON text, in UTF-8; JSON Lines are the commands of a batch."""
    event = dict(request.event) | {"isBase64Encoded": False}
    try:
        limit = MAX_DESCRIPTION_BYTES if request.path == MODULES_PATH else MAX_BODY_BYTES
        content = request.body(limit).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidRequest(field="body", problem="it is not text in UTF-8") from None
    if not content:
        return event | {"body": ""}
    media_type = request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower()
    if media_type in JSON_LINES_TYPES and request.path == BATCHES_PATH:
        content = json.dumps({"commands": content})
    elif media_type != JSON_TYPE:
        raise UnsupportedMediaType(media_type=media_type)
    _check(content)
    headers = {name: value for name, value in request.headers.items() if name != "content-type"}
    return event | {"body": content, "headers": headers | {"content-type": JSON_TYPE}}


def _check(content: str) -> None:
    """Refuse text that is not JSON, and numbers that JSON does not have."""
    try:
        value = load_json(content)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(field="body", problem="it has half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else f"it is not JSON ({error})"
        raise InvalidRequest(field="body", problem=problem) from None
    if not isinstance(value, dict):
        raise InvalidRequest(field="body", problem="it is not a JSON object")
