"""The MCP endpoint's handler: an API Gateway event in, an HTTP response out."""

from typing import TYPE_CHECKING, Any

from mcp_endpoint import routes
from mcpist.aws.snapshot import prepare
from mcpist.events import own as own  # it tells of files
from mcpist.http.front import serve_programs
from mcpist.http.request import HttpRequest, HttpResponse
from mcpist.telemetry.door import Door
from mcpist_services import NAMES
from mcpist_services.catalogue import preloads

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DOOR = Door("mcp_endpoint", answers_in_time=True)
prepare(
    services=("lambda", "s3", "stepfunctions"),
    modules=(
        *("mcp_endpoint.batch", "mcp_endpoint.elicitation", "mcpist.batch.ledger.progress"),
        "mcpist.running.send",
        *(f"mcpist_services.{name}.tools" for name in NAMES),
        *preloads(),
    ),
)


def handler(event: dict[str, Any], context: "LambdaContext") -> HttpResponse:
    """Answer one HTTP request; errors outside of MCP are answered as JSON."""
    request = HttpRequest(event)
    return serve_programs(
        DOOR,
        request,
        context,
        lambda exchange: routes.respond(request, exchange),
        lambda error: routes.refuse(request, error),
    )
