"""Problems of arguments: the field and what is wrong with it, for every field at once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from mcpist.render.answer import compact_json
from mcpist.suggestions import resembling
from mcpist.validation import field_path

MAX_ARGUMENT_PROBLEMS = 10
MAX_PROBLEM_CHARACTERS = 300


class ArgumentProblem(NamedTuple):
    """A problem of one argument."""

    field: str
    """Its path, such as `tags.0`."""
    problem: str
    """What is wrong, without the value itself."""


def model_problems(
    errors: Iterable[ErrorDetails], arguments: Mapping[str, Any], schema: Mapping[str, Any]
) -> list[ArgumentProblem]:
    """Return the problems that a model found; of a field with several types the first."""
    return _first_of_each_field(
        ArgumentProblem(field_path(place, "params"), _problem(error, place, schema))
        for error in errors
        for place in [_place(error, arguments)]
    )


def schema_problems(errors: Iterable[Any], arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
    """Return the problems that a JSON Schema found, which are errors of jsonschema."""
    return _first_of_each_field(problem for error in errors for problem in _of_schema(error, arguments))


def unknown_field(name: str, known: Collection[str]) -> ArgumentProblem:
    """Return the problem of a field that does not exist, with the one that it resembles."""
    return ArgumentProblem(name, f"there is no such field{resembling(name, known)}")


def _first_of_each_field(problems: Iterable[ArgumentProblem]) -> list[ArgumentProblem]:
    found: dict[str, ArgumentProblem] = {}
    for problem in problems:
        found.setdefault(problem.field, problem)
    return list(found.values())[:MAX_ARGUMENT_PROBLEMS]


def _place(error: ErrorDetails, arguments: Mapping[str, Any]) -> Sequence[str | int]:
    """Return an error's place in the arguments: its location also names the types of a union."""
    place: list[str | int] = []
    value: Any = arguments
    for position, part in enumerate(error["loc"]):
        # A part that is no place in the value names the type of a union that was tried.
        is_last = position == len(error["loc"]) - 1
        if (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]  # type: ignore[index]
            place.append(part)
        elif is_last and error["type"] == "missing":
            place.append(part)
    return place


def _problem(error: ErrorDetails, place: Sequence[str | int], schema: Mapping[str, Any]) -> str:
    if error["type"] != "extra_forbidden" or not place:
        return error["msg"]
    return unknown_field(str(place[-1]), _names_at(schema, place[:-1])).problem


def _names_at(schema: Any, place: Sequence[str | int]) -> set[str]:
    """Return the names of the fields that an object at a place of the arguments may have."""
    options = schema.get("anyOf", [schema])
    if not place:
        return {name for option in options for name in option.get("properties", {})}
    inner = (
        option.get("items", {}) if isinstance(place[0], int) else option.get("properties", {}).get(place[0], {})
        for option in options
    )
    return {name for option in inner if isinstance(option, dict) for name in _names_at(option, place[1:])}


def _of_schema(error: Any, arguments: Mapping[str, Any]) -> Iterator[ArgumentProblem]:
    path = [str(part) for part in error.absolute_path]
    wanted = error.validator_value
    match error.validator:
        case "required":
            for missing in (name for name in wanted if name not in error.instance):
                yield ArgumentProblem(".".join([*path, missing]), "Field required")
            return
        case "additionalProperties" if not path:
            known = error.schema.get("properties", {})
            yield from (unknown_field(name, known) for name in arguments if name not in known)
            return
        case "type":
            problem = f"it must be of type {' or '.join(wanted) if isinstance(wanted, list) else wanted}"
        case "enum":
            problem = f"it must be one of {compact_json(wanted)}"
        case keyword:
            problem = f"it must satisfy {compact_json({keyword: wanted})}"
    yield ArgumentProblem(".".join(path) or "params", problem[:MAX_PROBLEM_CHARACTERS])
