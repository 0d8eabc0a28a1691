"""The page `/workbench`: tools that a task finds become the steps of a batch, which is checked, run and copied.

The form carries the whole draft. Each of its buttons `search` changes the draft and shows the page again; nothing is
stored and nothing runs before `run`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from console.batches.layout import layout
from console.batches.pages import begin
from console.rendering import json_text
from console.visit import Visit
from console.workbench.draft import (
    Draft,
    DraftStep,
    after_of,
    find_tool,
    offered_references,
    parse,
    planned,
    step_fields,
    written_arguments,
)
from mcpist.batch.execution import submission
from mcpist.batch.ledger import ledger
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.errors import BatchNotFound, EmptyBatch, InvalidRequest, McpistError
from mcpist.http.request import HttpResponse

MAX_FOUND_TOOLS = 6


def show(visit: Visit) -> HttpResponse:
    """Show the draft that the form has, or that the query begins: with `add` a tool, with `from` a batch."""
    query = visit.request.query
    draft, opened = sent_draft(visit)
    action, _, name = (visit.request.form_value("search") or f"add:{query.get('add', '')}").partition(":")
    if query.get("from") and not visit.request.form:
        draft = _draft_of_batch(visit, query["from"])
    if action == "add" and name:
        draft = draft.with_tool(*visit.permissions.split_name(name))
        opened = draft.ids[-1]
    elif action == "remove":
        draft, opened = draft.without(name), "" if opened == name else opened
    elif action in {"open", "close"}:
        opened = name
    text = visit.typed("q", query.get("q", "")).strip()
    plan, problems = check(visit, draft)
    steps = planned(visit.permissions, draft, plan, problems)
    return visit.page(
        "workbench/page.html",
        query=text,
        found=visit.permissions.search(text, MAX_FOUND_TOOLS) if text else [],
        draft=draft,
        steps=steps,
        drawn=layout(draft.needs) if draft.needs else None,
        plan=plan,
        problems=[one for one in problems if not any(one in step.problems for step in steps)],
        opened=_opened(visit, draft, steps[draft.ids.index(opened)]) if opened in draft.ids else None,
        copies=snippets(draft.lines, visit.request.public_url) if plan else {},
    )


def submit(visit: Visit) -> HttpResponse:
    """Run the draft, or ask first where it destroys something."""
    if visit.request.form_value("action") != "run":
        raise InvalidRequest(field="action", problem="this action is unknown")
    draft, _ = sent_draft(visit)
    return begin(visit, {"commands": draft.text, **DEFAULT_OPTIONS.model_dump()}, done="batch_confirmed")


def sent_draft(visit: Visit) -> tuple[Draft, str]:
    """Return the draft that a form sends, with what was typed into the step that is open, and that step's id."""
    draft, opened = parse(visit.request.form_value("commands")), visit.request.form_value("open")
    if opened not in draft.ids:
        return draft, ""
    form, line = visit.request.form_value, draft.lines[draft.ids.index(opened)]
    tool = find_tool(line, visit.permissions)
    fields = step_fields(tool, visit.permissions, form, {}) if tool else []
    typed = {
        "id": form("step.id").strip() or opened,
        "params": written_arguments(fields),
        "each": form("step.each").strip(),
        "after": form("step.after").replace(",", " ").split(),
        "output": form("step.output") == "yes",
    }
    changed = draft.with_step(opened, typed)
    return changed, changed.ids[draft.ids.index(opened)]


def check(visit: Visit, draft: Draft) -> tuple[Mapping[str, Any], list[McpistError]]:
    """Return the plan of a draft as a dry run of the batch answers it, or its problems."""
    try:
        prepared = submission.prepare(visit.permissions, draft.text, DEFAULT_OPTIONS, visit.request_id)
        return prepared.describe(visit.permissions), []
    except EmptyBatch:
        return {}, []
    except McpistError as error:
        return {}, [error, *error.details.get("problems", ())]


def _opened(visit: Visit, draft: Draft, step: DraftStep) -> Mapping[str, Any]:
    """Return the values of the panel of a step: its fields, and the references that suit them."""
    index = draft.ids.index(step.id)
    line, tool = draft.lines[index], find_tool(draft.lines[index], visit.permissions)
    params = line["params"] if isinstance(line.get("params"), dict) else {}
    return {
        "step": step,
        "tool": tool,
        "fields": step_fields(tool, visit.permissions, None, params) if tool else [],
        "references": offered_references(draft, index, visit.permissions),
        "each": line.get("each", ""),
        "after": " ".join(after_of(line)),
        "output": bool(line.get("output")),
    }


def _draft_of_batch(visit: Visit, batch: str) -> Draft:
    """Return the lines of a batch of the person's own, to be changed and run again; BatchNotFound for any other.

    An administrator may look at the progress of others' batches, and not at their params.
    """
    head = submission.find_own(visit.caller, batch)
    if head.user != visit.caller.user:
        raise BatchNotFound(batch=batch)
    steps = sorted((entry.step for entry in ledger.get_entries(head.pk)), key=lambda step: step.line)
    return Draft([{"id": step.id, **step.as_line()} for step in steps])


def snippets(commands: Sequence[Mapping[str, Any]], public_url: str) -> Mapping[str, str]:
    """Return the request for a batch in each form; a program has its token in MCPIST_TOKEN."""
    url, body = f"{public_url}/v1/batches", {"commands": list(commands), "wait": 20}
    call = {"method": "tools/call", "params": {"name": "batch", "arguments": {"commands": list(commands)}}}
    return {
        "MCP": json_text(call),
        "curl": f"""curl {url} -H "authorization: Bearer $MCPIST_TOKEN" --json @- <<'JSON'
{json.dumps(body, ensure_ascii=False)}
JSON""",
        # No text of JSON has three quotes in a row.
        "Python": f'''import os, urllib.request

batch = r"""{json_text(body)}"""
headers = {{"authorization": f"Bearer {{os.environ['MCPIST_TOKEN']}}", "content-type": "application/json"}}
request = urllib.request.Request("{url}", batch.encode(), headers)
print(urllib.request.urlopen(request).read().decode())''',
        "TypeScript": f"""const batch = {json_text(body)};
const response = await fetch("{url}", {{
  method: "POST",
  headers: {{ authorization: `Bearer ${{process.env.MCPIST_TOKEN}}`, "content-type": "application/json" }},
  body: JSON.stringify(batch),
}});
console.log(await response.json());""",
    }
