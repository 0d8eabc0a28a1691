"""Plan a batch: check all of it before anything runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcpist.batch.language.columns import Source, check_element, check_reference
from mcpist.batch.language.graph import Graph, canonical_order, find_cycle, mermaid_flowchart
from mcpist.batch.language.references import (
    EACH,
    Reference,
    find_foreign_references,
    find_references,
    without_result,
)
from mcpist.batch.language.steps import MAX_PROBLEMS, Problems, Step, parse
from mcpist.batch.ledger.items import check_size
from mcpist.batch.machine.definition import Machine, build_machine, build_relay
from mcpist.batch.machine.layout import MachineTooLarge
from mcpist.errors import CyclicSteps, InvalidArguments, McpistError, UnknownStep, UnresolvedReference
from mcpist.files.parameters import reference_names
from mcpist.people.in_flight import steps_at_once
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.correction import correcting
from mcpist.tools.declare.tolerance import tolerant
from mcpist.tools.declare.tool import Tool


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps that may run, their tools, and the graph of their needs.

    They are in the graph's canonical order: batches that differ only in the order of their lines share a machine.
    """

    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    graph: Graph

    @property
    def map_steps(self) -> frozenset[int]:
        """The steps with `each`."""
        return frozenset(index for index, step in enumerate(self.steps) if step.each)

    @property
    def continue_on_error(self) -> frozenset[int]:
        """The steps whose dependents run however they end."""
        return frozenset(index for index, step in enumerate(self.steps) if step.on_error == "continue")

    @property
    def tail_reads(self) -> frozenset[int]:
        """The steps that only read, once, and that only a chain of such steps follows."""
        reads = {index for index, tool in enumerate(self.tools) if tool.effect == "reads"}
        return self.graph.tails(frozenset(reads - self.map_steps))

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


def plan(commands: str | list[Any], permissions: Permissions) -> Plan:
    """Plan a batch; the first error is raised with all others in its `problems`."""
    problems: Problems = []
    return _plan(parse(commands, problems), problems, permissions)


def replan(steps: Sequence[Step], permissions: Permissions) -> Plan:
    """Plan the steps of an old batch again: roles may have changed since."""
    return _plan(steps, [], permissions)


def _plan(written: Sequence[Step], problems: Problems, permissions: Permissions) -> Plan:
    unreadable = {problem.details["id"] for problem in problems if "id" in problem.details}
    steps, tools = list[Step](), dict[str, Tool]()
    for one in written:
        step, tool = _find_tool(one, permissions, problems)
        steps.append(step)
        tools |= {step.id: tool} if tool else {}
    known = {step.id: step for step in steps}
    named = {step.id: index for index, step in enumerate(steps) if step.has_explicit_id}
    parsed = _ParsedSteps(known, tools, permissions)
    needs = [_find_needs(step, named, parsed, problems) for step in steps]
    # That a step is unknown is no news where its line has a problem of its own.
    problems = [one for one in problems if not (isinstance(one, UnknownStep) and one.details["step"] in unreadable)]
    if not problems and (cycle := find_cycle(needs)):
        first = steps[min(cycle)]
        names = " -> ".join(steps[index].id for index in cycle)
        problems.append(CyclicSteps(field="after", line=first.line, id=first.id, cycle=names))
    _raise_problems(problems)
    graph = Graph(tuple(needs))
    order = canonical_order(graph, frozenset(index for index, step in enumerate(steps) if step.each))
    ordered = tuple(steps[index] for index in order)
    return Plan(ordered, tuple(tools[step.id] for step in ordered), graph.renumbered(order))


@dataclass(frozen=True, slots=True)
class _ParsedSteps:
    """The steps that could be parsed and the tools that were found, by step id."""

    steps: dict[str, Step]
    tools: dict[str, Tool]
    permissions: Permissions

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


def _find_tool(step: Step, permissions: Permissions, problems: Problems) -> tuple[Step, Tool | None]:
    """Return the step as its tool's module names it, and the tool; the arguments that are known now are checked."""
    try:
        module, name = permissions.names(step.module, step.tool)
        tool = permissions.tool(module, name)
    except McpistError as error:
        problems.append(error.with_details(line=step.line, id=step.id))
        return step, None
    step = replace(step, module=module, tool=name, params=tolerant(tool.input_schema, step.params))
    found: Problems = []
    unresolved = {name for name, value in step.params.items() if _is_unresolved(name, value, found)}
    try:
        check_size(step.params, step.when)
        unresolved |= reference_names(tool.input_schema, step.params)
        with correcting(tool, step.params, unresolved, lambda params: replace(step, params=params).as_line()):
            tool.check(step.params, unresolved)
    except InvalidArguments as error:
        found += _one_by_one(error)
    except McpistError as error:
        found.append(error)
    problems += [problem.with_details(line=step.line, id=step.id) for problem in found]
    return step, tool


def _is_unresolved(name: str, value: Any, problems: Problems) -> bool:
    """Return whether an argument has references; a malformed one is a problem."""
    try:
        return bool(find_references(value, f"params.{name}"))
    except McpistError as error:
        problems.append(error)
        return True


def _one_by_one(error: InvalidArguments) -> Iterator[InvalidArguments]:
    """Yield the error for the first argument, then one for each of its further problems."""
    others = error.details.pop("problems", [])
    yield error
    yield from (InvalidArguments(module=error.details["module"], tool=error.details["tool"], **one) for one in others)


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
            elif source := known.source(reference.step):
                check_reference(reference, source)
        except McpistError as error:
            problems.append(error.with_details(line=step.line, id=step.id))
        if reference.step != EACH:
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
    except UnresolvedReference:  # it is reported with the field `each`
        return
    if without_result(rows.keys) == ("items",) and (source := known.source(rows.step)):
        check_element(reference, source, rows.step)


def _raise_problems(problems: Problems) -> None:
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
