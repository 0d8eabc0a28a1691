"""The steps of a batch, parsed from JSONL or from a list of objects, one line a step, and their conditions.

A step is skipped unless its `when` holds:
"${x.path}"                          the same as not_empty
{"exists": "${x.path}"}              the value exists and is not null
{"not_empty": "${x.path}"}           and it is no empty text, list or object, and not false
{"equals": ["${x.path}", value]}     the value is the same JSON
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    JsonValue,
    ValidationError,
    create_model,
)
from pydantic_core import PydanticCustomError

from mcpist.batch.language.references import EACH, PARAM, FindSource, find_references, resolve
from mcpist.caller import ACCOUNT_PATTERN, ACCOUNT_PROBLEM
from mcpist.errors import DuplicateStep, EmptyBatch, InvalidLine, McpistError, TooManySteps, UnresolvedReference
from mcpist.running.options import CHANGE_PATTERN, MAX_RETRIES, MAX_RETRY_DELAY_SECONDS, RunOptions
from mcpist.strict_json import load_json
from mcpist.tools.declare import tolerance
from mcpist.tools.declare.tolerance import TolerantModel
from mcpist.validation import field_path

MAX_BATCH_STEPS = 100
MAX_STEP_TIMEOUT_SECONDS = 25
MAX_PROBLEMS = 50
"""The errors of a batch that are reported at once."""
STEP_OPTIONS = ("retry", "retry_delay", "account", "undoes", "anyway")
TOO_DEEP_MESSAGE = "it is nested too deep"
type Problems = list[McpistError]
ALL = "all"
type Condition = Mapping[str, Any]
"""One of the objects above, in its stored form, or ALL of several: of a step of a saved batch, and of the batch."""
_WHOLE_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_SYNTAX = '"${x.path}", {"exists": "${x.path}"}, {"not_empty": "${x.path}"} or {"equals": ["${x.path}", value]}'


def _check_not_reserved(id_: str) -> str:
    if id_ == EACH:
        raise PydanticCustomError("id", "each stands for the element of a list: take another id")
    if id_ == PARAM:
        raise PydanticCustomError("id", "param stands for the parameters of a saved batch: take another id")
    return id_


def _as_tuple(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and len(value) > MAX_BATCH_STEPS:
        raise PydanticCustomError("after", "it names more steps than a batch may have")
    return tuple(value) if isinstance(value, list) else value


def parse_condition(value: Any) -> Any:
    """Return a condition in its stored form; PydanticCustomError for another shape."""
    match value:
        case None:
            return None
        case str() if is_reference(value):
            return {"not_empty": value}
        case {"exists": reference, **others} | {"not_empty": reference, **others} if not others:
            if is_reference(reference):
                return value
        case {"equals": [reference, _], **others} if not others and is_reference(reference):
            return value
    raise PydanticCustomError("condition", "write {shapes}", {"shapes": _SYNTAX})


DEFAULT_EACH_LIMIT, MAX_EACH_LIMIT = 100, 10_000
type _Json = Annotated[Any, GetPydanticSchema(lambda _source, handler: handler(JsonValue))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a batch; the annotations say what a caller may write."""

    line: int
    """The number of the line, from 1."""
    has_explicit_id: bool
    """Whether the caller wrote the id; else it is made from the line's number."""
    id: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"), AfterValidator(_check_not_reserved)]
    """Its name, to which others refer; without one it is `line` with its number, and nobody can refer to it."""
    module: str
    """Empty where `tool` names it, or only one module has such a tool."""
    tool: Annotated[str, Field(validation_alias=tolerance.TOOL)]
    """The tool's name, which may have the module and a dot before it."""
    params: Annotated[dict[str, _Json], Field(validation_alias=tolerance.PARAMS)] = field(default_factory=dict)
    """The tool's arguments, in which references stand for values."""
    after: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(validation_alias=tolerance.AFTER)] = ()
    """The ids of the steps that it waits for, besides those that it refers to."""
    output: bool = False
    """Whether the result is returned as the rows that the tool shows."""
    raw_output: bool = False
    """Whether the result is returned as the service's JSON."""
    each: Annotated[str, Field(pattern=r"^\$\{[^{}]*\}$", validation_alias=tolerance.EACH)] = ""
    """A reference to the list that it runs over; empty for a step that runs once. That of a saved batch may be a list
    as JSON, by the value of a parameter."""
    each_limit: Annotated[int, Field(ge=1, le=MAX_EACH_LIMIT)] = DEFAULT_EACH_LIMIT
    """The elements of the list for which it may run at most; with more it fails."""
    when: Annotated[dict[str, _Json] | None, BeforeValidator(parse_condition)] = None
    """A condition without which it is skipped."""
    on_error: Literal["stop", "continue"] = "stop"
    """Whether the steps that need it are skipped if it fails, or run all the same."""
    timeout: Annotated[float, Field(ge=1, le=MAX_STEP_TIMEOUT_SECONDS)] | None = None
    """How long its tool may take, in seconds."""
    account: Annotated[str, Field(pattern=ACCOUNT_PATTERN)] = ""
    """The label of the account with which it runs; empty for the default one when the batch begins."""
    retry: Annotated[int, Field(ge=0, le=MAX_RETRIES)] = 0
    """How often a failed request is sent again, where it is safe to repeat."""
    retry_delay: Annotated[float, Field(ge=0, le=MAX_RETRY_DELAY_SECONDS)] = 1
    """The seconds before the first retry; each next one waits longer."""
    undoes: Annotated[str, Field(pattern=CHANGE_PATTERN)] = ""
    """The change that it undoes, unless its target has changed since."""
    anyway: bool = False
    """Whether it undoes the change all the same."""

    @property
    def options(self) -> RunOptions:
        """Its options for its tool; how long the requests may take, its runner decides."""
        return RunOptions(**{name: getattr(self, name) for name in STEP_OPTIONS})

    def as_line(self) -> dict[str, Any]:
        """Return the step as a caller writes it, without what may be left out."""
        written = {one.name: getattr(self, one.name) for one in fields(self) if one.name in StepModel.model_fields}
        if not self.has_explicit_id:
            del written["id"]
        return {name: value for name, value in written.items() if value != StepModel.model_fields[name].get_default()}


