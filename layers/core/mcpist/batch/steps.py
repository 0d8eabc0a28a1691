"""The steps of a batch, read from JSONL or from a list of objects."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from mcpist.errors import DuplicateStep, EmptyBatch, InvalidLine, McpistError, TooManySteps

MOST_STEPS = 100

type Problems = list[McpistError]


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a batch; `named` is false where the id was made from the line's number."""

    line: int
    id: str
    named: bool
    module: str
    tool: str
    params: dict[str, Any]
    after: tuple[str, ...]
    output: bool
    raw_output: bool


class _Line(BaseModel):
    """A line as the caller writes it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")] | None = None
    module: str
    tool: str
    params: dict[str, JsonValue] = {}
    after: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = []
    output: bool = False
    raw_output: bool = False


def parse(commands: str | list[Any], problems: Problems) -> list[Step]:
    """The steps in their order; what is wrong with a line is added to `problems`, and the line left out."""
    steps: list[Step] = []
    lines: dict[str, int] = {}
    for number, value in _values(commands, problems):
        step = _step(number, value, problems)
        if step is None:
            continue
        if step.id in lines:
            problems.append(DuplicateStep(field="id", line=number, id=step.id, first_line=lines[step.id]))
            continue
        lines[step.id] = number
        steps.append(step)
    if not steps and not problems:
        problems.append(EmptyBatch(field="commands"))
    if len(steps) > MOST_STEPS:
        problems.append(TooManySteps(field="commands", steps=len(steps), limit=MOST_STEPS))
    return steps


def _values(commands: str | list[Any], problems: Problems) -> Iterator[tuple[int, Any]]:
    """The lines that are JSON, with their numbers from 1; empty lines are passed over."""
    if isinstance(commands, list):
        yield from enumerate(commands, start=1)
        return
    for number, text in enumerate(commands.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
            problems.append(InvalidLine(line=number, field=f"column {getattr(error, 'colno', 1)}", problem=problem))
        else:
            yield number, value


def _step(number: int, value: Any, problems: Problems) -> Step | None:
    try:
        line = _Line.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "line"
        problems.append(InvalidLine(line=number, field=field, problem=first["msg"]))
        return None
    return Step(
        line=number,
        id=line.id or f"line{number}",
        named=line.id is not None,
        module=line.module,
        tool=line.tool,
        params=line.params,
        after=tuple(line.after),
        output=line.output,
        raw_output=line.raw_output,
    )
