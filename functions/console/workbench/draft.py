"""A draft: the lines of a batch that a person makes, as the form carries them from one page to the next.

A page shows each as a step, with the verdict on it before anything runs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from console.tools.trying import ArgumentField, fields_of
from mcpist.batch.language.graph import find_cycle
from mcpist.batch.language.steps import MAX_BATCH_STEPS, Step
from mcpist.errors import AccountError, AdministratorError, McpistError
from mcpist.running.explanation import Explanation, explain
from mcpist.strict_json import load_json
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.parameters import parameters_of
from mcpist.tools.declare.tool import Tool

type DraftLine = dict[str, Any]
# As the language has them; its own search refuses those that are half typed.
_REFERENCE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_-]*)(?=[.\[}])")
MAX_STEP_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Draft:
    """The lines of a batch, of which some may be no steps yet."""

    lines: Sequence[DraftLine]
    unreadable: str = ""
    """The text as it was typed, where a line is no JSON object or there are too many; no button changes it then."""

    @property
    def text(self) -> str:
        """The draft as JSON Lines."""
        return self.unreadable or "\n".join(json.dumps(line, ensure_ascii=False) for line in self.lines)

    @property
    def ids(self) -> list[str]:
        """The id of each line; one without is named as a batch names it."""
        return [str(line.get("id") or f"line{number}") for number, line in enumerate(self.lines, start=1)]

    @property
    def needs(self) -> tuple[frozenset[int], ...] | None:
        """The lines that each one waits for, as far as they are written; None where they wait for each other."""
        number = {name: index for index, name in enumerate(self.ids)}
        named = [{*_REFERENCE.findall(json.dumps(line)), *after_of(line)} for line in self.lines]
        needs = tuple(frozenset(number[name] for name in names if name in number) for names in named)
        return None if find_cycle(needs) else needs

    def earlier(self, index: int) -> list[int]:
        """Return the lines that do not wait for this one, so that it may refer to them."""
        needs, waiting = self.needs or (), {index}
        for _ in needs:
            waiting |= {other for other, needed in enumerate(needs) if needed & waiting}
        return [other for other in range(len(needs)) if other not in waiting]

    def with_tool(self, module: str, tool: str) -> "Draft":
        """Return the draft with a step of this tool, under an id of its own."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:MAX_STEP_NAME_CHARACTERS]
        name = name if re.match("[A-Za-z_]", name) and name != "each" else f"step_{name}"
        new = next(one for one in (name, *(f"{name}{n}" for n in range(2, len(self.lines) + 3))) if one not in self.ids)
        return Draft([*self.lines, {"id": new, "module": module, "tool": tool, "params": {}, "output": True}])

    def without(self, name: str) -> "Draft":
        """Return the draft without a step."""
        return Draft([line for line, known in zip(self.lines, self.ids, strict=True) if known != name])

    def with_step(self, name: str, fields: Mapping[str, Any]) -> "Draft":
        """Return the draft with other fields of a step; empty ones are left out, and a new id is written everywhere."""
        number = self.ids.index(name)
        line = {"id": name, **self.lines[number], **fields}
        line = {key: value for key, value in line.items() if value or key == "params"}
        lines = [line if index == number else other for index, other in enumerate(self.lines)]
        new = str(line.get("id", name))
        return Draft(lines if new == name or new in self.ids else [_renamed(one, name, new) for one in lines])


def parse(text: str) -> Draft:
    """Return the draft of a text of JSON Lines."""
    try:
        draft = Draft([load_json(line) for line in text.splitlines() if line.strip()])
        # What no page and no program could read as it is written: half a character, 1e999.
        json.dumps(draft.lines, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return Draft([], text)
    is_draft = len(draft.lines) <= MAX_BATCH_STEPS and all(isinstance(line, dict) for line in draft.lines)
    return draft if is_draft else Draft([], text)


def step_fields(tool: Tool, permissions: Permissions, sent: Any, params: Mapping[str, Any]) -> list[ArgumentField]:
    """Return the fields of a step's arguments, as they were sent or as its line has them; a reference suits each."""
    schema = permissions.translation(tool.module).schema(tool.input_schema)
    return [one.with_reference() for one in fields_of(parameters_of(schema), sent, params)]


def written_arguments(fields: Sequence[ArgumentField]) -> dict[str, Any]:
    """Return the arguments of the fields; a value that its field does not take stays a text, and the plan names it."""
    return {one.parameter.name: one.value if one.problem else one.argument for one in fields if one.value}


def after_of(line: DraftLine) -> list[str]:
    """Return the steps for which a line waits besides those that it refers to."""
    after = line.get("after", [])
    listed = after if isinstance(after, list) else [after]
    return [one for one in listed if isinstance(one, str)]


def _renamed(line: DraftLine, old: str, new: str) -> DraftLine:
    """Return a line that refers to a step by its new id."""
    written = f"${{{json.dumps(new)[1:-1]}"
    text = _REFERENCE.sub(lambda found: written if found[1] == old else found[0], json.dumps(line))
    renamed: DraftLine = json.loads(text)
    after = [new if one == old else one for one in after_of(line)]
    return renamed | ({"after": after} if after else {})


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
