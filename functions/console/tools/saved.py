"""Saved batches in the panel of a tool: their graph, the form for the next version, and their runs."""

import json
from collections.abc import Mapping
from typing import Any

from console.batches.pages import begin
from console.batches.picture import count_states, picture
from console.rendering import json_text
from console.tools.trying import arguments_of, fields_of
from console.visit import Visit
from mcpist.batch.execution.found_steps import Saving
from mcpist.batch.execution.plan import plan
from mcpist.batch.saved.expansion import SavedTool, call_line
from mcpist.batch.saved.records import MODULE, SavedBatch
from mcpist.batch.timeline import Elements, Progress, StepProgress
from mcpist.errors import InvalidRequest, McpistError
from mcpist.http.request import HttpResponse
from mcpist.settings import settings
from mcpist.tools.declare.parameters import parameters_of
from mcpist.tools.declare.tool import Tool


def run(visit: Visit, tool: Tool) -> HttpResponse | None:
    """Start a saved batch with the arguments of a form, and show it; None for other tools and wrong arguments."""
    if not isinstance(tool, SavedTool):
        return None
    fields = list(fields_of(parameters_of(tool.input_schema), visit.request.form_value, {}))
    line = call_line(visit.permissions, tool.module, tool.name, arguments_of(fields))
    if line is None or any(field.problem for field in fields):
        return None
    return begin(visit, {"commands": [line]}, done="batch_started")


def save(visit: Visit) -> HttpResponse:
    """Save a batch, or its next version, and show its tool."""
    form = visit.request.form_value
    replaces = form("replaces")
    values: dict[str, Any] = {name: form(name) for name in ("name", "description", "commands", "batch", "answer")}
    values |= {
        "roles": form("roles").replace(",", " ").split(),
        "replaces": int(replaces) if replaces.isdecimal() else 0,
    }
    try:
        values["parameters"] = json.loads(form("parameters") or "{}")
    except (ValueError, RecursionError):
        raise InvalidRequest(field="parameters", problem="it is no JSON") from None
    visit.use(MODULE, "save", values)
    return visit.redirect(f"/tools?tool={MODULE}.{values['name']}", done="batch_saved")


def delete(visit: Visit) -> HttpResponse:
    """Delete a saved batch."""
    visit.use(MODULE, "delete", {"name": visit.request.form_value("name")})
    return visit.redirect(f"/tools?module={MODULE}", done="saved_batch_deleted")


def details(visit: Visit, tool: Tool) -> Mapping[str, Any]:
    """Return the values of a saved batch's panel, besides those of any tool."""
    if not isinstance(tool, SavedTool):
        return {"saved": None}
    saved, graph = tool.saved, _graph(visit, tool.saved)
    if saved.problem and saved.owner == visit.caller.user and graph["broken"] is None:
        from mcpist_services.saved import checking

        checking.note_check(visit.caller.organization, saved, "")  # it is mended: no line on the first page until night
    return {
        "saved": saved,
        "editable": saved.is_editable_by(visit.caller),
        "commands": "\n".join(json.dumps(line, ensure_ascii=False) for line in saved.commands),
        "parameters_text": json_text(saved.parameters),
        **graph,
    }


def _graph(visit: Visit, saved: SavedBatch) -> Mapping[str, Any]:
    """Return the picture of a saved batch that nobody has run, or why it cannot run now."""
    try:
        planned = plan(saved.commands, visit.permissions, Saving(saved.name, saved.parameters))
    except McpistError as error:
        return {"broken": error}
    described = planned.as_dict(planned.build_machine(settings().step_runner))["steps"]
    none = Elements(count=0, settled=0)
    steps = [
        StepProgress(**{**step, "state": "waiting", "elements": none if "each" in step else None}) for step in described
    ]
    seen = Progress(batch="", done=False, started_at=0, now=0, steps=tuple(steps))
    return {"broken": None, "picture": picture(seen), "counts": count_states(seen), "progress": seen}
