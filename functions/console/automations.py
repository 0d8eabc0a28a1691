"""The page `/automations`: what runs by itself, one automation with `name`, and what its forms change."""

import json
from typing import Any
from urllib.parse import urlencode

from console.rendering import json_text
from console.visit import Visit
from mcpist.audit import record as audit
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.running import gate
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import ToolUse

CLICKED = Agreement(claimed=True)
TEXTS = ("name", "batch", "event", "schedule", "time_zone")
JSON_FIELDS = {"parameters": dict, "arguments": dict, "when": list}
NUMBERS = ("at_once", "runs_a_day", "retries")
BOXES = ("own_events", "replaces")


def show(visit: Visit) -> HttpResponse:
    """Show the automation that the query names, else the list and the form for a new one."""
    name = visit.request.query.get("name", "")
    return _show_one(visit, name) if name else _show_list(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    form, name = visit.request.form_value, visit.request.form_value("name")
    match form("action"):
        case "set":
            _use(visit, "set", _arguments(visit))
            return visit.redirect(address(name), done="automation_set")
        case "pause":
            _use(visit, "pause", {"name": name})
            return visit.redirect(address(name), done="automation_paused")
        case "resume":
            _use(visit, "resume", {"name": name})
            return visit.redirect(address(name), done="automation_resumed")
        case "replay":
            _use(visit, "replay", {"name": name, "run": form("run")})
            return visit.redirect(address(name), done="automation_replayed")
        case "preview":
            event = {"event": form("past")} if form("past") else {}
            return _show_one(visit, name, preview=_use(visit, "preview", {"name": name, **event}))
        case "end":
            return _end(visit, name)
    raise InvalidRequest(field="action", problem="this action is unknown")


def address(name: str) -> str:
    """Return the path of the page of an automation."""
    return f"/automations?{urlencode({'name': name})}"


def _end(visit: Visit, name: str) -> HttpResponse:
    """End an automation, also for a person whose roles have the module no more, and for administrators."""
    from mcpist.automations import records
    from mcpist_services.automations import setting

    found = records.find_visible(visit.caller, name)
    target, request = f"automations.{name}", visit.request_id
    audit.record_change(visit.caller, action="automations.end", target=target, request=request)
    setting.end(visit.caller, found)
    return visit.redirect("/automations", done="automation_ended")


def _show_list(visit: Visit) -> HttpResponse:
    from mcpist.automations import records
    from mcpist_services.automations import setting

    rows = [setting.summary(one) for one in records.visible(visit.caller)]
    return visit.page("automations.html", found=None, rows=rows, fields=_fields({}))


def _show_one(visit: Visit, name: str, preview: Any = None) -> HttpResponse:
    from mcpist.automations import records
    from mcpist_services.automations import setting

    found = records.find_visible(visit.caller, name)
    is_own = found.user == visit.caller.user
    shown = setting.shown_to(visit.caller, found)
    return visit.page(
        "automations.html",
        found=shown,
        is_own=is_own,
        fields=_fields(shown) if is_own else None,
        preview=json_text(preview) if preview else "",
    )


def _fields(values: dict[str, Any]) -> dict[str, str]:
    """Return the texts of the form's fields."""
    defaults = {"time_zone": "UTC", "at_once": 1, "runs_a_day": 100, "retries": 0}
    known = {name: values.get(name, defaults.get(name, "")) for name in (*TEXTS, *NUMBERS)}
    written = {name: json_text(values[name]) if values.get(name) else "" for name in JSON_FIELDS}
    return {name: str(value) for name, value in known.items()} | written


def _arguments(visit: Visit) -> dict[str, Any]:
    """Return the arguments of `set` that a form has; what is empty is left out."""
    form = visit.request.form_value
    values: dict[str, Any] = {name: form(name) for name in TEXTS if form(name)}
    values |= {name: int(form(name)) for name in NUMBERS if form(name).isdecimal()}
    values |= {name: True for name in BOXES if form(name)}
    for name, kind in JSON_FIELDS.items():
        try:
            value = json.loads(form(name) or "null")
        except (ValueError, RecursionError):
            value = form(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidRequest(field=name, problem="it is no JSON")
        values |= {} if value is None else {name: value}
    return values


def _use(visit: Visit, tool: str, arguments: dict[str, Any]) -> Any:
    """Use a tool of the module through the gate, as every door does, and return its JSON."""
    use = ToolUse("automations", tool, arguments, visit.request_id)
    return gate.admit(visit.permissions, use, CLICKED).run(visit.remaining).json
