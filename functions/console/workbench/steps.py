"""The steps of a draft as a page shows them: each with the verdict on it before anything runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from console.batches.layout import Layout, layout
from console.batches.picture import MAX_LABEL_COLUMNS, MAX_TOOL_COLUMNS, fitted
from console.workbench.draft import Draft, DraftLine, names_of
from mcpist.errors import AccountError, AdministratorError, McpistError
from mcpist.running.explanation import Explanation, explain
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Effect, Tool

_PLANNED_FIELDS = {
    *("id", "line", "tool", "effect", "needs", "params"),
    *("each", "when", "on_error", "timeout", "retry", "account"),
}
"""The fields of a step in a plan that its line has, too."""

type StepState = Literal["allowed", "asks", "approval", "account", "refused", "incomplete"]


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step of a draft."""

    id: str
    line: DraftLine
    tool: str
    """The full name."""
    effect: Effect | None
    """None for a tool that the person cannot use."""
    needs: Sequence[str]
    state: StepState
    problems: Sequence[McpistError]
    """The errors of the plan, and of the decisions about the use."""
    account: str
    """The account that will act."""
    service: str
    """The service whose account the person has to connect; empty for none."""
    notes: Sequence[str] = ()
    """The texts of the plan about it, besides its fields."""

    @property
    def label(self) -> str:
        """The id, as far as its node has room."""
        return fitted(self.id, MAX_LABEL_COLUMNS)

    @property
    def tool_label(self) -> str:
        """The tool, as far as the node has room."""
        return fitted(self.tool, MAX_TOOL_COLUMNS)


@dataclass(frozen=True, slots=True)
class PlannedDraft:
    """A draft with its picture, its problems and its plan."""

    steps: Sequence[DraftStep]
    drawn: Layout | None
    """The picture; None without steps, and where they wait for each other."""
    problems: Sequence[McpistError] = ()
    """The problems of the whole batch."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """The plan as a dry run answers it; empty while there are problems."""


def planned(
    permissions: Permissions, draft: Draft, plan: Mapping[str, Any], problems: Iterable[McpistError]
) -> PlannedDraft:
    """Return the steps of a draft with the verdicts on them, from its plan or its problems."""
    problems, needs = list(problems), draft.needs
    explained = cache(lambda module, tool: explain(permissions, module, tool))
    rows = {row["id"]: row for row in plan.get("steps", ())}
    asked = {use["id"] for use in plan.get("destructive", ())}
    shown = []
    for number, (name, line) in enumerate(zip(draft.ids, draft.lines, strict=True)):
        about = [one for one in problems if name in {one.details.get("id"), f"line{one.details.get('line')}"}]
        needed = [draft.ids[other] for other in sorted(needs[number])] if needs else []
        step = _step(permissions, line, name, needed, about, explained)
        # What the plan says of a step beyond its fields is a verdict, too, whoever decides it.
        notes = [str(text) for key, text in rows.get(name, {}).items() if key not in _PLANNED_FIELDS]
        asks = step.state == "allowed" and name in asked
        shown.append(replace(step, notes=notes, state="asks" if asks else step.state))
    others = [one for one in problems if not any(one in step.problems for step in shown)]
    return PlannedDraft(shown, layout(needs) if needs else None, others, plan)


def offered_references(draft: Draft, index: int, permissions: Permissions) -> list[str]:
    """Return the references that a step can make to the columns of the steps before it, and to its own element."""
    offered: list[str] = []
    for other in draft.earlier(index):
        name, tool = draft.ids[other], find_tool(draft.lines[other], permissions)
        columns = [one for one in tool.shows.fields if one.isidentifier()] if tool else []
        if draft.lines[index].get("each") == f"${{{name}.items}}":
            offered[:0] = [f"${{each.{column}}}" for column in columns]
        offered += [f"${{{name}.items[0].{column}}}" for column in columns] or [f"${{{name}.raw}}"]
    return offered


def offered_lists(draft: Draft, index: int) -> list[str]:
    """Return the references to the lists over which a step can run."""
    return [f"${{{draft.ids[other]}.items}}" for other in draft.earlier(index)]


def find_tool(line: DraftLine, permissions: Permissions) -> Tool | None:
    """Return the tool of a line; None where the person has no such tool."""
    try:
        return permissions.tool(*names_of(line, permissions))
    except McpistError:
        return None


def _step(
    permissions: Permissions,
    line: DraftLine,
    name: str,
    needs: Sequence[str],
    problems: list[McpistError],
    explained: Any,
) -> DraftStep:
    tool = find_tool(line, permissions)
    full_name = f"{tool.module}.{tool.name}" if tool else f"{line.get('module', '')}.{line.get('tool', '')}".strip(".")
    if tool is None:
        return DraftStep(name, line, full_name, None, needs, "refused", problems, "", "")
    explanation: Explanation = explained(tool.module, tool.name)
    error = explanation.refusal.error if explanation.refusal else None
    state: StepState = "incomplete" if problems else "allowed"
    if isinstance(error, AccountError):
        state = "account"
    elif error or any(isinstance(one, AdministratorError) for one in problems):
        state = "refused"
    elif not problems and explanation.asks_first:
        state = "approval" if permissions.approval_mode([tool]) else "asks"
    service = str(error.details.get("service", "")) if isinstance(error, AccountError) else ""
    if error and error.code not in {one.code for one in problems}:
        problems = [*problems, error]
    return DraftStep(name, line, full_name, tool.effect, needs, state, problems, explanation.account, service)
