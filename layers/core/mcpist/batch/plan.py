"""The plan: a whole batch, checked before anything runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mcpist.batch.graph import Graph, find_cycle
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

    def as_dict(self) -> list[dict[str, Any]]:
        """The plan for people and models: each step, its tool, what it does and what it waits for."""
        ids = [step.id for step in self.steps]
        return [
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


def plan(commands: str | list[Any], sieve: Sieve) -> Plan:
    """The plan of a batch; the first error is raised with all others in its `problems`."""
    problems: Problems = []
    steps = parse(commands, problems)
    tools = {step.id: tool for step in steps if (tool := _tool(step, sieve, problems))}
    needs = [_needs(step, steps, tools, problems) for step in steps]
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


def _needs(step: Step, steps: list[Step], tools: dict[str, Tool], problems: Problems) -> frozenset[int]:
    """The indexes of the steps that a step waits for: those it names and those it refers to."""
    indexes = {other.id: index for index, other in enumerate(steps)}
    found: set[int] = set()
    for name in step.after:
        if name in indexes:
            found.add(indexes[name])
        else:
            problems.append(_unknown(step, "after", name, indexes))
    for reference in _references(step):
        source = indexes.get(reference.step)
        if source is None or not steps[source].named:
            problems.append(_unknown(step, f"params.{reference.field}", reference.step, indexes))
            continue
        found.add(source)
        if tool := tools.get(reference.step):
            try:
                check(reference, tool.shows)
            except McpistError as error:
                problems.append(error.at(line=step.line, id=step.id))
    return frozenset(found)


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


def _unknown(step: Step, field: str, name: str, indexes: Iterable[str]) -> UnknownStep:
    return UnknownStep(field=field, line=step.line, id=step.id, step=name, known=nearest(name, indexes))


def _raise(problems: Problems) -> None:
    """Raise the first problem by line, with the others in its details."""
    if not problems:
        return
    first, *others = sorted(problems, key=lambda problem: problem.details.get("line", 0))
    raise first.at(problems=[other.as_dict() for other in others]) if others else first
