"""Plan a batch: check all of it before anything runs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcpist.batch.execution.found_steps import FoundSteps, Saving
from mcpist.batch.execution.judging import judge_steps, refusals
from mcpist.batch.language.columns import Source, check_element, check_reference
from mcpist.batch.language.graph import Graph, canonical_order, find_cycle, mermaid_flowchart
from mcpist.batch.language.references import (
    EACH,
    PARAM,
    Reference,
    find_foreign_references,
    find_references,
    unresolved_error,
    without_result,
)
from mcpist.batch.language.steps import MAX_PROBLEMS, Problems, Step, parse
from mcpist.batch.machine.definition import Machine, build_machine, build_relay
from mcpist.batch.machine.layout import MachineTooLarge
from mcpist.errors import CyclicSteps, McpistError, UnknownStep, UnresolvedReference
from mcpist.people.in_flight import steps_at_once
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps that may run, their tools, and the graph of their needs.

    They are in the graph's canonical order: batches that differ only in the order of their lines share a machine.
    """

    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    graph: Graph
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The step whose answer is that of a saved batch, by the id of the step that uses it."""
    verdicts: "tuple[Verdict, ...]" = ()
    """What policies say of the steps; empty where the organization has none."""

    @property
    def verdict_by_id(self) -> "dict[str, Verdict]":
        """The verdicts by the ids of their steps."""
        return {step.id: verdict for step, verdict in zip(self.steps, self.verdicts, strict=False)}

    @property
    def map_steps(self) -> frozenset[int]:
        """The steps with `each`."""
        return frozenset(index for index, step in enumerate(self.steps) if step.each)

    @property
    def continue_on_error(self) -> frozenset[int]:
        """The steps whose dependents run however they end."""
        return frozenset(index for index, step in enumerate(self.steps) if step.on_error == "continue")

    @property
    def steps_by_line(self) -> list[tuple[int, Step, Tool]]:
        """The steps with their numbers and tools, in the order of their lines."""
        numbered = zip(range(len(self.steps)), self.steps, self.tools, strict=True)
        return sorted(numbered, key=lambda triple: triple[1].line)

    def build_machine(self, step_runner: str) -> Machine:
        """Return the machine for this graph, or the relay where the machine would be too large."""
        return machine_of(self.graph, step_runner, self.map_steps)

    def as_dict(self, machine: Machine) -> dict[str, Any]:
        """Return the plan for people and models: the steps with their effects and needs, and the machine's sizes."""
        steps = [self._step_dict(index, step, tool) for index, step, tool in self.steps_by_line]
        shape = {"form": machine.form, "states": machine.states, "depth": machine.depth}
        flowchart = mermaid_flowchart([step.id for step in self.steps], self.graph.needs, self.map_steps)
        return {"steps": steps, **shape, "picture": flowchart}

    def _step_dict(self, index: int, step: Step, tool: Tool) -> dict[str, Any]:
        needs = sorted((self.steps[need] for need in self.graph.needs[index]), key=lambda need: need.line)
        options = {
            "policy": self.verdicts[index].text if self.verdicts else "",
            "each": step.each,
            "when": step.when,
            "on_error": step.on_error if step.on_error != "stop" else None,
            "timeout": step.timeout,
            "retry": step.retry,
            "account": step.account,
            "undoes": step.undoes,
        }
        return {
            "id": step.id,
            "line": step.line,
            "tool": f"{step.module}.{step.tool}",
            "effect": tool.effect,
            "needs": [need.id for need in needs],
            "params": step.params,
            **{name: value for name, value in options.items() if value},
        }


def machine_of(graph: Graph, step_runner: str, map_steps: frozenset[int]) -> Machine:
    """Return the machine for a graph, or the relay where the machine would be too large."""
    try:
        return build_machine(graph, step_runner, map_steps, steps_at_once())
    except MachineTooLarge:
        return build_relay(graph, step_runner)


def plan(commands: str | list[Any], permissions: Permissions, saving: Saving | None = None) -> Plan:
    """Plan a batch; the first error is raised with all others in its `problems`.

    A batch that is about to be saved may refer to its parameters, whose values are not known yet.
    """
    problems: Problems = []
    return _plan(parse(commands, problems), problems, permissions, saving)


def replan(steps: Sequence[Step], permissions: Permissions) -> Plan:
    """Plan the steps of an old batch again: roles may have changed since."""
    return _plan(steps, [], permissions, resumed=True)


