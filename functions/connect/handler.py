"""The handler of the pages on which people connect their accounts: an API Gateway event in, a page out."""

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from connect import connections, error_page, login
from connect.request import Request
from mcpist.aws.http_request import HttpResponse
from mcpist.aws.snapshot import prepare
from mcpist.telemetry.door import Door

ROUTES: dict[str, Callable[[Request], HttpResponse]] = {
    "GET /connect": connections.overview,
    "GET /connect/login": login.finish,
    "GET /connect/{service}": connections.service,
    "POST /connect/{service}": connections.submit_form,
    "GET /connect/callback/{provider}": connections.callback,
    "POST /connect/confirm": connections.confirm,
}

DOOR = Door("connect", answers_in_time=True)
prepare(services=("lambda",), modules=("mcpist.bounded_http.client",))


def handler(event: dict[str, Any], context: LambdaContext) -> HttpResponse:
    """Answer one request of a browser; an error is answered with a page that says what to do."""
    request = Request(event)
    return DOOR.answer(
        context,
        lambda: ROUTES[request.route](request),
        lambda error: error_page.respond(request, error),
        route=request.route,
    )
