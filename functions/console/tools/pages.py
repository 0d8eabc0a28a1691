"""The page `/tools`: the list, with the panel of a tool (`tool`) or of a service's account (`connect`) beside it."""

import json
from collections.abc import Mapping
from typing import Any

from console import connections
from console.rendering import json_text
from console.tools import listing, saved
from console.tools.listing import permissions_of
from console.tools.trying import Trial, fields_of, try_tool
from console.visit import Visit
from mcpist.errors import InvalidRequest, McpistError
from mcpist.http.request import HttpResponse
from mcpist.registry.entries import Registry, RegistryEntry, disable, enable
from mcpist.running.accounts import is_connected, working_services
from mcpist.running.explanation import Explanation, explain, look_as, with_roles
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.parameters import parameters_of
from mcpist.tools.declare.tool import Tool
from mcpist_services.catalogue import CATALOGUE

# This function may read no stored secret of a server, and runs no program.
TRIED_SOURCES = ("service", "api", "saved")


def show(visit: Visit) -> HttpResponse:
    """Show the tools that the query asks for, with a panel where it names one."""
    name = visit.request.query.get("tool", "")
    return _page(visit, tool_panel(visit, name) if name else None)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form: try a tool, or switch a tool or a module on or off."""
    match visit.request.form_value("action"):
        case "try":
            name = visit.request.form_value("tool")
            _, tool = _find(permissions_of(visit), name, everything=visit.is_administrator)
            return saved.run(visit, tool) or _page(visit, tool_panel(visit, name, tried=True))
        case "save":
            return saved.save(visit)
        case "delete_saved":
            return saved.delete(visit)
        case "enable" | "disable" as action:
            return _switch(visit, action)
    raise InvalidRequest(field="action", problem="this action is unknown")


def _page(visit: Visit, panel: Mapping[str, Any] | None) -> HttpResponse:
    wanted = listing.wanted_of(visit)
    listed = listing.list_tools(visit, wanted)
    if not isinstance(listed, tuple):
        return listed
    found, choices = listed
    registry = Registry(listing.permissions_of(visit), everything=visit.is_administrator)
    module = wanted.filter.module
    return visit.page(
        "tools/page.html",
        wanted=wanted,
        found=found,
        pages=max(1, -(-found.total // listing.PAGE_TOOLS)),
        choices=choices,
        effects=listing.EFFECTS,
        module=registry.get(module) if module and module in choices["module"] else None,
        panel=panel,
        **_account_panel(visit),
    )


def _account_panel(visit: Visit) -> Mapping[str, Any]:
    """Return the values of the panel of a service's account, if the query names one."""
    service = visit.request.query.get("connect", "")
    if not service:
        return {"offer": None}
    offer, entry = connections.offer_of(visit, service)
    return {"offer": offer, "account": entry, "role": "", "label": ""}


def _switch(visit: Visit, action: str) -> HttpResponse:
    """Switch a tool or a module for the whole organization."""
    name, back = visit.request.form_value("name"), visit.request.form_value("back")
    edit = enable if action == "enable" else disable
    visit.administration.change(
        f"modules.{action}", f"modules.{name}", edit(listing.permissions_of(visit).catalogue, name)
    )
    query = {"module" if back == "module" else "tool": name}
    return visit.redirect("/tools", **query, done=f"tool_{action}d")


def tool_panel(visit: Visit, name: str, *, tried: bool = False) -> Mapping[str, Any]:
    """Return the values of a tool's panel; `tried` runs it with the form that was sent."""
    permissions = permissions_of(visit)
    try:
        entry, tool = _find(permissions, name, everything=visit.is_administrator)
    except McpistError:
        return {"name": name, "entry": None, "saved": None, "tried": False, "why": reasons(visit, name)}
    example = next((dict(one["parameters"]) for one in tool.examples), {})
    schema = permissions.translation(tool.module).schema(tool.input_schema)
    parameters = parameters_of(schema)
    if tried and entry.source not in TRIED_SOURCES:
        raise InvalidRequest(field="tool", problem="it cannot be tried here")
    usable = entry.enabled and visit.permissions.allows(tool)
    fields = list(fields_of(parameters, visit.request.form_value if tried else None, example))
    connected = is_connected(entry, working_services(permissions, [entry]))
    details = saved.details(visit, tool)
    trial = try_tool(visit, tool, fields) if tried and not details["saved"] else Trial()
    explained = (
        not usable
        or connected is False
        or trial.error
        or any(visit.request.query.get(name) for name in ("why", "user"))
    )
    return {
        "name": entry.name,
        "entry": entry,
        "why": reasons(visit, name) if explained else None,
        "parameters": parameters,
        "schema": schema,
        "answer_fields": list(tool.shows.fields),
        "calls": _calls(entry, example),
        "connected": connected,
        "usable": usable,
        "fields": fields,
        "trial": trial,
        "tried": tried,
        "can_try": usable and (tool.reads or details["saved"]) and entry.source in TRIED_SOURCES,
        "tried_elsewhere": usable and tool.reads and entry.source not in TRIED_SOURCES,
        **details,
    }


def _find(permissions: Permissions, name: str, *, everything: bool) -> tuple[RegistryEntry, Tool]:
    """Return a tool that the person may know of, or raise why there is none."""
    module, own_name = permissions.split_name(name)
    permissions.load_tools((module,))
    entry = Registry(permissions, everything=everything).get(name)
    if not entry.tool:
        raise InvalidRequest(field="tool", problem="it is a module: name one of its tools")
    return entry, permissions.catalogue.module(module).tools[own_name]


def _calls(entry: RegistryEntry, example: Mapping[str, Any]) -> Mapping[str, str]:
    """Return an example call as a model, a batch and a program make it."""
    call = {"module": entry.module, "tool": entry.tool, "params": example}
    body = {"name": entry.name, "parameters": example}
    return {
        "call": json_text(call),
        "batch": json.dumps({"id": entry.tool, **call, "output": True}, ensure_ascii=False),
        "rest": f"POST /v1/tools/call\n{json_text(body)}",
    }


def reasons(visit: Visit, name: str) -> Explanation:
    """Return the chain of decisions about the visitor, or for an administrator about the `user` of the query.

    An administrator also sees what each role says.
    """
    permissions, user = visit.permissions, visit.request.query.get("user", "")
    module, tool = permissions.split_name(name)
    if not module or not tool:
        raise InvalidRequest(field="tool", problem="write it as module.tool")
    if user and user != visit.caller.user:
        permissions, finder = look_as(visit.administration, CATALOGUE, user)
        return with_roles(explain(permissions, module, tool, find_account=finder), permissions)
    explanation = explain(permissions, module, tool)
    return with_roles(explanation, permissions) if visit.is_administrator else explanation
