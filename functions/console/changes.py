"""The page `/changes`: what was kept of one's writes, the plan of an undo with `undo`, and the form that starts it."""

from collections.abc import Mapping
from typing import Any

from console.batches import pages as batches
from console.lists import Columns, export, list_page, named_columns
from console.visit import Visit
from mcpist.batch.execution.undo import plan_undo
from mcpist.http.request import HttpResponse
from mcpist.render.answer import compact_json
from mcpist.running import changes
from mcpist.running.changes import ChangeRecord

MAX_SHOWN_CHARACTERS = 2_000
COLUMNS: Columns[ChangeRecord] = named_columns("id tool created_at batch undone_by problem")


def show(visit: Visit) -> HttpResponse:
    """Show the plan that the query names, or the list."""
    undo = visit.request.query.get("undo", "")
    if not undo:
        rows = changes.list_changes(visit.caller)
        exported = export(visit, "changes", rows, COLUMNS)
        return exported or visit.page("changes.html", plan=None, page=list_page(visit, rows, COLUMNS, "-id"))
    plan = plan_undo(visit.caller, undo)
    shown = [(change, _differences(change)) for change in plan.changes]
    return visit.page("changes.html", plan=plan, shown=shown, undo=undo)


def submit(visit: Visit) -> HttpResponse:
    """Start the batch that undoes what the form names, or ask first where that destroys something."""
    form = visit.request.form_value
    context = {"undo": form("undo"), "anyway": form("anyway") == "yes"}
    return batches.begin(visit, context, done="undo_started")


def _differences(change: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the fields of a change with their values now, as far as it is known, and after its undo."""
    was, became = change["was"], change["became"]
    names = dict.fromkeys((*was, *became))
    return [(name, _text(became, name), _text(was, name)) for name in names]


def _text(fields: dict[str, Any], name: str) -> str:
    if name not in fields:
        return ""
    value = fields[name]
    return (value if isinstance(value, str) else compact_json(value))[:MAX_SHOWN_CHARACTERS]
