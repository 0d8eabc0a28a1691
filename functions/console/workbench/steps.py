"""The steps of a draft as a page shows them: each with the verdict on it before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from console.workbench.draft import Draft, DraftLine
from mcpist.batch.language.steps import Step
from mcpist.errors import AccountError, AdministratorError, McpistError
from mcpist.running.explanation import Explanation, explain
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

type StepState = Literal["allowed", "asks", "approval", "account", "refused", "incomplete"]

_PLANNED_FIELDS = {*(field.name for field in fields(Step)), "effect", "needs"}
"""The fields of a step in a plan; others are verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftStep:
    """A step of a draft."""

    id: str
    tool: str
    """The full name."""
    effect: str = ""
    """Empty for a tool that the person cannot use."""
    needs: Sequence[str]
    state: StepState
    problems: Sequence[McpistError]
    """The errors of the plan, and of the decisions about the use."""
    account: str = ""
    """The account that will act."""
    service: str = ""
    """The service whose account the person has to connect."""
    notes: Sequence[str] = ()
    """The texts of the plan about it, besides its fields."""


def planned(
    permissions: Permissions, draft: Draft, plan: Mapping[str, Any], problems: Sequence[McpistError]
) -> list[DraftStep]:
    """Return the steps of a draft with the verdicts on them, from its plan or its problems."""
    explained = cache(lambda module, tool: explain(permissions, module, tool))
    judged = [*plan.get("steps", ()), *(row for one in problems for row in one.details.get("verdicts", ()))]
    rows, needs = {row["id"]: row for row in judged}, draft.needs
    asked = {use["id"] for use in plan.get("destructive", ())}
    shown = []
    for number, (name, line) in enumerate(zip(draft.ids, draft.lines, strict=True)):
        about = [one for one in problems if name in {one.details.get("id"), f"line{one.details.get('line')}"}]
        needed = [draft.ids[other] for other in sorted(needs[number])] if needs else []
        step = _step(
            permissions, line, DraftStep(id=name, tool="", needs=needed, state="refused", problems=about), explained
        )
        # What the plan says of a step beyond its fields is a verdict, too, whoever decides it.
        notes = [str(text) for key, text in rows.get(name, {}).items() if key not in _PLANNED_FIELDS]
        shown.append(
            replace(step, notes=notes, state="asks" if name in asked and step.state == "allowed" else step.state)
        )
    return shown


def offered_references(draft: Draft, index: int, permissions: Permissions) -> list[str]:
    """Return the references that a step can make: to its own element, and to the lists and columns of earlier steps."""
    offered: list[str] = []
    for other in draft.earlier(index):
        name, tool = draft.ids[other], find_tool(draft.lines[other], permissions)
        columns = [one for one in tool.shows.fields if one.isidentifier()] if tool else []
        if draft.lines[index].get("each") == f"${{{name}.items}}":
            offered[:0] = [f"${{each.{column}}}" for column in columns]
        offered += [f"${{{name}.items[0].{column}}}" for column in columns] or [f"${{{name}.raw}}"]
        offered.append(f"${{{name}.items}}")
    return offered


def find_tool(line: DraftLine, permissions: Permissions) -> Tool | None:
    """Return the tool of a line; None where the person has no such tool."""
    try:
        return permissions.tool(*permissions.names(str(line.get("module", "")), str(line.get("tool", ""))))
    except McpistError:
        return None


def _step(permissions: Permissions, line: DraftLine, step: DraftStep, explained: Any) -> DraftStep:
    """Return a step with what is decided about the use of its tool."""
    tool = find_tool(line, permissions)
    if tool is None:
        return replace(step, tool=f"{line.get('module', '')}.{line.get('tool', '')}".strip("."))
    explanation: Explanation = explained(tool.module, tool.name)
    error = explanation.refusal.error if explanation.refusal else None
    problems = [*step.problems, *([error] if error and error.code not in {one.code for one in step.problems} else [])]
    state: StepState = "incomplete" if step.problems else "allowed"
    if isinstance(error, AccountError):
        state = "account"
    elif any(isinstance(one, AdministratorError) or one is error for one in problems):
        state = "refused"
    elif not problems and explanation.asks_first:
        state = "approval" if permissions.approval_mode([tool]) else "asks"
    service = str(error.details.get("service", "")) if isinstance(error, AccountError) else ""
    name, account = f"{tool.module}.{tool.name}", explanation.account
    return replace(
        step, tool=name, effect=tool.effect, state=state, problems=problems, account=account, service=service
    )
