"""The endpoints of the login that speak OAuth: a request in, authlib's answer out."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidRequestError

from login.clients import LoginClient
from login.enterprise import resource_path
from login.logins import KnownPerson
from login.server import REGISTRATION, REVOCATION, InvalidTargetError, Request, server
from mcpist.http.browser import BrowserRequest
from mcpist.http.request import HttpResponse
from mcpist.strict_json import json_object

MAX_OAUTH_BODY_BYTES = 20_000
MAX_FIELDS = 50
# An error may quote them, and OAuth allows no others there.
_QUOTABLE = re.compile(r"[ -!#-\[\]-~]*")


def read_query(request: BrowserRequest) -> dict[str, list[str]]:
    """Return the parameters of a request for a code."""
    return _parse(str(request.event.get("rawQueryString", "")))


def check(values: Mapping[str, list[str]]) -> tuple[LoginClient, str]:
    """Return the client of a request for a code, and the address for its answer; OAuth2Error for a wrong one.

    An error with a `redirect_uri` may be told the client; with another one the person alone.
    """
    grant = _validated(values)
    return grant.request.client, grant.redirect_uri


def answer(parameters: Mapping[str, str], person: KnownPerson | None) -> HttpResponse:
    """Redirect to the client, with a code for what a person agreed to, or with their refusal."""
    try:
        grant = _validated({name: [value] for name, value in parameters.items()})
    except OAuth2Error as error:
        return redirect_error(error)
    response: HttpResponse = server().create_authorization_response(grant.request, person, grant)
    return response


def redirect_error(error: OAuth2Error) -> HttpResponse:
    """Tell a client what is wrong with its request, by its redirect if there is one."""
    response: HttpResponse = server().handle_error_response(None, error)
    return response


def issue(request: BrowserRequest) -> HttpResponse:
    """Answer a request for tokens."""
    form = _form(request)
    try:
        _check_resource(form.payload.datalist)
    except InvalidTargetError as error:
        return redirect_error(error)
    response: HttpResponse = server().create_token_response(form)
    return response


def revoke(request: BrowserRequest) -> HttpResponse:
    """Answer a request to revoke a token."""
    response: HttpResponse = server().create_endpoint_response(REVOCATION, _form(request))
    return response


def register(request: BrowserRequest) -> HttpResponse:
    """Answer the registration of a client."""
    described = json_object(request.body(MAX_OAUTH_BODY_BYTES))
    asked = Request("POST", {name: [value] for name, value in described.items()})
    response: HttpResponse = server().create_endpoint_response(REGISTRATION, asked)
    return response


def _validated(values: Mapping[str, list[str]]) -> Any:
    """Return authlib's grant for a request of a code, whose resource is the endpoint or an address below it."""
    if not all(_QUOTABLE.fullmatch(value) for name, given in values.items() for value in given if name != "state"):
        raise InvalidRequestError("a parameter has characters that no address has")
    grant = server().get_consent_grant(Request("GET", values))
    _check_resource(values, redirect_uri=grant.redirect_uri, state=grant.request.payload.state)
    return grant


def _check_resource(values: Mapping[str, list[str]], **answered_to: Any) -> None:
    """Refuse a request for tokens of another resource than the endpoint or an address below it (RFC 8707)."""
    for resource in values.get("resource", ()):
        if resource_path(resource.rstrip("/")) is None:
            raise InvalidTargetError("no tokens are issued for this resource", **answered_to)


def _form(request: BrowserRequest) -> Request:
    try:
        body = request.body(MAX_OAUTH_BODY_BYTES).decode("ascii")
    except UnicodeDecodeError:
        body = ""
    return Request("POST", _parse(body), request.headers, number=request.id)


def _parse(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return {}
