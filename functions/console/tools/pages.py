"""The page `/tools`: the list, with the panel of a tool (`tool`) or of a service's account (`connect`) beside it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from console import connections
from console.tools import listing
from console.tools.panels import tool_panel
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import InvalidRequest
from mcpist.registry.entries import Registry, disable, enable


def show(visit: Visit) -> HttpResponse:
    """Show the tools that the query asks for, with a panel where it names one."""
    name = visit.request.query.get("tool", "")
    return _page(visit, tool_panel(visit, name) if name else None)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form: try a tool, or switch a tool or a module on or off."""
    match visit.request.form_value("action"):
        case "try":
            return _page(visit, tool_panel(visit, visit.request.form_value("tool"), tried=True))
        case "enable" | "disable" as action:
            return _switch(visit, action)
    raise InvalidRequest(field="action", problem="this action is unknown")


def _page(visit: Visit, panel: Mapping[str, Any] | None) -> HttpResponse:
    wanted = listing.wanted_of(visit)
    found, choices = listing.list_tools(visit, wanted)
    registry = Registry(listing.permissions_of(visit), everything=visit.is_administrator)
    module = wanted.filter.module
    return visit.page(
        "tools/page.html",
        wanted=wanted,
        found=found,
        choices=choices,
        effects=listing.EFFECTS,
        module=registry.get(module) if module and module in choices.modules else None,
        panel=panel,
        **_account_panel(visit),
    )


def _account_panel(visit: Visit) -> Mapping[str, Any]:
    """Return what the panel of a service's account shows, if the query names one."""
    service = visit.request.query.get("connect", "")
    if not service:
        return {"offer": None}
    offer, entry = connections.offer_of(visit, service)
    return {"offer": offer, "account": entry, "role": "", "problem": ""}


def _switch(visit: Visit, action: str) -> HttpResponse:
    """Switch a tool or a module for the whole organization."""
    name, back = visit.request.form_value("name"), visit.request.form_value("back")
    edit = enable if action == "enable" else disable
    visit.administration.change(
        f"modules.{action}", f"modules.{name}", edit(listing.permissions_of(visit).catalogue, name)
    )
    query = urlencode({"module": name} if back == "module" else {"tool": name})
    return visit.redirect(f"/tools?{query}", done=f"tool_{action}d")