class _StrictModel(TolerantModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _step_model() -> type[BaseModel]:
    """Return the model of a line as a caller writes it: the fields of Step, with an id that may be left out."""
    hints = get_type_hints(Step, include_extras=True)
    written: dict[str, Any] = {}
    for declared in fields(Step):
        default = ... if declared.default is MISSING else declared.default
        if declared.default_factory is not MISSING:
            default = Field(default_factory=declared.default_factory)
        written[declared.name] = hints[declared.name], default
    del written["line"], written["has_explicit_id"]
    written["id"] = hints["id"] | None, None
    written["module"] = hints["module"], ""
    return create_model("StepModel", __base__=_StrictModel, **written)


StepModel = _step_model()
_ERROR_MESSAGES = {
    "extra_forbidden": f"there is no such field (fields: {', '.join(StepModel.model_fields)})",
    "missing": "it is missing",
    "tuple_type": "it is an id, or a list of ids",
    "model_type": "a step is one JSON object",
    "recursion_depth_exceeded": TOO_DEEP_MESSAGE,
}
_PATTERN_MESSAGES = {
    "id": "it begins with a letter or _, and has up to 64 letters, digits, - and _",
    "each": "it is one reference to a list, such as ${find.items}",
    "account": ACCOUNT_PROBLEM,
    "undoes": "it is the id of a change, as changes.list shows it",
}


def parse(commands: str | list[Any], problems: Problems) -> list[Step]:
    """Return the steps in their order; a line with errors is left out, and the errors are added to `problems`."""
    if isinstance(commands, str):
        commands = _read_list(commands)
    lines = _split_lines(commands)
    if not lines:
        problems.append(EmptyBatch(field="commands"))
    if len(lines) > MAX_BATCH_STEPS:
        problems.append(TooManySteps(field="commands", steps=len(lines), limit=MAX_BATCH_STEPS))
        return []
    steps: dict[str, Step] = {}
    for number, line in lines:
        step = _parse_step(number, line, problems, encoded=isinstance(commands, str))
        if step and step.id in steps:
            problems.append(DuplicateStep(field="id", line=number, id=step.id, first_line=steps[step.id].line))
        elif step:
            steps[step.id] = step
    return list(steps.values())


def _read_list(text: str) -> str | list[Any]:
    """Return the list that a text is, since some models send the steps so; else the text, which is JSON Lines."""
    if not text.lstrip("\ufeff \t\r\n").startswith("["):
        return text
    try:
        read = load_json(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, list) else text


def _split_lines(commands: str | list[Any]) -> list[tuple[int, Any]]:
    """Return the lines that are not empty with their numbers from 1; the elements of a list count as lines."""
    if isinstance(commands, list):
        return list(enumerate(commands, start=1))
    lines = enumerate(commands.removeprefix("\ufeff").split("\n"), start=1)
    return [(number, text) for number, text in lines if text.strip()]


def _parse_step(number: int, line: Any, problems: Problems, *, encoded: bool) -> Step | None:
    """Return the step of a line, which is JSON text where it is `encoded`, else a parsed value."""
    try:
        value = _decode(number, line) if encoded else line
    except InvalidLine as problem:
        problems.append(problem)
        return None
    try:
        written = dict(StepModel.model_validate(value))
    except ValidationError as error:
        problems += _to_problems(number, value, error)
        return None
    id_ = written.pop("id")
    return Step(line=number, has_explicit_id=id_ is not None, id=id_ or f"line{number}", **written)


def _decode(number: int, text: str) -> Any:
    """Return the JSON of a line, or raise InvalidLine."""
    try:
        return load_json(text)
    except json.JSONDecodeError as error:
        raise InvalidLine(line=number, field=f"column {error.colno}", problem=error.msg) from None
    except ValueError as error:
        raise InvalidLine(line=number, field="line", problem=str(error)) from None
    except RecursionError:
        raise InvalidLine(line=number, field="line", problem=TOO_DEEP_MESSAGE) from None


def _to_problems(number: int, value: Any, error: ValidationError) -> Iterator[InvalidLine]:
    """Yield the errors of a line, with the id that the caller wrote."""
    place: dict[str, Any] = {"line": number}
    if isinstance(value, dict) and isinstance(value.get("id"), str):
        place["id"] = value["id"]
    for problem in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]:
        field = field_path(problem["loc"][:2], "line")
        words = (
            _PATTERN_MESSAGES.get(field)
            if problem["type"] == "string_pattern_mismatch"
            else _ERROR_MESSAGES.get(problem["type"])
        )
        yield InvalidLine(**place, field=field, problem=words or problem["msg"])


def list_of(each: str) -> Any:
    """Return the reference of an `each`, or the list of a saved batch's."""
    return load_json(each) if each.startswith("[") else each


def holds(condition: Condition, find: FindSource) -> bool:
    """Return whether a condition holds; a reference that does not resolve counts as missing."""
    ((kind, operand),) = condition.items()
    if kind == ALL:
        return all(holds(one, find) for one in operand)
    try:
        value = resolve(operand, find, "when")
    except UnresolvedReference:
        return False
    match kind:
        case "exists":
            return value is not None
        case "equals":
            return is_equal_json(*value)
        case _:
            return value is not None and value is not False and value not in ("", [], {})


def is_about_element(condition: Condition) -> bool:
    """Return whether a condition is evaluated for each element of a list, not for the step."""
    return any(reference.step == EACH for reference in find_references(condition))


def is_equal_json(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON: true is not 1, but 1.0 is."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(is_equal_json(left[name], right[name]) for name in left)
        case list(), list():
            return len(left) == len(right) and all(map(is_equal_json, left, right))
        case _:
            return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def is_reference(value: Any) -> bool:
    """Whether a value is one reference and nothing else."""
    return isinstance(value, str) and _WHOLE_REFERENCE.fullmatch(value) is not None
