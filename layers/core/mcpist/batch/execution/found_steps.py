"""The steps of a batch with their tools; those of saved batches take the place of the steps that use them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from mcpist.batch.language.references import find_references
from mcpist.batch.language.steps import MAX_BATCH_STEPS, Problems, Step
from mcpist.batch.ledger.items import check_size
from mcpist.batch.saved.expansion import MAX_SAVED_DEPTH, SEPARATOR, SavedTool, SavedUse, expand, follow_answers
from mcpist.batch.saved.records import MODULE
from mcpist.errors import CyclicSteps, DuplicateStep, InvalidArguments, InvalidLine, McpistError, TooManySteps
from mcpist.files.parameters import reference_names
from mcpist.running.policy import refusal_of_all
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.correction import correcting
from mcpist.tools.declare.tolerance import tolerant
from mcpist.tools.declare.tool import Tool


@dataclass(frozen=True, slots=True)
class Saving:
    """A batch that is about to be saved."""

    name: str
    """Empty where its steps are only looked at."""
    parameters: Collection[str]


class FoundSteps:
    """The steps that are found so far, with their tools."""

    def __init__(self, permissions: Permissions, problems: Problems, saving: Saving | None) -> None:
        self.tools: dict[str, Tool] = {}
        self.answers: dict[str, str] = {}
        self._uses: dict[str, SavedUse] = {}
        self._steps: list[Step] = []
        self._permissions = permissions
        self._problems = problems
        self._outermost = (saving.name,) if saving and saving.name else ()
        self._is_saving = saving is not None

    def add(self, written: Step, outer: tuple[str, ...] = (), *, alone: bool = False) -> None:
        """Add a step, or the steps of its saved batch; `outer` are the saved batches that it is in."""
        before = len(self._problems)
        step, tool = _find_tool(written, self._permissions, self._problems)
        if not isinstance(tool, SavedTool) or len(self._problems) > before:
            if step.id in self.tools:
                first = next(one.line for one in self._steps if one.id == step.id)
                self._problems.append(DuplicateStep(field="id", line=step.line, id=step.id, first_line=first))
            self._steps.append(step)
            self.tools |= {step.id: tool} if tool else {}
            return
        try:
            self._add_saved(step, tool, outer or self._outermost, alone=alone)
        except McpistError as error:
            self._problems.append(error.with_details(line=step.line, id=step.id))

    def _add_saved(self, step: Step, tool: SavedTool, outer: tuple[str, ...], *, alone: bool) -> None:
        if tool.name in outer:
            raise CyclicSteps(field="tool", cycle=" -> ".join(f"{MODULE}.{name}" for name in (*outer, tool.name)))
        if len(outer) >= MAX_SAVED_DEPTH:
            raise InvalidLine(field="tool", problem=f"saved batches are at most {MAX_SAVED_DEPTH} deep in each other")
        # Its steps are judged by their own tools; a rule about the saved batch itself forbids all of them.
        own = self._permissions.catalogue.module(MODULE)
        if not self._is_saving and (error := refusal_of_all(self._permissions, own, tool)):
            raise error
        prefix = "" if alone else f"{step.id}{SEPARATOR}"
        inner = expand(step, tool.saved, prefix)
        for one in inner:
            if len(self._steps) >= MAX_BATCH_STEPS:
                raise TooManySteps(field="commands", steps=len(self._steps) + len(inner), limit=MAX_BATCH_STEPS)
            self.add(one, (*outer, tool.name))
        answer = prefix + tool.saved.answer
        steps = (self._uses[one.id].steps if one.id in self._uses else (one.id,) for one in inner)
        use = SavedUse(self.answers.get(answer, answer), tuple(chain.from_iterable(steps)))
        self.answers[step.id] = use.answer
        if not alone:  # no other step refers to it, and one of its own may have its id
            self._uses[step.id] = use

    def linked(self) -> list[Step]:
        """Return the steps, which refer to the answers of saved batches; as they are where there are problems."""
        steps = self._steps
        if len(steps) > MAX_BATCH_STEPS and not any(isinstance(one, TooManySteps) for one in self._problems):
            self._problems.append(TooManySteps(field="commands", steps=len(steps), limit=MAX_BATCH_STEPS))
        if self._problems or not self._uses:
            return steps
        return [follow_answers(step, self._uses) for step in steps]


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
