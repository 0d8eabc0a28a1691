"""A tool that only reads, tried by a person through the one gate: the compact and the raw answer beside each other."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from console.rendering import ShownText, shown_text
from console.visit import Visit
from mcpist.errors import InvalidRequest, McpistError
from mcpist.files.values import readable_json
from mcpist.render.answer import compact, compact_json
from mcpist.render.contents import split_content
from mcpist.running import gate
from mcpist.running.gate import ToolUse
from mcpist.tools.declare.parameters import Parameter
from mcpist.tools.declare.tool import Tool

MAX_TRIAL_CHARACTERS = 12_000
PREFIX = "arg."
MAX_CHOICES = 50

type FieldKind = Literal["text", "number", "choice", "json"]


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a try: both answers, or the error."""

    compact: ShownText | None = None
    raw: ShownText | None = None
    account: str = ""
    more: str = ""
    error: McpistError | None = None


@dataclass(frozen=True, slots=True)
class ArgumentField:
    """A field of the form."""

    parameter: Parameter
    kind: FieldKind
    value: str
    choices: Sequence[str] = ()
    argument: Any = None
    """What the value means to the tool."""
    problem: str = ""
    """The key of the text that says what is wrong with the value, as far as the form can tell."""

    @property
    def is_first(self) -> bool:
        """Whether the form shows it at once: it is required, or filled."""
        return self.parameter.required or bool(self.value)

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        return f"{PREFIX}{self.parameter.name}"

    def with_reference(self) -> "ArgumentField":
        """Return the field of a batch's step: where its value refers to another step, it is a text."""
        if "${" not in self.value or (self.kind == "json" and not self.problem):
            return self
        return replace(self, kind="text", argument=self.value, problem="")


def try_tool(visit: Visit, tool: Tool, fields: list[ArgumentField]) -> Trial:
    """Run a reading tool with the arguments of a form; every outcome has its audit row, as a call of a client has."""
    if not tool.reads:
        raise InvalidRequest(field="tool", problem="only tools that read can be tried here")
    if any(field.problem for field in fields):
        return Trial()
    use = ToolUse(tool.module, tool.name, arguments_of(fields), visit.request_id)
    try:
        result = gate.admit(visit.permissions, use).run(visit.remaining)
    # Every refusal is shown beside the form, with what was typed.
    except McpistError as error:
        return Trial(error=error)
    read = shown_text(compact(split_content(result.json)[0], tool.shows), MAX_TRIAL_CHARACTERS)
    # The page shows the service's JSON in lines; its tokens are those of the JSON without spaces.
    raw = shown_text(readable_json(result.json).decode(), MAX_TRIAL_CHARACTERS, counted=compact_json(result.json))
    return Trial(read, raw, result.account, result.more)


def fields_of(
    parameters: Iterable[Parameter], sent: Callable[[str], str] | None, example: Mapping[str, Any]
) -> Sequence[ArgumentField]:
    """Return the fields with what was sent, else with the values of an example call."""
    fields = []
    for parameter in parameters:
        filled = _as_text(example[parameter.name]) if parameter.name in example else ""
        value = sent(f"{PREFIX}{parameter.name}") if sent else filled
        fields.append(_field(parameter, value))
    return fields


def arguments_of(fields: Iterable[ArgumentField]) -> dict[str, Any]:
    """Return the arguments that filled fields without problems mean; an empty one is left out."""
    return {field.parameter.name: field.argument for field in fields if field.value and not field.problem}


def _field(parameter: Parameter, value: str) -> ArgumentField:
    kind, choices = _kind(parameter)
    field = ArgumentField(parameter, kind, value, choices)
    if not value:
        return field
    try:
        argument = _argument(parameter, kind, value)
    except ValueError:
        return replace(field, problem="not_a_number" if kind == "number" else "not_json")
    wanted = {"object": dict, "array": list}.get(parameter.type)
    is_right = wanted is None or isinstance(argument, wanted | str)
    return replace(field, argument=argument, problem="" if is_right else "not_json")


def _kind(parameter: Parameter) -> tuple[FieldKind, Sequence[str]]:
    if parameter.type == "boolean":
        return "choice", ("true", "false")
    options = parameter.enum or ()
    if 0 < len(options) <= MAX_CHOICES and all(isinstance(option, str) for option in options):
        return "choice", tuple(options)
    if parameter.type == "number":
        return "number", ()
    return ("text", ()) if parameter.type == "string" else ("json", ())


def _argument(parameter: Parameter, kind: FieldKind, value: str) -> Any:
    """Return the value of a text; ValueError for one that is no value of its kind."""
    match kind:
        case "number":
            number = float(value)
            if not math.isfinite(number):
                raise ValueError("it is no number that JSON has")
            return int(number) if number.is_integer() else number
        case "choice" if parameter.type == "boolean":
            return value == "true"
        # A text that begins like no JSON is a text itself, as a file's path is.
        case "json" if value.lstrip()[:1] in {"{", "[", '"'}:
            try:
                return json.loads(value)
            except RecursionError:
                raise ValueError("it is nested too deeply") from None
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
