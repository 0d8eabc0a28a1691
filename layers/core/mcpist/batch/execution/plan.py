"""The plan: a whole batch, checked before anything runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.batch.language.graph import Graph, canonical, find_cycle
from mcpist.batch.language.picture import picture
from mcpist.batch.language.references import EACH, Reference, check, check_element, references
from mcpist.batch.language.steps import Problems, Step, parse
from mcpist.batch.ledger.items import check_size
from mcpist.batch.machine.definition import Machine, machine, relay
from mcpist.errors import CyclicSteps, GraphTooLarge, McpistError, UnknownStep, UnresolvedReference
from mcpist.tools.catalogue import nearest
from mcpist.tools.permissions import Sieve
from mcpist.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps that may run, their tools, and what each waits for.

    Their order is the graph's own: batches that differ only in the order of their lines have one machine.
    """

    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    graph: Graph

    @property
    def fans(self) -> frozenset[int]:
        """The steps with `each`."""
        return frozenset(index for index, step in enumerate(self.steps) if step.each)

    @property
    def lenient(self) -> frozenset[int]:
        """The steps whose dependents run however they end."""
        return frozenset(index for index, step in enumerate(self.steps) if step.on_error == "continue")

    @property
    def lines(self) -> list[tuple[int, Step, Tool]]:
        """The steps with their numbers and tools, in the order in which they were written."""
        found = zip(range(len(self.steps)), self.steps, self.tools, strict=True)
        return sorted(found, key=lambda line: line[1].line)

    def made(self, step_runner: str) -> Machine:
        """The machine for this graph, or the relay where it is too tangled for one."""
        try:
            return machine(self.graph, step_runner, self.fans)
        except GraphTooLarge:
            return relay(self.graph, step_runner)

    def as_dict(self, made: Machine) -> dict[str, Any]:
        """The plan with its machine for people and models: each step, what it does and waits for, and the sizes."""
        steps = [self._shown(index, step, tool) for index, step, tool in self.lines]
        shape = {"form": made.form, "exact": made.exact, "states": made.states, "depth": made.depth}
        drawn = picture([step.id for step in self.steps], self.graph.needs, self.fans)
        return {"steps": steps, **shape, "picture": drawn}

    def _shown(self, index: int, step: Step, tool: Tool) -> dict[str, Any]:
        needs = sorted((self.steps[need] for need in self.graph.needs[index]), key=lambda need: need.line)
        wishes = {
            "each": step.each,
            "when": step.when,
            "on_error": step.on_error if step.on_error != "stop" else None,
            "timeout": step.timeout,
        }
        return {
            "id": step.id,
            "line": step.line,
            "tool": f"{step.module}.{step.tool}",
            "effect": tool.effect,
            "needs": [need.id for need in needs],
            "params": step.params,
            **{name: wish for name, wish in wishes.items() if wish},
        }


def plan(commands: str | list[Any], sieve: Sieve) -> Plan:
    """The plan of a batch; the first error is raised with all others in its `problems`."""
    problems: Problems = []
    return _plan(parse(commands, problems), problems, sieve)


def replan(steps: Sequence[Step], sieve: Sieve) -> Plan:
    """The plan of steps that have been one before: roles may have changed since."""
    return _plan(steps, [], sieve)


def _plan(steps: Sequence[Step], problems: Problems, sieve: Sieve) -> Plan:
    unreadable = {problem.details["id"] for problem in problems if "id" in problem.details}
    known = {step.id: step for step in steps}
    tools = {step.id: tool for step in steps if (tool := _tool(step, sieve, problems))}
    named = {step.id: index for index, step in enumerate(steps) if step.named}
    needs = [_needs(step, named, _Known(known, tools), problems) for step in steps]
    problems = [problem for problem in problems if not _names(problem, unreadable)]
    if not problems:
        _refuse_cycle(steps, needs, problems)
    _raise(problems)
    graph = Graph(tuple(needs))
    order = canonical(graph, frozenset(index for index, step in enumerate(steps) if step.each))
    ordered = tuple(steps[index] for index in order)
    return Plan(ordered, tuple(tools[step.id] for step in ordered), graph.renumbered(order))


