"""The console's handler: an API Gateway event in, a page out."""

from typing import TYPE_CHECKING, Any

from snapshot_restore_py import register_before_snapshot

from console import messages, rendering, routes
from mcpist.aws.snapshot import prepare
from mcpist.events import own as own  # it tells of files
from mcpist.http.browser import BrowserRequest
from mcpist.http.front import serve
from mcpist.http.request import HttpResponse
from mcpist.telemetry.door import Door
from mcpist_services.catalogue import upstream_preloads

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DOOR = Door("console", answers_in_time=True)
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=("mcpist.bounded_http.client", "mcpist.running.send", *upstream_preloads()),
)
register_before_snapshot(rendering.compile_all)


def handler(event: dict[str, Any], context: "LambdaContext") -> HttpResponse:
    """Answer one request of a browser; an error is answered with a page that says what to do."""
    request = BrowserRequest(event)
    return serve(
        DOOR,
        request,
        context,
        lambda exchange: routes.respond(request, exchange),
        lambda error: messages.show_error(request, error, context.aws_request_id),
        route=request.route,
    )
