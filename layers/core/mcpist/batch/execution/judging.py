"""The verdicts of policies about a batch: about all its steps when it is planned, and the place of one that runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcpist.batch.language.graph import Graph, Steps
from mcpist.batch.language.references import EACH, find_references
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger.records import Entry, Header
from mcpist.caller import Policies
from mcpist.running.policy import facts_of, judge, refusal
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

if TYPE_CHECKING:
    from mcpist.errors import McpistError
    from mcpist.policies.decision import Verdict
    from mcpist.policies.facts import ToolFacts
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

    planner = _planner(permissions.caller.policies, dict(enumerate(steps)), permissions.caller.heard)
    parts = zip(steps, tools, graph.needs, graph.ancestors, strict=True)
    planned = [planner.planned(step, tool.effect, tool, needs, ancestors) for step, tool, needs, ancestors in parts]
    # Of the steps of a resumed batch it is not known here which have run already.
    found = places(planned, counts=not resumed)

    def facts(step: Step, tool: Tool, place: "StepPlace") -> "ToolFacts":
        module, unresolved = permissions.catalogue.module(tool.module), _unresolved(step)
        return facts_of(
            permissions, module, tool, step.params, account=step.account, place=place, unresolved=unresolved
        )

    return judge(permissions, list(map(facts, steps, tools, found)))


def refusals(steps: Sequence[Step], verdicts: "Sequence[Verdict]") -> "list[McpistError]":
    """Return the errors of the steps that policies refuse; the first by line has the verdicts about all steps."""
    judged = sorted(zip(steps, verdicts, strict=bool(verdicts)), key=lambda pair: pair[0].line)
    found = []
    for step, verdict in judged:
        if error := refusal(verdict, _name(step)):
            found.append(error.with_details(line=step.line, id=step.id))
    for first in found[:1]:
        table = [{"id": step.id, "line": step.line, "policy": verdict.text} for step, verdict in judged]
        first.with_details(verdicts=table)
    return found


def place_of(head: Header, entry: Entry, permissions: Permissions, get_entries: GetEntries) -> "StepPlace | None":
    """Return the place of a step that is about to run: what reaches it, and what has succeeded before it.

    The other steps are read only where a policy looks at them.
    """
    if (policies := permissions.caller.policies) is None:
        return None
    from mcpist.policies.place import StepPlace, reached_by
    from mcpist.policies.rules import rules_of

    rules = rules_of(policies.text)
    if not (rules.lookers("before") or rules.lookers("labels")):
        return StepPlace(in_batch=True)
    ancestors = Graph(head.needs).ancestors
    known = sorted({*ancestors[entry.index], entry.index})
    entries = {one.index: one for one in get_entries(head.pk, known)}
    planner = _planner(policies, {number: one.step for number, one in entries.items()}, head.heard)
    permissions.load_tools({one.step.module for one in entries.values()})
    planned = {}
    for number, one in entries.items():
        tool = permissions.catalogue.find_tool(one.step.module, one.step.tool)
        planned[number] = planner.planned(one.step, one.effect, tool, head.needs[number], ancestors[number])
    succeeded = (planned[one].tool for one in ancestors[entry.index] if head.outcome.get(one) == "succeeded")
    return StepPlace(True, *reached_by(planned, entry.index), frozenset(succeeded))


@dataclass(frozen=True, slots=True)
class _Source:
    """A value of another step that reaches an argument."""

    field: str
    """The names of the argument and of the parts of it, joined by dots; empty for a step's list by itself."""
    step: str
    column: str
    """The last name in its path."""


def _sources(step: Step) -> Iterator[_Source]:
    """Yield the values that a step refers to; an element of its list has the source of the list."""
    lists = [one for one in find_references(step.each) if one.step != EACH]
    has_elements = False
    for one in find_references(step.params):
        has_elements = has_elements or one.step == EACH
        for source in lists if one.step == EACH else (one,):
            keys = (*source.keys, *one.keys) if one.step == EACH else one.keys
            yield _Source(one.field.partition(".")[2], source.step, _column(keys))
    if not has_elements:
        yield from (_Source("", one.step, _column(one.keys)) for one in lists)


def _column(keys: Sequence[str | int]) -> str:
    return next((key for key in reversed(keys) if isinstance(key, str)), "")


@dataclass(frozen=True, slots=True)
class _Planner:
    """The facts about a batch that decide what its references bring to a step."""

    masks: tuple[str, ...]
    """The columns with labels of their own."""
    steps: Mapping[str, tuple[int, Step]]
    """The steps by their ids, with their numbers."""
    heard: str
    """The event type whose fields are among the arguments: which of them cannot be seen any more."""

    def planned(self, step: Step, effect: str, tool: Tool | None, needs: Steps, ancestors: Steps) -> "PlannedStep":
        """Return a step as policies look at it; without its tool no argument is known to take numbers alone."""
        from mcpist.policies.place import PlannedStep, is_plain

        schema = tool.input_schema if tool else {}
        plain, texts = set[int](), set[int]()
        columns = {self.heard} if self.heard and (step.params or step.each) else set[str]()
        for source in _sources(step):
            number, other = self.steps[source.step]
            name = f"{_name(other)}:{source.column}"
            if any(fnmatchcase(name, mask) for mask in self.masks):
                columns.add(name)
            elif is_plain(schema, source.field, source.column, is_same_module=other.module == step.module):
                plain.add(number)
            else:
                texts.add(number)
        return PlannedStep(
            _name(step),
            effect,
            needs,
            frozenset(texts),
            ancestors,
            always_succeeds=step.on_error == "stop",
            runs_often=bool(step.each),
            module=step.module,
            columns=frozenset(columns),
            plain=frozenset(plain),
        )


def _planner(policies: Policies, steps: Mapping[int, Step], heard: str) -> _Planner:
    masks = tuple(line.rpartition("=")[0] for line in policies.labels if ":" in line)
    return _Planner(masks, {step.id: (number, step) for number, step in steps.items()}, heard)


def _name(step: Step) -> str:
    return f"{step.module}.{step.tool}"


def _unresolved(step: Step) -> dict[str, str]:
    """Return the arguments whose values are not known, each with the references in it."""
    named = {name: find_references(value) for name, value in step.params.items()}
    return {
        name: ", ".join(dict.fromkeys(f"${{{one.text}}}" for one in found)) for name, found in named.items() if found
    }
