"""The verdicts of policies about a batch: about all its steps when it is planned, and the place of one that runs."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from mcpist.batch.language.graph import Graph, Steps
from mcpist.batch.language.references import EACH, Reference, find_references
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Policies
from mcpist.running.policy import JudgedUse, judge, refusal
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

if TYPE_CHECKING:
    from mcpist.errors import McpistError
    from mcpist.policies.decision import Verdict
    from mcpist.policies.place import PlannedStep, StepPlace

type GetEntries = Callable[[str, Sequence[int]], Sequence[Entry]]
"""Returns some steps of a batch, given by its partition key."""


def judge_steps(
    permissions: Permissions, steps: Sequence[Step], tools: Sequence[Tool], graph: Graph, *, resumed: bool
) -> "list[Verdict]":
    """Return the verdicts about the steps of a batch; an empty list where the organization has no policies."""
    if permissions.caller.policies is None:
        return []
    from mcpist.policies.place import places

    numbers, ancestors = {step.id: number for number, step in enumerate(steps)}, graph.ancestors
    column = _columns(permissions.caller.policies, steps)
    planned = [
        _planned(step, tool.effect, numbers, needs, ancestors[number], column)
        for number, (step, tool, needs) in enumerate(zip(steps, tools, graph.needs, strict=True))
    ]
    # Of the steps of a resumed batch it is not known here which have run already.
    found = places(planned, counts=not resumed)
    modules = permissions.catalogue.module
    uses = [
        JudgedUse(modules(tool.module), tool, step.params, step.account or "", place, _unresolved(step))
        for step, tool, place in zip(steps, tools, found, strict=True)
    ]
    return judge(permissions, uses)


def refusals(steps: Sequence[Step], verdicts: "Sequence[Verdict]") -> "list[McpistError]":
    """Return the errors of the steps that policies refuse; the first by line has the verdicts about all steps."""
    judged = sorted(zip(steps, verdicts, strict=bool(verdicts)), key=lambda pair: pair[0].line)
    found = []
    for step, verdict in judged:
        if error := refusal(verdict, f"{step.module}.{step.tool}"):
            found.append(error.with_details(line=step.line, id=step.id))
    for first in found[:1]:
        table = [{"id": step.id, "line": step.line, "policy": verdict.text} for step, verdict in judged]
        first.with_details(verdicts=table)
    return found


def place_of(head: Header, entry: Entry, policies: Policies | None, get_entries: GetEntries) -> "StepPlace | None":
    """Return the place of a step that is about to run: what reaches it, and what has succeeded before it.

    The other steps are read only where a policy looks at them.
    """
    if policies is None:
        return None
    from mcpist.policies.place import StepPlace, reached_by
    from mcpist.policies.rules import rules_of

    rules = rules_of(policies.text)
    if not (rules.lookers("before") or rules.lookers("labels")):
        return StepPlace(in_batch=True)
    ancestors = Graph(head.needs).ancestors
    known = sorted({*ancestors[entry.index], entry.index})
    entries = {one.index: one for one in get_entries(head.pk, known)}
    numbers = {id_: number for number, id_ in enumerate(head.ids)}
    column = _columns(policies, [one.step for one in entries.values()])
    planned = {
        number: _planned(one.step, one.effect, numbers, head.needs[number], ancestors[number], column)
        for number, one in entries.items()
    }
    succeeded = (planned[one].tool for one in ancestors[entry.index] if head.outcome.get(one) == "succeeded")
    return StepPlace(True, reached_by(planned, entry.index), frozenset(succeeded))


def _columns(policies: Policies, steps: Sequence[Step]) -> Callable[[Reference], str]:
    """Return the function that names the column of a reference if it has labels of its own; "" if it has none."""
    masks = [line.rpartition("=")[0] for line in policies.labels if ":" in line]
    tools = {step.id: f"{step.module}.{step.tool}" for step in steps}

    def named(reference: Reference) -> str:
        name = f"{tools[reference.step]}:{next((key for key in reversed(reference.keys) if isinstance(key, str)), '')}"
        return name if any(fnmatchcase(name, mask) for mask in masks) else ""

    return named


def _planned(
    step: Step,
    effect: str,
    numbers: Mapping[str, int],
    needs: Steps,
    ancestors: Steps,
    column: Callable[[Reference], str],
) -> "PlannedStep":
    from mcpist.policies.place import PlannedStep

    written: Any = [step.params, step.each]
    columns = {one: column(one) for one in find_references(written) if one.step != EACH}
    return PlannedStep(
        f"{step.module}.{step.tool}",
        effect,
        needs,
        frozenset(numbers[one.step] for one, name in columns.items() if not name),
        ancestors,
        always_succeeds=step.on_error == "stop",
        runs_often=bool(step.each),
        module=step.module,
        columns=frozenset(filter(None, columns.values())),
    )


def _unresolved(step: Step) -> dict[str, str]:
    """Return the arguments whose values are not known, each with the references in it."""
    named = {name: find_references(value) for name, value in step.params.items()}
    return {
        name: ", ".join(dict.fromkeys(f"${{{one.text}}}" for one in found)) for name, found in named.items() if found
    }
