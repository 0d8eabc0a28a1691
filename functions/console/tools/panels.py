"""The panel of one tool: how it is called, whether its account works, and what trying it answered."""

import json
from collections.abc import Mapping
from typing import Any

from console.tools.arguments import fields_of
from console.tools.listing import permissions_of
from console.tools.reasons import reasons
from console.tools.trying import Trial, try_tool
from console.visit import Visit
from mcpist.errors import InvalidRequest, McpistError
from mcpist.registry.entries import Entry, Registry
from mcpist.running.tool_accounts import is_connected, working_services
from mcpist.tools.parameters import parameters_of
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

# This function may read no stored secret of a server, and runs no program.
TRIED_SOURCES = ("service", "api")


def tool_panel(visit: Visit, name: str, *, tried: bool = False) -> Mapping[str, Any]:
    """Return what the panel of a tool shows; `tried` runs it with the form that was sent."""
    permissions = permissions_of(visit)
    try:
        entry, tool = _find(permissions, name, everything=visit.is_administrator)
    except McpistError:
        return {"name": name, "entry": None, "tried": False, "why": reasons(visit, name)}
    example = next((dict(one["parameters"]) for one in tool.examples), {})
    schema = permissions.translation(tool.module).schema(tool.input_schema)
    parameters = parameters_of(schema)
    if tried and entry.source not in TRIED_SOURCES:
        raise InvalidRequest(field="tool", problem="it cannot be tried here")
    usable = entry.enabled and visit.permissions.allows(tool)
    fields = list(fields_of(parameters, visit.request.form_value if tried else None, example))
    connected = is_connected(entry, working_services(permissions, [entry]))
    trial = try_tool(visit, tool, fields) if tried else Trial()
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
        "can_try": usable and tool.reads and entry.source in TRIED_SOURCES,
        "tried_elsewhere": usable and tool.reads and entry.source not in TRIED_SOURCES,
    }


def _find(permissions: Permissions, name: str, *, everything: bool) -> tuple[Entry, Tool]:
    """Return a tool that the person may know of, or raise why there is none."""
    module, own_name = permissions.split_name(name)
    permissions.load_tools((module,))
    entry = Registry(permissions, everything=everything).get(name)
    if not entry.tool:
        raise InvalidRequest(field="tool", problem="it is a module: name one of its tools")
    return entry, permissions.catalogue.module(module).tools[own_name]


def _calls(entry: Entry, example: Mapping[str, Any]) -> Mapping[str, str]:
    """Return an example call as a model, a batch and a program make it."""
    call = {"module": entry.module, "tool": entry.tool, "params": example}
    body = {"name": entry.name, "parameters": example}
    return {
        "call": _json(call),
        "batch": json.dumps({"id": entry.tool, **call, "output": True}, ensure_ascii=False),
        "rest": f"POST /v1/tools/call\n{_json(body)}",
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
