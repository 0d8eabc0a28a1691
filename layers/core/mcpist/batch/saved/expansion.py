"""Saved batches as tools, and as steps: the steps of one take the place of the step that uses it, before the plan.

So its steps are checked, confirmed, run and shown like those of any batch, and may do what their caller may do.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

from mcpist.batch.language.references import (
    EACH,
    PARAM,
    EachElement,
    Reference,
    escape,
    find_references,
    resolve_reference,
    rewrite,
    unresolved_error,
)
from mcpist.batch.language.steps import ALL, Condition, Problems, Step, parse
from mcpist.batch.saved.records import MODULE, SavedBatch
from mcpist.errors import InvalidLine, NotAList
from mcpist.render.shows import shows
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.schema import parameter_lines
from mcpist.tools.declare.schema_tool import SchemaTool
from mcpist.tools.declare.tool import ModuleMetadata

MAX_SAVED_DEPTH = 3
"""Of saved batches within each other."""
_OWN_OPTIONS = ("each", "each_limit", "on_error", "timeout", "retry", "retry_delay", "account")
_ONCE = "a step that runs a saved batch has none: set it on a step inside that batch, by a parameter if it varies"
SEPARATOR = "__"


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedTool(SchemaTool):
    """A saved batch as a tool of its organization; doors run it as a batch of one step."""

    saved: SavedBatch

    @classmethod
    def of(cls, saved: SavedBatch) -> "SavedTool":
        """Return the tool of a saved batch."""
        about = ModuleMetadata(author=saved.owner, version=f"{saved.version}.0.0")
        return cls(module=MODULE, effect=saved.effect, shows=shows(*saved.columns), about=about, saved=saved)

    @property
    def name(self) -> str:
        """The name under which it was saved."""
        return self.saved.name

    @property
    def description(self) -> str:
        """Its owner's description, with what is wrong with it."""
        problem = self.saved.problem
        return f"{self.saved.description} (Broken: {problem})" if problem else self.saved.description

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its parameters."""
        parameters = self.saved.parameters
        required = [name for name, schema in parameters.items() if "default" not in schema]
        return {"type": "object", "properties": parameters, "required": required, "additionalProperties": False}

    @cached_property
    def signature(self) -> str:
        """One line: its name, its parameters and the fields of its answer."""
        return f"{self.name}({', '.join(parameter_lines(self.input_schema))}) -> {', '.join(self.shows.fields)}"

    @property
    def needs_allow(self) -> bool:
        """No: each of its steps needs what it needs by itself."""
        return False

    def describe_work(self, arguments: Mapping[str, Any]) -> NoReturn:  # noqa: ARG002 - a tool's
        """Raise TypeError: it has no work of its own."""
        raise TypeError(f"{MODULE}.{self.name} runs as a batch")


def call_line(
    permissions: Permissions, module: str, tool: str, params: Mapping[str, Any], options: RunOptions = DEFAULT_OPTIONS
) -> dict[str, Any] | None:
    """Return the one line of the batch as which a call of a saved batch runs; None for a call of another tool."""
    if module != MODULE:
        return None
    permissions.load_tools((module,))
    entry = permissions.catalogue.index.modules.get(module)
    if not entry or not isinstance(permissions.catalogue.module(module).tools.get(tool), SavedTool):
        return None
    asked = options.model_dump(include=set(_OWN_OPTIONS), exclude_defaults=True)
    return {"module": module, "tool": tool, "params": escape(dict(params)), "output": True, **asked}


def expand(outer: Step, saved: SavedBatch, prefix: str) -> list[Step]:
    """Return the steps of a saved batch in place of a step; their ids begin with `prefix`.

    An error is raised for what a step with a saved batch cannot have, and for values that do not fit.
    """
    _check(outer)
    problems: Problems = []
    steps = parse(saved.commands, problems)
    if problems:  # a release that reads less than the one that stored it
        raise problems[0]
    ids = {step.id for step in steps}
    defaults = {name: schema["default"] for name, schema in saved.parameters.items() if "default" in schema}

    def change(reference: Reference) -> Any:
        """Return the value of a parameter, or a reference to the same step under its new id."""
        if reference.step == PARAM:
            return parameter_value(reference, defaults | outer.params)
        return f"${{{prefix if reference.step in ids else ''}{reference.text.strip()}}}"

    return [_expanded(step, outer, prefix, change, answers=step.id == saved.answer) for step in steps]


def _expanded(step: Step, outer: Step, prefix: str, change: Callable[[Reference], Any], *, answers: bool) -> Step:
    """Return a step of a saved batch as a step of the batch that uses it."""
    return replace(
        step,
        line=outer.line if prefix else step.line,
        id=prefix + step.id,
        has_explicit_id=True,
        params=rewrite(step.params, change),
        each=_list_of(step, change) if step.each else "",
        when=_both(outer.when, step.when and rewrite(dict(step.when), change, "when")),
        after=(*(prefix + name for name in step.after), *outer.after),
        output=answers and outer.output,
        raw_output=answers and (outer.raw_output or (outer.output and step.raw_output)),
    )


def _list_of(step: Step, change: Callable[[Reference], Any]) -> str:
    value = rewrite(step.each, change, "each")
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) or not value.startswith("${"):
        raise NotAList(field="each", reference=step.each, kind="a value")
    return value


def parameter_value(reference: Reference, values: Mapping[str, Any]) -> Any:
    """Return the value that a reference to a parameter stands for; UnresolvedReference names those that there are."""
    if not reference.keys:
        known = f"Write ${{{PARAM}.name}}: {', '.join(values) or 'there are no parameters'}."
        raise unresolved_error(reference, "it names no parameter", known)
    return resolve_reference(reference, lambda _: EachElement(dict(values)))


@dataclass(frozen=True, slots=True)
class SavedUse:
    """The steps that took the place of one with a saved batch."""

    answer: str
    """The id of the step whose answer is the saved batch's answer."""
    steps: tuple[str, ...]


def follow_answers(step: Step, uses: Mapping[str, SavedUse]) -> Step:
    """Return a step whose references to saved batches are to their answers; `after` waits for all of their steps."""

    def change(reference: Reference) -> str:
        answer = uses[reference.step].answer if reference.step in uses else reference.step
        return f"${{{answer}{reference.text.strip()[len(reference.step) :]}}}"

    return replace(
        step,
        params=rewrite(step.params, change),
        each=rewrite(step.each, change, "each"),
        when=step.when and rewrite(dict(step.when), change, "when"),
        after=tuple(one for name in step.after for one in (uses[name].steps if name in uses else (name,))),
    )


def _check(outer: Step) -> None:
    """Refuse options that belong to the steps inside a saved batch, and references to `${each}`."""
    for name in _OWN_OPTIONS:
        if getattr(outer, name) != Step.__dataclass_fields__[name].default:
            raise InvalidLine(field=name, problem=_ONCE)
    for field, value in (("params", outer.params), ("when", outer.when)):
        for reference in find_references(value, field):
            if reference.step == EACH:
                raise unresolved_error(reference, "it stands for an element, and here is none", _ONCE)


def _both(outer: Condition | None, own: Condition | None) -> dict[str, Any] | None:
    """Return a condition that holds where both do."""
    found = [dict(one) for one in (outer, own) if one is not None]
    return {ALL: found} if len(found) > 1 else next(iter(found), None)
