"""The routes of a person's connections: list, connect, return from the provider, confirm and disconnect."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from connect import login, pages
from connect.cookies import BrowserSession, read_session
from connect.markup import service_path
from connect.request import Request
from connect.response import html_response, redirect
from connect.texts import TEXTS, Texts
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import AuthenticationError, InvalidRequest
from mcpist.running import broker

# The broker sends the provider up to three requests and accepts a state only once, so there is one attempt, with
# nearly the time that this function has.
CONNECT_BROKER_TIMEOUT_SECONDS = 26


def overview(request: Request) -> HttpResponse:
    """Show all services with the state of their connections."""
    texts = TEXTS[request.locale()]
    return _render(request, "/connect", (), lambda offer: pages.overview(texts, offer))


def service(request: Request) -> HttpResponse:
    """Show one service: a note about the last action, the connections and the forms."""
    texts, name = TEXTS[request.locale()], request.path_parameters["service"]
    note, role = _note(texts, request.query.get("done", "")), request.query.get("role", "")
    return _render(
        request, service_path(name), (name,), lambda offer: pages.service(texts, {**offer, "role": role}, note)
    )


def submit_form(request: Request) -> HttpResponse:
    """Perform the action of a form on a service's page: begin, paste or disconnect."""
    session, name = _require_session(request), request.path_parameters["service"]
    role = {"role": request.form_value("role")} if request.form_value("whom") == "role" else {}
    match request.form_value("action"):
        case "begin":
            services = request.form.get("services", [])
            if not services:
                raise InvalidRequest(field="services", problem="choose at least one service")
            fields = {"services": services, **role, **_selected_roles(request, role)}
            result = _call_broker(session, "begin", **fields)
            return html_response(pages.leaving(TEXTS[request.locale()], name, result["url"]))
        case "paste":
            fields = {"service": name, "key": request.form_value("key"), **role, **_selected_roles(request, role)}
            return _result_page(request, session, _call_broker(session, "paste", **fields))
        case "disconnect":
            shared = {"role": request.form_value("role")} if request.form_value("role") else {}
            _call_broker(session, "revoke", service=name, **shared)
            return _redirect_back(request, name, "disconnected")
    raise InvalidRequest(field="action", problem="this action is unknown")


def callback(request: Request) -> HttpResponse:
    """Take the provider's response, and redirect away from the address that holds its code."""
    session = read_session(request)
    if session is None:
        raise AuthenticationError(problem="there is no login")
    names = ("state", "code", "error", "iss")
    parameters = {name: request.query[name] for name in names if request.query.get(name)}
    return _result_page(
        request, session, _call_broker(session, "finish", provider=request.path_parameters["provider"], **parameters)
    )


def confirm(request: Request) -> HttpResponse:
    """Take the answer to a question."""
    session = _require_session(request)
    agreed = request.form_value("agreed") == "yes"
    return _result_page(
        request, session, _call_broker(session, "confirm", question=request.form_value("question"), agreed=agreed)
    )


def _render(
    request: Request, path: str, services: Iterable[str], page: Callable[[Mapping[str, Any]], str]
) -> HttpResponse:
    """Show a page to a logged-in person; others are sent to the login first."""
    texts = TEXTS[request.locale()]
    organization, user = request.query.get("organization", ""), request.query.get("user", "")
    parameters = {name: value for name, value in request.query.items() if name in {"organization", "user", "role"}}
    target = f"{path}?{urlencode(parameters)}" if parameters else path
    session, again = read_session(request), "again" in request.query
    if session is None or again or organization not in {"", session.organization}:
        return login.begin(request, target, organization=organization, again=again)
    try:
        offer = _call_broker(session, "offer", services=list(services))
    except AuthenticationError:
        return login.begin(request, target, organization=organization)
    if user not in {"", offer["user"]}:
        text = texts.wrong_person_note.format(intended=user, user=offer["user"])
        actions = [(texts.other_login, f"{target}&again=1"), (texts.back, "/connect")]
        return html_response(pages.message(texts, texts.wrong_person, text, actions), status=403)
    return html_response(page(offer))


def _require_session(request: Request) -> BrowserSession:
    """Return the session of a form's sender; refuse forms of other sites, and of a login that has changed since."""
    if request.headers.get("origin", "") != request.public_url:
        raise InvalidRequest(field="origin", problem=f"forms are sent from {request.public_url}/connect only")
    session = read_session(request)
    if session is None or (session.organization, session.user) != (
        request.form_value("organization"),
        request.form_value("user"),
    ):
        raise AuthenticationError(problem="another person is logged in now")
    return session


def _selected_roles(request: Request, role: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the roles that may use a personal account; nothing for all of them, so that later roles are included."""
    chosen, offered = request.form.get("open_to", []), request.form.get("could_open_to", [])
    if role or not offered or set(chosen) == set(offered):
        return {}
    if not chosen:
        raise InvalidRequest(field="open_to", problem="choose at least one role")
    return {"open_to": chosen}


def _result_page(request: Request, session: BrowserSession, result: Mapping[str, Any]) -> HttpResponse:
    if result["outcome"] == "asks":
        about = {"organization": session.organization, "user": session.user}
        return html_response(pages.question(TEXTS[request.locale()], result, about))
    return _redirect_back(request, result["service"], result["outcome"])


def _redirect_back(request: Request, name: str, outcome: str) -> HttpResponse:
    return redirect(f"{request.public_url}{service_path(name)}?done={outcome}")


def _note(texts: Texts, outcome: str) -> str:
    match outcome:
        case "connected":
            return pages.note(texts.connected, texts.connected_note, kind="good")
        case "declined":
            return pages.note(texts.declined, kind="bad")
        case "disconnected":
            return pages.note(texts.disconnected)
        case "kept":
            return pages.note(texts.unchanged)
    return ""


def _call_broker(session: BrowserSession, operation: str, **fields: Any) -> dict[str, Any]:
    proof = {"kind": "session", "value": session.session}
    message = {"operation": operation, "proof": proof, "organization": session.organization, **fields}
    return broker.invoke(message, seconds=CONNECT_BROKER_TIMEOUT_SECONDS, attempts=1)
