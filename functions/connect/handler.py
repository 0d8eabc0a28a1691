"""The door of the pages on which people connect their accounts: an API Gateway event in, a response out."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from connect import connections, login, pages
from connect.request import Request
from connect.response import Response, html_response
from connect.texts import TEXTS
from mcpist.aws.snapshot import prepare
from mcpist.errors import (
    AuthenticationError,
    InternalError,
    Locale,
    McpistError,
    MembershipRequired,
    OrganizationAmbiguous,
)
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import ERRORS

logger = Logger()
prepare(services=("lambda",), modules=("httpx",))

# They print the addresses that they ask.
for _library in ("httpx", "httpcore"):
    logging.getLogger(_library).setLevel(logging.WARNING)

ROUTES: dict[str, Callable[[Request], Response]] = {
    "GET /connect": connections.overview,
    "GET /connect/login": login.finish,
    "GET /connect/{service}": connections.service,
    "POST /connect/{service}": connections.submit_form,
    "GET /connect/callback/{provider}": connections.callback,
    "POST /connect/confirm": connections.confirm,
}


def handler(event: dict[str, Any], context: LambdaContext) -> Response:
    """Answer one request of a browser; whatever fails is a page that says what to do."""
    with invocation.begin("connect", logger, context.aws_request_id):
        return _answer(event, context)


def _answer(event: dict[str, Any], context: LambdaContext) -> Response:
    started = time.monotonic()
    logger.info("request", request=context.aws_request_id, route=event["routeKey"])
    locale: Locale = "en"
    path = "/connect"
    try:
        request = Request.from_event(event)
        locale, path = request.locale, f"/connect/{quote(request.path.get('service', ''), safe='')}".rstrip("/")
        response = ROUTES[request.route](request)
        outcome = "OK"
    except McpistError as error:
        response, outcome = _failure(error, locale, path), error.code
        invocation.count(ERRORS, by=outcome)
    except Exception:
        logger.exception("request failed", request=context.aws_request_id)
        defect = InternalError(request_id=context.aws_request_id)
        response, outcome = _failure(defect, locale, path), defect.code
        invocation.count(ERRORS, by=outcome)
    logger.info(
        "answer",
        request=context.aws_request_id,
        status=response["statusCode"],
        outcome=outcome,
        milliseconds=round((time.monotonic() - started) * 1000),
    )
    return response


def _failure(error: McpistError, locale: Locale, path: str) -> Response:
    texts = TEXTS[locale]
    heading, (text, hint) = texts.failed, error.text(locale)
    actions: Iterable[tuple[str, str]] = [(texts.again, path)]
    match error:
        case OrganizationAmbiguous():
            names, hint = error.details["known"].split(", "), ""
            heading, actions = (
                texts.which_organization,
                [(name, f"{path}?organization={quote(name)}") for name in names],
            )
        case MembershipRequired():
            actions = [(texts.others_login, f"{path}?again=1")]
        case AuthenticationError():
            heading, text, hint = texts.ended, texts.ended_note, ""
    return html_response(pages.message(texts, heading, text, actions, hint=hint), status=error.status)
