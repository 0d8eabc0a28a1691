"""The resolver of powertools: the routers of all rooms, and errors that leave it as they are."""

import json
from typing import Any, NoReturn

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route, Router
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.typing import LambdaContext

from mcpist.errors import InvalidRequest, MethodNotAllowed, RouteNotFound
from mcpist.http.request import HttpRequest, HttpResponse
from mcpist.validation import field_path
from rest_api import approvals, batches, connections, events, files, page, why
from rest_api.administration import ROUTERS as ADMINISTRATION
from rest_api.exchange import current
from rest_api.tools import calling, listing

ROUTERS: tuple[Router, ...] = (
    page.router,
    listing.router,
    calling.router,
    why.router,
    batches.router,
    events.router,
    approvals.router,
    files.router,
    connections.router,
    *ADMINISTRATION,
)
"""A room's router; routes that are tried first come first."""


def build() -> APIGatewayHttpResolver:
    """Return the resolver with all routes; its responses are checked against their models, too."""
    app = APIGatewayHttpResolver(enable_validation=True, serializer=_serialize)
    for router in ROUTERS:
        app.include_router(router)
    app.use(middlewares=[_refuse_unknown_parameters])
    app.exception_handler(RequestValidationError)(_refuse_request)
    app.exception_handler(Exception)(_pass_on)
    return app


def resolve(event: dict[str, Any], context: LambdaContext) -> HttpResponse:
    """Return the response of the route that an event names; errors are raised."""
    response = RESOLVER.resolve(event, context)
    headers = {name.lower(): ", ".join(values) for name, values in response.pop("multiValueHeaders", {}).items()}
    return response | {"headers": headers | {name.lower(): value for name, value in response["headers"].items()}}


def routes() -> list[Route]:
    """Return all routes."""
    return [*RESOLVER._static_routes, *RESOLVER._dynamic_routes]  # noqa: SLF001 - powertools lists its routes nowhere else


def _refuse_unknown_parameters(app: APIGatewayHttpResolver, respond: NextMiddleware) -> Response[Any]:
    """Refuse a parameter that the operation does not have, which would otherwise be a filter without effect."""
    route: Route = app.context["_route"]
    if not route.include_in_schema:
        return respond(app)
    known = [str(one.alias) for one in route.dependant.query_params]
    for name in current().request.query:
        if name not in known:
            raise InvalidRequest(field=name, problem=f"there is no such parameter ({', '.join(known) or 'none'})")
    return respond(app)


def _serialize(value: Any) -> str:
    """Return JSON that can be encoded, also where a service's text has half of a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode()


def _pass_on(error: Exception) -> NoReturn:
    """Raise an error for the frame around the handler, which counts and logs it."""
    raise error


def check_route(request: HttpRequest) -> None:
    """Raise RouteNotFound or MethodNotAllowed unless a route answers a request; a whole path comes before `<name>`."""
    found = [route for route in routes() if route.rule.match(request.path)]
    allowed = {route.method for route in found if route.path == request.path} or {route.method for route in found}
    if not allowed:
        raise RouteNotFound(method=request.method, path=request.path)
    if request.method not in allowed:
        allowed |= {"HEAD"} if "GET" in allowed else set()
        raise MethodNotAllowed(method=request.method, path=request.path, allowed=", ".join(sorted(allowed)))


def _refuse_request(error: RequestValidationError) -> NoReturn:
    """Raise the first problem of a request; a response that does not fit its model is a defect."""
    first = error.errors()[0]
    place = tuple(first["loc"])
    if place[:1] == ("response",):
        raise TypeError(f"a response does not fit its model: {place}: {first['type']}")
    raise InvalidRequest(field=field_path(place[1:], str(place[0])), problem=str(first["msg"]))


RESOLVER = build()
