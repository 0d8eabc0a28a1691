"""The login's handler: what clients ask for in JSON, and the three steps of a person's browser."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from login import consent, endpoints, pages
from login.metadata import METADATA_PATHS, describe
from mcpist.aws.snapshot import prepare
from mcpist.errors import McpistError, MethodNotAllowed, PageNotFound
from mcpist.http.browser import BrowserRequest
from mcpist.http.front import serve
from mcpist.http.request import HttpResponse, json_response
from mcpist.people import client_logins
from mcpist.people.issuers import ISSUER_CALLBACK_PATH
from mcpist.telemetry.door import Door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# Pages of any origin may log in as a client; no cookie is used here, so there is nothing to steal.
OPEN = {"access-control-allow-origin": "*", "x-content-type-options": "nosniff"}
PREFLIGHT = {
    **OPEN,
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "authorization, content-type, mcp-protocol-version",
    "access-control-max-age": "7200",
}
PUBLISHED = {"cache-control": "public, max-age=300"}
type Answer = Callable[[BrowserRequest], HttpResponse]


def _metadata(request: BrowserRequest) -> HttpResponse:
    return json_response(200, describe(request.public_url), PUBLISHED)


def _keys(_: BrowserRequest) -> HttpResponse:
    return json_response(200, client_logins.published_keys(), PUBLISHED)


FOR_PROGRAMS: dict[str, Answer] = {
    **{f"GET {path}": _metadata for path in METADATA_PATHS},
    "GET /login/jwks.json": _keys,
    "POST /login/token": endpoints.issue,
    "POST /login/register": endpoints.register,
    "POST /login/revoke": endpoints.revoke,
}
FOR_BROWSERS: dict[str, Answer] = {
    "GET /login/authorize": consent.begin,
    f"GET {ISSUER_CALLBACK_PATH}": consent.identify,
    "POST /login/consent": consent.decide,
}


def respond(request: BrowserRequest) -> HttpResponse:
    """Return the response to a request."""
    path = _known(request.path)
    route = f"{request.method} {path}"
    if answer := FOR_BROWSERS.get(route):
        return answer(request)
    if request.method == "OPTIONS" and _methods(path):
        return {"statusCode": 204, "headers": PREFLIGHT, "body": ""}
    if answer := FOR_PROGRAMS.get(route):
        response = answer(request)
        response["headers"] |= OPEN | request.transport_headers
        return response
    if allowed := _methods(path):
        raise MethodNotAllowed(method=request.method, path=request.path, allowed=", ".join(allowed))
    raise PageNotFound(method=request.method, path=request.path)


def refuse(request: BrowserRequest, error: McpistError) -> HttpResponse:
    """Return an error as a page for a browser, and in OAuth's form for a program."""
    if any(route.endswith(f" {_known(request.path)}") for route in FOR_BROWSERS):
        return pages.show_error(request, error)
    text = error.text(request.locale())
    code = "temporarily_unavailable" if error.status >= 500 else "invalid_request"
    return json_response(error.status, {"error": code, "error_description": text.message}, OPEN)


def _known(path: str) -> str:
    """Return the path in the table of routes: the callback has one for each issuer's domain."""
    return ISSUER_CALLBACK_PATH if path.startswith(f"{ISSUER_CALLBACK_PATH}/") else path


def _methods(path: str) -> list[str]:
    return [route.partition(" ")[0] for route in (*FOR_PROGRAMS, *FOR_BROWSERS) if route.partition(" ")[2] == path]


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
        lambda _: respond(request),
        lambda error: refuse(request, error),
        path=request.path,
    )
