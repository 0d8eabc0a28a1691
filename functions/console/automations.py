"""The page `/automations`: what runs by itself, one automation with `name`, and what its forms change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from console.lists import Columns, export, list_page
from console.rendering import json_text
from console.tools.trying import ArgumentField, arguments_of, fields_of
from console.visit import Visit
from mcpist.audit import record as audit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.tools.declare.parameters import Parameter, parameters_of

MODULE_NAME, AUTOMATIONS_PAGE = "automations", "/automations"
COLUMNS: Columns[Mapping[str, Any]] = {
    "name": lambda row: row["name"],
    "batch": lambda row: row["batch"],
    "starts": lambda row: row["event"] or row["schedule"],
    "state": lambda row: row["state"],
    "user": lambda row: row["user"],
}
DEFAULTS = {"time_zone": "UTC", "at_once": 1, "runs_a_day": 100}


def show(visit: Visit) -> HttpResponse:
    """Show the automation that the query names, else the list and the form for a new one."""
    name = visit.request.query.get("name", "")
    return _show_one(visit, name) if name else _show_list(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    form, name = visit.request.form_value, visit.request.form_value("name")
    match form("action"):
        case "set":
            fields = _fields(visit, {})
            if wrong := next((field for field in fields if field.problem), None):
                raise InvalidRequest(field=wrong.name, problem="it is no JSON")
            made = visit.use(MODULE_NAME, "set", arguments_of(fields))
            return visit.redirect(AUTOMATIONS_PAGE, name=made["name"], done="automation_set")
        case "pause" | "resume" | "replay" as tool:
            run = {"run": form("run")} if tool == "replay" else {}
            visit.use(MODULE_NAME, tool, {"name": name, **run})
            done = {"pause": "automation_paused", "resume": "automation_resumed", "replay": "automation_replayed"}
            return visit.redirect(AUTOMATIONS_PAGE, name=name, done=done[tool])
        case "preview":
            event = {"event": form("past")} if form("past") else {}
            return _show_one(visit, name, preview=visit.use(MODULE_NAME, "preview", {"name": name, **event}))
        case "end":
            return _end(visit, name)
    raise InvalidRequest(field="action", problem="this action is unknown")


def _end(visit: Visit, name: str) -> HttpResponse:
    """End an automation, also for a person whose roles have the module no more, and for administrators."""
    from mcpist.automations import records
    from mcpist_services.automations import setting

    found = records.find_visible(visit.caller, name)
    target, request = f"automations.{name}", visit.request_id
    audit.record_change(visit.caller, action="automations.end", target=target, request=request)
    setting.end(visit.caller, found)
    return visit.redirect(AUTOMATIONS_PAGE, done="automation_ended")


def _show_list(visit: Visit) -> HttpResponse:
    from mcpist.automations import records
    from mcpist_services.automations import setting

    rows = [setting.summary(one) for one in records.visible(visit.caller)]
    if exported := export(visit, "automations", rows, COLUMNS):
        return exported
    page = list_page(visit, rows, COLUMNS)
    fields = [field for field in _fields(visit, DEFAULTS) if field.parameter.name != "replaces"]
    return visit.page("automations.html", found=None, page=page, fields=fields)


def _show_one(visit: Visit, name: str, preview: Any = None) -> HttpResponse:
    from mcpist.automations import records
    from mcpist_services.automations import setting

    found = records.find_visible(visit.caller, name)
    is_own, shown = found.user == visit.caller.user, setting.shown_to(visit.caller, found)
    fields = [field for field in _fields(visit, shown) if field.parameter.name not in {"name", "replaces"}]
    tried = json_text(preview) if preview else ""
    return visit.page("automations.html", found=shown, is_own=is_own, fields=fields if is_own else (), preview=tried)


def _fields(visit: Visit, values: Mapping[str, Any]) -> Sequence[ArgumentField]:
    """Return the fields of the form, with what was sent, else with values; none for who has not the module."""
    if MODULE_NAME not in visit.permissions.catalogue.names:
        return ()
    form, choices = visit.request.form_value, _choices(visit)
    schema = visit.permissions.translation(MODULE_NAME).schema(visit.permissions.tool(MODULE_NAME, "set").input_schema)
    parameters = [
        _offering(one, {*choices[one.name], values.get(one.name, "")}) if one.name in choices else one
        for one in parameters_of(schema)
    ]
    filled = {name: value for name, value in values.items() if value not in ("", [], {}, False)}
    return fields_of(parameters, form if visit.request.method == "POST" and form("action") == "set" else None, filled)


def _offering(parameter: Parameter, choices: set[Any]) -> Parameter:
    """Return a parameter with the names among which a person chooses, if it has any."""
    return replace(parameter, enum=sorted(choices - {""})) if any(choices) else parameter


def _choices(visit: Visit) -> dict[str, list[str]]:
    """Return the saved batches and the event types that the person may use, by the names of their fields."""
    from mcpist.batch.saved import records
    from mcpist_services.events import visible_types

    batches = records.read(visit.caller.organization).of(visit.caller)
    return {
        "batch": [one.name for one in batches],
        "event": [one.full_name for one in visible_types(visit.permissions)],
    }
