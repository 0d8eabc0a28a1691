"""The pages of a person's accounts: list, connect, return from the provider, confirm and disconnect."""

import re
from collections.abc import Mapping
from typing import Any

from console.messages import message_page
from console.rendering import service_path
from console.visit import Visit
from mcpist.errors import InvalidRequest, PageNotFound
from mcpist.http.browser import BrowserRequest
from mcpist.http.page import HEADERS
from mcpist.http.request import HttpResponse, json_response
from mcpist.running import broker
from mcpist_services import services_with_accounts, title

# The broker sends the provider up to three requests and accepts a state only once, so there is one attempt, with
# nearly the time that this function has.
CONNECT_BROKER_TIMEOUT_SECONDS = 26


def overview(visit: Visit) -> HttpResponse:
    """Show all services with the state of their connections."""
    offer = _call_broker(visit, "offer", services=[])
    entries = sorted(offer["services"], key=lambda entry: title(entry["service"]))
    return _refuse_other_user(visit) or visit.page("connect/overview.html", offer=offer, entries=entries)


def service(visit: Visit) -> HttpResponse:
    """Show one service: its connections and the forms to connect an account."""
    if refused := _refuse_other_user(visit):
        return refused
    name = visit.request.path_parameters["service"]
    offer, entry = offer_of(visit, name)
    role, label = (visit.request.query.get(name, "") for name in ("role", "account"))
    sent_to = [module.destination for module in visit.caller.modules if entry["registered"] and module.name == name]
    return visit.page("connect/service.html", offer=offer, entry=entry, role=role, label=label, sent_to=sent_to)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form on a service's page: begin, paste, choose the default, or disconnect."""
    request, name = visit.request, visit.request.path_parameters["service"]
    role = {"role": request.form_value("role")} if request.form_value("whom") == "role" else {}
    owner = {"role": request.form_value("role")} if request.form_value("role") else {}
    account = {"account": request.form_value("account")}
    match request.form_value("action"):
        case "begin":
            services = request.form.get("services", [])
            if not services:
                raise InvalidRequest(field="services", problem="choose at least one service")
            fields = {"services": services, **account, **role, **_selected_roles(visit, role)}
            url = _call_broker(visit, "begin", **fields)["url"]
            return visit.page("connect/leaving.html", service=name, url=url)
        case "paste":
            return _paste(visit, name, {**account, **role}, _selected_roles(visit, role))
        case "disconnect":
            _call_broker(visit, "revoke", service=name, **account, **owner)
            broker.forget(visit.caller, name)
            return visit.redirect(service_path(name), done="disconnected")
        case "default":
            _call_broker(visit, "default", service=name, **account, **owner)
            broker.forget(visit.caller, name)
            return visit.redirect(service_path(name), done="default_chosen")
    raise InvalidRequest(field="action", problem="this action is unknown")


def callback(visit: Visit) -> HttpResponse:
    """Take the provider's response, and redirect away from the address that holds its code."""
    names = ("state", "code", "error", "iss")
    parameters = {name: visit.request.query[name] for name in names if visit.request.query.get(name)}
    provider = visit.request.path_parameters["provider"]
    return _result_page(visit, _call_broker(visit, "finish", provider=provider, **parameters))


def show_client(request: BrowserRequest) -> HttpResponse:
    """Describe our client to an OAuth server, whose client id is the address of this answer."""
    from mcpist.oauth.client_document import client_document  # for servers, and for no person's page

    provider = request.path_parameters["provider"]
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", provider):
        raise PageNotFound(method=request.method, path=request.path)
    return json_response(200, client_document(provider), HEADERS)


def confirm(visit: Visit) -> HttpResponse:
    """Take the answer to a question."""
    agreed, question = visit.request.form_value("agreed") == "yes", visit.request.form_value("question")
    account = visit.request.form_value("account")
    return _result_page(visit, _call_broker(visit, "confirm", question=question, agreed=agreed, account=account))


def _paste(visit: Visit, name: str, whose: Mapping[str, str], opened: Mapping[str, list[str]]) -> HttpResponse:
    """Store a key; of one that the service does not accept the form says so in the person's language."""
    fields = {"service": name, "key": visit.request.form_value("key"), **whose, **opened}
    try:
        result = _call_broker(visit, "paste", **fields)
    except InvalidRequest as error:
        if error.details.get("field") != "key":
            raise
        raise error.with_details(problem=visit.texts("connect.key_refused", service=title(name))) from None
    return _result_page(visit, result)


def offer_of(visit: Visit, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the services that the person may connect, and the entry of one; PageNotFound for one without accounts."""
    offer = _call_broker(visit, "offer", services=[name])
    (entry,) = offer["services"]
    registered = {module.name for module in visit.caller.modules if module.destination}
    is_known = entry["service"] in {*services_with_accounts(), *registered}
    # A service that is no more may have accounts of before: they can still be disconnected here.
    if not (is_known or entry["consent"] or entry["keys"] or entry["grants"]):
        raise PageNotFound(method=visit.request.method, path=visit.request.path)
    return offer, entry


def _refuse_other_user(visit: Visit) -> HttpResponse | None:
    """Return the page for a link that was made for another person, or nothing."""
    intended, user = visit.request.query.get("user", ""), visit.caller.user
    # Somebody else may open a link from a chat, and would connect the wrong account.
    if intended in {"", user}:
        return None
    t = visit.texts
    text = t("connect.wrong_person_note", intended=intended, user=user)
    links = [(t("connect.other_login"), visit.link({"again": "1"})), (t("connect.back"), "/connect")]
    return message_page(visit.request, t("connect.wrong_person"), text, links, status=403)


def _selected_roles(visit: Visit, role: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the roles that may use a personal account; nothing for all of them, so that later roles are included."""
    chosen = visit.request.form.get("open_to", [])
    if role or "open_to" not in visit.request.form.get("boxes", []) or set(chosen) >= set(visit.caller.role_names):
        return {}
    if not chosen:
        raise InvalidRequest(field="open_to", problem="choose at least one role")
    return {"open_to": chosen}


def _result_page(visit: Visit, result: Mapping[str, Any]) -> HttpResponse:
    if result["outcome"] == "asks":
        return visit.page("connect/question.html", pending=result)
    return visit.redirect(service_path(result["service"]), done=result["outcome"])


def _call_broker(visit: Visit, operation: str, **fields: Any) -> dict[str, Any]:
    """Send one message with the session as proof; without roles, so that all of the person's count."""
    proof = {"kind": "session", "value": visit.session.sealed}
    message = {"operation": operation, "proof": proof, "organization": visit.session.organization, **fields}
    return broker.invoke(message, seconds=CONNECT_BROKER_TIMEOUT_SECONDS, attempts=1)