@dataclass(frozen=True, slots=True)
class _Known:
    """The steps of a batch and their tools, as far as they could be read, by id."""

    steps: dict[str, Step]
    tools: dict[str, Tool]


def _tool(step: Step, sieve: Sieve, problems: Problems) -> Tool | None:
    """The step's tool, with the arguments that are known now checked against its schema."""
    try:
        tool = sieve.tool(step.module, step.tool)
    except McpistError as error:
        problems.append(error.at(line=step.line, id=step.id))
        return None
    try:
        unresolved = {name for name, value in step.params.items() if references(value, f"params.{name}")}
        check_size(step.params, step.when)
        tool.check(step.params, unresolved)
    except McpistError as error:
        problems.append(error.at(line=step.line, id=step.id))
    return tool


def _needs(step: Step, named: dict[str, int], known: _Known, problems: Problems) -> frozenset[int]:
    """The indexes of the steps that a step waits for: those it names and those it refers to."""
    found: set[int] = set()
    for field, name in _names_of(step, known, problems):
        if name in named:
            found.add(named[name])
        else:
            nearby = nearest(name, named)
            problems.append(UnknownStep(field=field, line=step.line, id=step.id, step=name, known=nearby))
    return frozenset(found)


def _names_of(step: Step, known: _Known, problems: Problems) -> Iterator[tuple[str, str]]:
    """The fields in which a step names another, and the name; references are checked against what that one shows."""
    for name in step.after:
        yield "after", name
    for reference in _references(step, problems):
        try:
            _check(reference, step, known)
        except McpistError as error:
            problems.append(error.at(line=step.line, id=step.id))
        if reference.step != EACH:
            yield reference.field, reference.step


def _references(step: Step, problems: Problems) -> Iterator[Reference]:
    """The step's references; malformed ones in its params have been reported with its tool."""
    for value, field in ((step.params, "params"), (step.each, "each"), (step.when, "when")):
        try:
            yield from references(value, field)
        except McpistError as error:
            if field != "params":
                problems.append(error.at(line=step.line, id=step.id))


def _check(reference: Reference, step: Step, known: _Known) -> None:
    """Refuse a reference that can lead nowhere."""
    if reference.step == EACH:
        _check_element(reference, step, known)
    elif tool := known.tools.get(reference.step):
        check(reference, tool.shows, fan=bool(known.steps[reference.step].each))


def _check_element(reference: Reference, step: Step, known: _Known) -> None:
    """Refuse `${each}` where there is no element, or, over another step's rows, where those have no such column."""
    if not step.each or reference.field == "each":
        raise UnresolvedReference(
            field=reference.field,
            reference=reference.text,
            problem="it stands for an element, and here is none",
            known='Give the step a list: "each": "${find.items}".',
        )
    try:
        (source,) = references(step.each, "each")
    except UnresolvedReference:  # it is reported where it stands
        return
    if source.keys == ("items",) and (tool := known.tools.get(source.step)):
        check_element(reference, tool.shows, source.step)


def _refuse_cycle(steps: Sequence[Step], needs: list[frozenset[int]], problems: Problems) -> None:
    cycle = find_cycle(needs)
    if cycle:
        first = steps[min(cycle)]
        names = " -> ".join(steps[index].id for index in cycle)
        problems.append(CyclicSteps(field="after", line=first.line, id=first.id, cycle=names))


def _names(problem: McpistError, unreadable: set[str]) -> bool:
    """Whether it says that a step is unknown whose own line has a problem: that one alone is to be corrected."""
    return isinstance(problem, UnknownStep) and problem.details["step"] in unreadable


def _raise(problems: Problems) -> None:
    """Raise the first problem by line, with the others in its details; a tool's schema stands only with the first."""
    if not problems:
        return
    told: set[str] = set()
    ordered = sorted(problems, key=lambda problem: problem.details.get("line", 0))
    for problem in ordered:
        if "schema" in problem.details:
            tool = f"{problem.details['module']}.{problem.details['tool']}"
            if tool in told:
                del problem.details["schema"]
            told.add(tool)
    first, *others = ordered
    raise first.at(problems=others) if others else first
