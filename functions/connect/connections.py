"""A person's connections: look at them, begin one, come back from the provider, answer a question, end one."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from connect import login, pages
from connect.cookies import BrowserSession, read_session
from connect.request import Request
from connect.response import html_response, redirect
from connect.texts import TEXTS, Texts
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import AuthenticationError, InvalidRequest
from mcpist.running import broker

# The broker asks the provider up to three times, and a state counts once: so one attempt, nearly as long as we live.
CONNECT_BROKER_TIMEOUT_SECONDS = 26


def overview(request: Request) -> HttpResponse:
    """All services, and how each stands."""
    texts = TEXTS[request.locale()]
    return _render(request, "/connect", (), lambda offer: pages.overview(texts, offer))


def service(request: Request) -> HttpResponse:
    """One service: what is connected, and the forms; what happened just now stands above."""
    texts, name = TEXTS[request.locale()], request.path_parameters["service"]
    note, role = _note(texts, request.query.get("done", "")), request.query.get("role", "")
    return _render(
        request, _service_path(name), (name,), lambda offer: pages.service(texts, {**offer, "role": role}, note)
    )


def submit_form(request: Request) -> HttpResponse:
    """What a form of a service's page asks for: begin, paste or disconnect."""
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
    raise InvalidRequest(field="action", problem="there is no such action")


def callback(request: Request) -> HttpResponse:
    """The provider's answer; the address with its code is left at once."""
    session = read_session(request)
    if session is None:
        raise AuthenticationError(problem="nobody is logged in")
    names = ("state", "code", "error", "iss")
    parameters = {name: request.query[name] for name in names if request.query.get(name)}
    return _result_page(
        request, session, _call_broker(session, "finish", provider=request.path_parameters["provider"], **parameters)
    )


def confirm(request: Request) -> HttpResponse:
    """The answer to a question."""
    session = _require_session(request)
    agreed = request.form_value("agreed") == "yes"
    return _result_page(
        request, session, _call_broker(session, "confirm", question=request.form_value("question"), agreed=agreed)
    )


def _render(
    request: Request, path: str, services: Iterable[str], page: Callable[[Mapping[str, Any]], str]
) -> HttpResponse:
    """A page for who is logged in; others go to the login and come back."""
    texts, wanted = TEXTS[request.locale()], {name: request.query.get(name, "") for name in ("organization", "user")}
    kept = {name: value for name, value in request.query.items() if name in {"organization", "user", "role"}}
    target = f"{path}?{urlencode(kept)}" if kept else path
    session, again = read_session(request), "again" in request.query
    if session is None or again or wanted["organization"] not in {"", session.organization}:
        return login.begin(request, target, organization=wanted["organization"], again=again)
    try:
        offer = _call_broker(session, "offer", services=list(services))
    except AuthenticationError:
        return login.begin(request, target, organization=wanted["organization"])
    if wanted["user"] not in {"", offer["user"]}:
        text = texts.not_yours_note.format(wanted=wanted["user"], user=offer["user"])
        actions = [(texts.others_login, f"{target}&again=1"), (texts.back, "/connect")]
        return html_response(pages.message(texts, texts.not_yours, text, actions), status=403)
    return html_response(page(offer))


def _require_session(request: Request) -> BrowserSession:
    """Who sent a form of ours; a login that changed since the page was shown does not act."""
    if request.headers.get("origin", "") != request.public_url:
        raise InvalidRequest(field="origin", problem=f"forms are sent from {request.public_url}/connect only")
    session = read_session(request)
    if session is None or (session.organization, session.user) != (
        request.form_value("organization"),
        request.form_value("user"),
    ):
        raise AuthenticationError(problem="somebody else is logged in by now")
    return session


def _selected_roles(request: Request, role: Mapping[str, str]) -> dict[str, list[str]]:
    """The roles that may use an own account, where the form asks; all are not named, so that later ones count too."""
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


def _redirect_back(request: Request, name: str, done: str) -> HttpResponse:
    return redirect(f"{request.public_url}{_service_path(name)}?done={done}")


def _service_path(name: str) -> str:
    return f"/connect/{quote(name, safe='')}"


def _note(texts: Texts, done: str) -> str:
    match done:
        case "connected":
            return pages.note(texts.connected, texts.connected_note, kind="good")
        case "declined":
            return pages.note(texts.declined, kind="bad")
        case "disconnected":
            return pages.note(texts.disconnected)
        case "kept":
            return pages.note(texts.kept)
    return ""


def _call_broker(session: BrowserSession, operation: str, **fields: Any) -> dict[str, Any]:
    proof = {"kind": "session", "value": session.session}
    message = {"operation": operation, "proof": proof, "organization": session.organization, **fields}
    return broker.invoke(message, seconds=CONNECT_BROKER_TIMEOUT_SECONDS, attempts=1)
