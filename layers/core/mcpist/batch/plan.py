"""The plan: a whole batch, checked before anything runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcpist.batch.graph import Graph, find_cycle
from mcpist.batch.machine import Machine
from mcpist.batch.references import Reference, check, references
from mcpist.batch.steps import Problems, Step, parse
from mcpist.errors import CyclicSteps, McpistError, UnknownStep
from mcpist.sieve import Sieve
from mcpist.tools.catalogue import nearest
from mcpist.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps that may run, their tools, and what each waits for."""

    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    graph: Graph

    def as_dict(self, made: Machine) -> dict[str, Any]:
        """The plan with its machine for people and models: each step, what it does and waits for, and the sizes."""
        ids = [step.id for step in self.steps]
        steps = [
            {
                "id": step.id,
                "line": step.line,
                "tool": f"{step.module}.{step.tool}",
                "effect": tool.effect,
                "needs": [ids[need] for need in sorted(self.graph.needs[index])],
                "params": step.params,
            }
            for index, (step, tool) in enumerate(zip(self.steps, self.tools, strict=True))
        ]
        return {"steps": steps, "states": made.states, "depth": self.graph.depth, "exact": True}


def plan(commands: str | list[Any], sieve: Sieve) -> Plan:
    """The plan of a batch; the first error is raised with all others in its `problems`."""
    problems: Problems = []
    steps = parse(commands, problems)
    unreadable = {problem.details["id"] for problem in problems if "id" in problem.details}
    tools = {step.id: tool for step in steps if (tool := _tool(step, sieve, problems))}
    named = {step.id: index for index, step in enumerate(steps) if step.named}
    needs = [_needs(step, named, tools, problems) for step in steps]
    problems = [problem for problem in problems if not _names(problem, unreadable)]
    if not problems:
        _refuse_cycle(steps, needs, problems)
    _raise(problems)
    return Plan(tuple(steps), tuple(tools[step.id] for step in steps), Graph(tuple(needs)))


def _tool(step: Step, sieve: Sieve, problems: Problems) -> Tool | None:
    """The step's tool, with the arguments that are known now checked against its schema."""
    try:
        tool = sieve.tool(step.module, step.tool)
    except McpistError as error:
        problems.append(error.at(line=step.line, id=step.id))
        return None
    try:
        unresolved = {reference.field.partition(".")[0] for reference in references(step.params)}
        tool.check(step.params, unresolved)
    except McpistError as error:
        problems.append(error.at(line=step.line, id=step.id))
    return tool


def _needs(step: Step, named: dict[str, int], tools: dict[str, Tool], problems: Problems) -> frozenset[int]:
    """The indexes of the steps that a step waits for: those it names and those it refers to."""
    found: set[int] = set()
    for field, name in _names_of(step, tools, problems):
        if name in named:
            found.add(named[name])
        else:
            known = nearest(name, named)
            problems.append(UnknownStep(field=field, line=step.line, id=step.id, step=name, known=known))
    return frozenset(found)


def _names_of(step: Step, tools: dict[str, Tool], problems: Problems) -> Iterator[tuple[str, str]]:
    """The fields in which a step names another, and the name; references are checked against what that one shows."""
    for name in step.after:
        yield "after", name
    for reference in _references(step):
        yield f"params.{reference.field}", reference.step
        if tool := tools.get(reference.step):
            try:
                check(reference, tool.shows)
            except McpistError as error:
                problems.append(error.at(line=step.line, id=step.id))


def _references(step: Step) -> list[Reference]:
    """The step's references; malformed ones have been reported with its tool."""
    try:
        return references(step.params)
    except McpistError:
        return []


def _refuse_cycle(steps: list[Step], needs: list[frozenset[int]], problems: Problems) -> None:
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