def _plan(
    written: Sequence[Step],
    problems: Problems,
    permissions: Permissions,
    saving: Saving | None = None,
    *,
    resumed: bool = False,
) -> Plan:
    unreadable = {problem.details["id"] for problem in problems if "id" in problem.details}
    found = FoundSteps(permissions, problems, saving)
    for one in written:
        found.add(one, alone=len(written) == 1)
    steps, tools = found.linked(), found.tools
    unreadable |= {*found.answers}
    known = {step.id: step for step in steps}
    named = {step.id: index for index, step in enumerate(steps) if step.has_explicit_id}
    parsed = _ParsedSteps(known, tools, permissions, saving)
    needs = [_find_needs(step, named, parsed, problems) for step in steps]
    # That a step is unknown is no news where its line has a problem of its own.
    problems = [one for one in problems if not (isinstance(one, UnknownStep) and one.details["step"] in unreadable)]
    if not problems and (cycle := find_cycle(needs)):
        first = steps[min(cycle)]
        names = " -> ".join(steps[index].id for index in cycle)
        problems.append(CyclicSteps(field="after", line=first.line, id=first.id, cycle=names))
    raise_problems(problems)
    graph = Graph(tuple(needs))
    order = canonical_order(graph, frozenset(index for index, step in enumerate(steps) if step.each))
    ordered = tuple(steps[index] for index in order)
    planned = Plan(ordered, tuple(tools[step.id] for step in ordered), graph.renumbered(order), found.answers)
    if saving:  # who runs it decides, not who saves it
        return planned
    verdicts = judge_steps(permissions, ordered, planned.tools, planned.graph, resumed=resumed)
    raise_problems(refusals(ordered, verdicts))
    return replace(planned, verdicts=tuple(verdicts))


@dataclass(frozen=True, slots=True)
class _ParsedSteps:
    """The steps that could be parsed and the tools that were found, by step id."""

    steps: dict[str, Step]
    tools: dict[str, Tool]
    permissions: Permissions
    saving: Saving | None

    def source(self, id_: str) -> Source | None:
        """Return the columns that references to a step may name; None where its tool was not found."""
        if not (tool := self.tools.get(id_)):
            return None
        return Source(
            tool.shows,
            is_list=bool(tool.paging or tool.shows.rows),
            is_map=bool(self.steps[id_].each),
            related=lambda: (other.shows for other in self.permissions.catalogue.module(tool.module).tools.values()),
        )


def _find_needs(step: Step, named: dict[str, int], known: _ParsedSteps, problems: Problems) -> frozenset[int]:
    """Return the indexes of the steps that a step waits for, by `after` and by reference."""
    needs: set[int] = set()
    foreign = find_foreign_references(step.params, named)
    problems += [error.with_details(line=step.line, id=step.id) for error in foreign]
    for field, name in _named_steps(step, known, problems):
        if len(problems) >= MAX_PROBLEMS:  # looking for similar names takes long
            break
        if name in named:
            needs.add(named[name])
        else:
            nearby = nearest(name, named)
            problems.append(UnknownStep(field=field, line=step.line, id=step.id, step=name, known=nearby))
    return frozenset(needs)


def _named_steps(step: Step, known: _ParsedSteps, problems: Problems) -> Iterator[tuple[str, str]]:
    """Yield each id that a step mentions, with its field; references are checked against that step's tool."""
    for name in step.after:
        yield "after", name
    for reference in _find_step_references(step, problems):
        try:
            if reference.step == EACH:
                _check_each_reference(reference, step, known)
            elif reference.step == PARAM:
                _check_parameter(reference, known.saving)
            elif source := known.source(reference.step):
                check_reference(reference, source)
        except McpistError as error:
            problems.append(error.with_details(line=step.line, id=step.id))
        if reference.step not in {EACH, PARAM}:
            yield reference.field, reference.step


def _find_step_references(step: Step, problems: Problems) -> Iterator[Reference]:
    """Yield the step's references; malformed ones in its params were reported with its tool."""
    for value, field in ((step.params, "params"), (step.each, "each"), (step.when, "when")):
        try:
            yield from find_references(value, field)
        except McpistError as error:
            if field != "params":
                problems.append(error.with_details(line=step.line, id=step.id))


def _check_each_reference(reference: Reference, step: Step, known: _ParsedSteps) -> None:
    """Refuse `${each}` outside a step with `each`, or with a column that the rows of the list do not have."""
    if not step.each or reference.field == "each":
        raise UnresolvedReference(
            field=reference.field,
            reference=reference.text,
            problem="it stands for an element, and here is none",
            known='Give the step a list: "each": "${find.items}".',
        )
    try:
        (rows,) = find_references(step.each, "each")
    except (UnresolvedReference, ValueError):  # it is reported with the field `each`, or it is a list
        return
    if without_result(rows.keys) == ("items",) and (source := known.source(rows.step)):
        check_element(reference, source, rows.step)


def _check_parameter(reference: Reference, saving: Saving | None) -> None:
    """Refuse a reference to a parameter outside a saved batch, or to one that it does not have."""
    if saving is None:
        known = "Save the batch first (saved.save)."
        raise unresolved_error(reference, "it stands for a parameter of a saved batch, and this is none", known)
    name = next(iter(reference.keys), None)
    if name not in saving.parameters:
        known = f"Parameters: {nearest(str(name), saving.parameters)}."
        raise unresolved_error(reference, f"there is no parameter {name}", known)


def raise_problems(problems: Problems) -> None:
    """Raise the first problem by line, with the others up to a limit; equal schemas of a tool are included once."""
    if not problems:
        return
    shown: list[Any] = []
    ordered = sorted(problems, key=lambda problem: problem.details.get("line", 0))[:MAX_PROBLEMS]
    for problem in ordered:
        schema = [problem.details.get(name) for name in ("module", "tool", "schema")]
        if "schema" in problem.details and schema in shown:
            del problem.details["schema"]
        shown.append(schema)
    first, *others = ordered
    raise first.with_details(problems=others) if others else first
