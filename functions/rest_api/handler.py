"""The REST API's handler: an API Gateway event in, an HTTP response out."""

import time
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws.snapshot import prepare
from mcpist.http import request as cors
from mcpist.http.request import HttpRequest, HttpResponse
from mcpist.telemetry.door import Door
from mcpist_services import NAMES
from mcpist_services.catalogue import upstream_preloads
from rest_api import routes

DOOR = Door("rest_api", answers_in_time=True)
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=(
        *("rest_api.resolver", "mcpist.running.send"),
        *(f"mcpist_services.{name}.tools" for name in NAMES),
        *upstream_preloads(),
    ),
)


def handler(event: dict[str, Any], context: LambdaContext) -> HttpResponse:
    """Answer one HTTP request."""
    request = HttpRequest(event)
    deadline = time.monotonic() + context.get_remaining_time_in_millis() / 1000
    response = DOOR.answer(
        context,
        lambda: routes.answer(request, context, deadline),
        lambda error: routes.error_response(request, error, context.aws_request_id),
        traceparent=request.traceparent,
        path=request.path,
    )
    response["headers"] |= cors.response_headers(request.headers) | request.transport_headers
    return response
