"""The page `/modules`: what an organization's tools come from, with approvals, registration and removal."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from console.approvals import Comparison, compare, count_waiting, deployed_servers
from console.organization.paging import page_of
from console.organization.review import VERSION_FIELD, show_review
from console.tools.listing import permissions_of
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.caller import RegisteredModule
from mcpist.errors import InvalidRequest
from mcpist.registry import definitions
from mcpist.registry.entries import Registry
from mcpist.running.connected_accounts import BrokerAccounts
from mcpist_services.registered import registration
from mcpist_services.registered.request import ModuleRequest, parse

MAX_COMPARED_TOOLS = 50


def show(visit: Visit) -> HttpResponse:
    """Show the modules, and the panel of one that was registered or of a new one."""
    permissions = permissions_of(visit)
    entries, approvals = Registry(permissions, everything=True).modules(), count_waiting(permissions)
    registered = {module.name: module for module in visit.caller.modules}
    name = visit.request.query.get("id", "")
    panel = _panel(visit, name) if name else {}
    return visit.page("modules.html", entries=entries, registered=registered, panel=panel, approvals=approvals)


def submit(visit: Visit) -> HttpResponse:
    """Register or remove a module, or approve tools as they were shown."""
    form = visit.request.form_value
    match form("action"):
        case "register":
            return _register(visit)
        case "approve":
            return _approve(visit, form("id"))
        case "remove":
            return _remove(visit, form("id"))
    raise InvalidRequest(field="action", problem="this action is unknown")


def _panel(visit: Visit, name: str) -> dict[str, Any]:
    """Return what the panel of a module shows: of one of the deployment only what its operator is to approve."""
    organization = visit.administration.read()[1]
    deployed = {} if name in organization.modules else deployed_servers(permissions_of(visit), name)
    if deployed:
        return {"module": None, "name": name, "deployed": deployed, "max_compared": MAX_COMPARED_TOOLS}
    module = registration.find(organization, name)
    definition = definitions.load(visit.caller.organization, module.sha256)
    permissions_of(visit).load_tools((name,))  # what is to be approved is what the server offers now
    states = registration.tool_states(visit.caller, module, definition)
    found = sorted((one for one in states if one.state in {"new", "changed"}), key=lambda one: one.name)
    waiting, more = page_of(found, lambda one: one.name, visit.request.query.get("after", ""))
    overlay: Mapping[str, Any] = definition.get("overlay", {})
    return {
        "module": module,
        "name": name,
        "waiting": waiting,
        "more": more,
        "texts": _compared(visit, module, waiting),
        "others": [state for state in states if state not in found],
        "review": list(overlay.get("review", ())),
        "left_out": overlay.get("left_out", {}),
    }


def _compared(
    visit: Visit, module: RegisteredModule, waiting: Sequence[registration.ToolState]
) -> Mapping[str, Comparison]:
    """Return the text of each tool that waits, compared with what was approved where that was kept."""
    changed = [state.name for state in waiting if state.state == "changed"]
    approved = registration.approved_texts(visit.caller, module, changed) if changed else {}
    return {state.name: compare(state.text, approved.get(state.name)) for state in waiting}


def _register(visit: Visit) -> HttpResponse:
    """Show what a registration would bring, and register it where the form confirms that."""
    request, is_reviewed = _request(visit), bool(visit.request.form_value(VERSION_FIELD))
    made = registration.register(
        visit.administration, request, BrokerAccounts(visit.caller).revoke_service, dry_run=not is_reviewed
    )
    back = f"/modules?{urlencode({'id': request.name})}"
    if is_reviewed:
        return visit.redirect(back, done="module_registered")
    tools = registration.tool_states(visit.caller, made.module, made.definition) if request.kind == "api" else []
    target = f"modules.{request.name}"
    return show_review(visit, made.applied, "modules.create", target, back="/modules?new=1", tools=tools)


def _request(visit: Visit) -> ModuleRequest:
    """Return the module that a form describes; a header is written as `name: value`."""
    form = visit.request.form_value
    fields: dict[str, Any] = {name: form(name) for name in ("name", "description")}
    if form("kind") == "api":
        return parse({**fields, "openapi": form("openapi"), "server": form("server")})
    headers = [line.partition(":") for line in form("headers").splitlines() if line.strip()]
    return parse({**fields, "url": form("url"), "headers": {name.strip(): value.strip() for name, _, value in headers}})


def _approve(visit: Visit, name: str) -> HttpResponse:
    """Approve the ticked tools, if they still are as the form showed them."""
    ticked = [value.partition(" ") for value in visit.request.form.get("tools", ())]
    if not ticked:
        raise InvalidRequest(field="tools", problem="choose at least one tool")
    fingerprints, tools = [one[0] for one in ticked], [one[2] for one in ticked]
    registration.approve(visit.administration, name, tools, fingerprints)
    return visit.redirect(f"/modules?{urlencode({'id': name})}", done="tools_approved")


def _remove(visit: Visit, name: str) -> HttpResponse:
    is_reviewed = bool(visit.request.form_value(VERSION_FIELD))
    applied = registration.unregister(
        visit.administration, name, BrokerAccounts(visit.caller).revoke_service, dry_run=not is_reviewed
    )
    if is_reviewed:
        return visit.redirect("/modules", done="module_removed")
    return show_review(visit, applied, "modules.delete", f"modules.{name}", back="/modules")
