"""The steps of a batch, read from JSONL or from a list of objects: the whole language, one line a step."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import PydanticCustomError

from mcpist.batch.language.conditions import Condition, parse_condition
from mcpist.batch.language.references import EACH
from mcpist.errors import DuplicateStep, EmptyBatch, InvalidLine, McpistError, TooManySteps
from mcpist.validation import field_path

MAX_BATCH_STEPS = 100
DEFAULT_EACH_LIMIT, MAX_EACH_LIMIT = 100, 1_000
MAX_STEP_TIMEOUT_SECONDS = 25
TOO_DEEP_MESSAGE = "it is nested too deep"

type Problems = list[McpistError]


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a batch; `has_explicit_id` is false where the id was made from the line's number.

    `each` is a reference to the list that it runs over, and empty where it runs once. `timeout` is in seconds.
    """

    line: int
    id: str
    has_explicit_id: bool
    module: str
    tool: str
    params: dict[str, Any]
    after: tuple[str, ...]
    output: bool
    raw_output: bool
    each: str = ""
    each_limit: int = DEFAULT_EACH_LIMIT
    when: Condition | None = None
    on_error: Literal["stop", "continue"] = "stop"
    timeout: float | None = None


def _check_not_reserved(id_: str) -> str:
    if id_ == EACH:
        raise PydanticCustomError("id", "each stands for the element of a list: take another id")
    return id_


class _StepModel(BaseModel):
    """A line as the caller writes it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"), AfterValidator(_check_not_reserved)] | None = (
        None
    )
    module: str
    tool: str
    params: dict[str, JsonValue] = {}
    after: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = []
    output: bool = False
    raw_output: bool = False
    each: Annotated[str, Field(pattern=r"^\$\{[^{}]*\}$")] = ""
    each_limit: Annotated[int, Field(ge=1, le=MAX_EACH_LIMIT)] = DEFAULT_EACH_LIMIT
    when: Annotated[dict[str, JsonValue] | None, BeforeValidator(parse_condition)] = None
    on_error: Literal["stop", "continue"] = "stop"
    timeout: Annotated[float, Field(ge=1, le=MAX_STEP_TIMEOUT_SECONDS)] | None = None


_ERROR_MESSAGES = {
    "extra_forbidden": f"there is no such field (fields: {', '.join(_StepModel.model_fields)})",
    "missing": "it is missing",
    "model_type": "a step is one JSON object",
    "recursion_depth_exceeded": TOO_DEEP_MESSAGE,
}
_PATTERN_MESSAGES = {
    "id": "it begins with a letter or _, and has up to 64 letters, digits, - and _",
    "each": "it is one reference to a list, such as ${find.items}",
}


def parse(commands: str | list[Any], problems: Problems) -> list[Step]:
    """The steps in their order; what is wrong with a line is added to `problems`, and the line left out."""
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


def _split_lines(commands: str | list[Any]) -> list[tuple[int, Any]]:
    """The lines with their numbers from 1, empty ones passed over; a list's elements count as lines."""
    if isinstance(commands, list):
        return list(enumerate(commands, start=1))
    lines = enumerate(commands.removeprefix("\ufeff").split("\n"), start=1)
    return [(number, text) for number, text in lines if text.strip()]


def _parse_step(number: int, line: Any, problems: Problems, *, encoded: bool) -> Step | None:
    """The step of a line, which is `encoded` as JSON or read already."""
    try:
        value = _decode(number, line) if encoded else line
    except InvalidLine as problem:
        problems.append(problem)
        return None
    try:
        found = _StepModel.model_validate(value)
    except ValidationError as error:
        problems += _to_problems(number, value, error)
        return None
    return Step(
        line=number,
        id=found.id or f"line{number}",
        has_explicit_id=found.id is not None,
        module=found.module,
        tool=found.tool,
        params=found.params,
        after=tuple(found.after),
        output=found.output,
        raw_output=found.raw_output,
        each=found.each,
        each_limit=found.each_limit,
        when=found.when,
        on_error=found.on_error,
        timeout=found.timeout,
    )


def _decode(number: int, text: str) -> Any:
    """The line's JSON, or InvalidLine."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidLine(line=number, field=f"column {error.colno}", problem=error.msg) from None
    except ValueError as error:
        raise InvalidLine(line=number, field="line", problem=str(error)) from None
    except RecursionError:
        raise InvalidLine(line=number, field="line", problem=TOO_DEEP_MESSAGE) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _to_problems(number: int, value: Any, error: ValidationError) -> Iterator[InvalidLine]:
    """What is wrong with a line, and the id that it would have had."""
    place: dict[str, Any] = {"line": number}
    if isinstance(value, dict) and isinstance(value.get("id"), str):
        place["id"] = value["id"]
    for problem in error.errors(include_url=False, include_input=False):
        field = field_path(problem["loc"][:2], "line")
        words = (
            _PATTERN_MESSAGES.get(field)
            if problem["type"] == "string_pattern_mismatch"
            else _ERROR_MESSAGES.get(problem["type"])
        )
        yield InvalidLine(**place, field=field, problem=words or problem["msg"])
