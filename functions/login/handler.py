"""The login's handler: an API Gateway event in, a page or an OAuth response out."""

from typing import TYPE_CHECKING, Any

from login import routes
from mcpist.aws.snapshot import prepare
from mcpist.http.browser import BrowserRequest
from mcpist.http.front import serve
from mcpist.http.request import HttpResponse
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# What it logs of an unexpected exception must not quote a code or a token.
DOOR = Door("login", answers_in_time=True, logs_messages=False)
prepare(services=("kms", "ssm"), modules=("jinja2", "mcpist.bounded_http.client"))


def handler(event: dict[str, Any], context: "LambdaContext") -> HttpResponse:
    """Answer one request of a client or of a person's browser."""
    request = BrowserRequest(event)
    return serve(
        DOOR,
        request,
        context,
        lambda _: routes.respond(request),
        lambda error: routes.refuse(request, error),
        path=request.path,
    )
