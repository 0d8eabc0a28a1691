"""The REST API's handler: an API Gateway event in, an HTTP response out."""

from functools import partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.aws.snapshot import prepare
from mcpist.events import own as own  # it tells of files
from mcpist.http.front import serve_programs
from mcpist.http.request import HttpRequest, HttpResponse
from mcpist.running import approvals
from mcpist.telemetry.door import Door
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE, upstream_preloads
from rest_api import routes

DOOR = Door("rest_api", answers_in_time=True)
MIN_START_SECONDS = 10
"""What a run needs to begin; with less left it begins at the next tick."""
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=(
        *("rest_api.resolver", "rest_api.scim.routes", "mcpist.running.send"),
        *(f"mcpist_services.{name}.tools" for name in NAMES),
        *upstream_preloads(),
    ),
)


def _has_time(context: LambdaContext) -> bool:
    return context.get_remaining_time_in_millis() > MIN_START_SECONDS * 1000


def handler(event: dict[str, Any], context: LambdaContext) -> HttpResponse:
    """Answer one HTTP request; the janitor, which writes no audit row, sends the approvals whose time has ended.

    At night it has the saved batches of an organization checked. Each minute a schedule has automations followed, and
    the function of events has one of them begin.
    """
    if "automation" in event:
        from mcpist.automations import runs

        about = event["organization"], event["automation"], event["event"]
        return DOOR.answer(context, lambda: {"result": {"run": runs.take(*about, CATALOGUE)}})
    if event.get("source") == "aws.events":
        from mcpist.automations import runs

        may_go_on = partial(_has_time, context)
        return DOOR.answer(context, lambda: {"result": runs.tick(CATALOGUE, may_go_on)})
    if "saved_batches" in event:
        from mcpist_services.saved import checking

        organization = event["organization"]
        return DOOR.answer(context, lambda: {"result": {"broken": checking.check_all(organization, CATALOGUE)}})
    if "requestContext" not in event:
        ended = partial(approvals.expire, event["organization"], event["approvals"])
        return DOOR.answer(context, lambda: {"result": ended()})
    request = HttpRequest(event)
    return serve_programs(
        DOOR,
        request,
        context,
        lambda exchange: routes.respond(request, context, exchange),
        lambda error: routes.refuse(request, error, context.aws_request_id),
    )
