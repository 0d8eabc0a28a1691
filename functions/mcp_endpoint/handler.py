"""The door of the MCP endpoint: an API Gateway event in, a response out."""

import base64
import json
import time
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from mcp_endpoint import cors
from mcp_endpoint.authorization import (
    METADATA_PATH,
    authorize,
    challenge,
    locale,
    login_metadata,
    metadata,
)
from mcp_endpoint.exchange import Exchange
from mcp_endpoint.protocol import Protocol
from mcpist.aws.snapshot import prepare
from mcpist.errors import InternalError, McpistError, PayloadTooLarge, RateLimitExceeded
from mcpist.people.quota import request_quota
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import ERRORS
from mcpist_services import NAMES
from mcpist_services.catalogue import upstream_preloads

MAX_BODY_BYTES = 1_000_000
WELL_KNOWN = "/.well-known/"

logger = Logger()
protocol = cache(Protocol)
prepare(
    services=("dynamodb", "lambda", "s3", "stepfunctions"),
    modules=(
        *("mcp_endpoint.batches", "mcp_endpoint.connecting", "mcpist.batch.ledger.progress"),
        *("mcpist.running.send", "toon_format"),
        *(f"mcpist_services.{name}.tools" for name in NAMES),
        *upstream_preloads(),
    ),
)

type Event = dict[str, Any]
type Response = dict[str, Any]


def handler(event: Event, context: LambdaContext) -> Response:
    """Answer one HTTP request; whatever fails is a typed error."""
    with invocation.begin("mcp_endpoint", logger, context.aws_request_id):
        return _answer(event, context)


def _answer(event: Event, context: LambdaContext) -> Response:
    public_url = settings().public_url or f"https://{event['requestContext']['domainName']}"
    headers, started = _headers(event), time.monotonic()
    logger.info("request", request=context.aws_request_id, path=event["rawPath"])
    try:
        response = _route(event, headers, context, public_url)
    except McpistError as error:
        invocation.count(ERRORS, by=error.code)
        extra_headers = challenge(error, public_url) | _retry_after(error)
        response = _json(error.status, {"error": error.as_dict(locale(headers))}, extra_headers)
    except Exception:
        logger.exception("request failed", request=context.aws_request_id)
        defect = InternalError(request_id=context.aws_request_id)
        invocation.count(ERRORS, by=defect.code)
        response = _json(defect.status, {"error": defect.as_dict()})
    response["headers"] |= cors.response_headers(headers)
    logger.info(
        "answer",
        request=context.aws_request_id,
        status=response["statusCode"],
        milliseconds=round((time.monotonic() - started) * 1000),
    )
    return response


def _route(event: Event, headers: dict[str, str], context: LambdaContext, public_url: str) -> Response:
    path, method = event["rawPath"], event["requestContext"]["http"]["method"]
    if method == "OPTIONS" and cors.is_allowed(headers):
        return {"statusCode": 204, "headers": cors.preflight_headers(), "body": ""}
    if path.startswith(WELL_KNOWN):
        return _well_known(path, method, public_url)
    if method != "POST":
        return _json(405, {"error": "only POST is served here"}, {"allow": "POST"})
    body = _body(event)
    organization = (event.get("pathParameters") or {}).get("organization", "")
    exchange = Exchange(
        caller=authorize(headers, public_url, organization),
        request_id=context.aws_request_id,
        deadline=time.monotonic() + context.get_remaining_time_in_millis() / 1000,
    )
    request_quota.count(exchange.caller, time.time())
    server = protocol(public_url, proxy=path.endswith("/categories"))
    status, response_headers, content = server.serve(path, headers, body, exchange)
    return {"statusCode": status, "headers": response_headers, "body": content.decode()}


def _well_known(path: str, method: str, public_url: str) -> Response:
    """Where clients log in, which everybody may know."""
    if method != "GET":
        return _json(405, {"error": "only GET is served here"}, {"allow": "GET"})
    document = metadata(public_url) if path.startswith(METADATA_PATH) else login_metadata(public_url)
    if document is None:
        return _json(404, {"error": "the login describes itself"})
    return _json(200, document, {"cache-control": "public, max-age=300"})


def _retry_after(error: McpistError) -> dict[str, str]:
    """When a client that sends too much may go on."""
    return {"retry-after": str(error.details["retry_after"])} if isinstance(error, RateLimitExceeded) else {}


def _headers(event: Event) -> dict[str, str]:
    """Lower-case names and stripped values; `sam local` sends Title-Case names."""
    return {name.lower(): value.strip() for name, value in event.get("headers", {}).items()}


def _body(event: Event) -> bytes:
    text = event.get("body") or ""
    body = base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()
    if len(body) > MAX_BODY_BYTES:
        raise PayloadTooLarge(size_bytes=len(body), limit_bytes=MAX_BODY_BYTES)
    return body


def _json(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "body": json.dumps(body, ensure_ascii=False),
    }
