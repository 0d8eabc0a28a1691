"""JSON Schema (draft 7) of the published models, and the check of a value by the schema and then by the model."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from mcpist.errors import InvalidRequest
from mcpist.validation import field_path, first_error

DIALECT = "http://json-schema.org/draft-07/schema#"


def draft7(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's schema in draft 7, complete in itself."""
    schema: dict[str, Any] = _in_draft7(model.model_json_schema(ref_template="#/definitions/{model}"))
    return {"$schema": DIALECT, **schema}


def check[Model: BaseModel](model: type[Model], value: Any, field: str) -> Model:
    """Return a value as a model if both layers accept it; InvalidRequest names the place that is wrong."""
    if found := _first_problem(_validator(model), value):
        raise InvalidRequest(field=_place(field, found[0]), problem=found[1])
    try:
        return model.model_validate(value)
    except ValidationError as refused:
        first = first_error(refused)
        raise InvalidRequest(field=_place(field, first["loc"]), problem=first["msg"]) from None


def schema_errors(schema: Mapping[str, Any], value: Any) -> list[Any]:
    """Return the errors of jsonschema for a value that a schema of our own refuses, the one that says most first."""
    from jsonschema import Draft7Validator
    from jsonschema.exceptions import relevance

    return sorted(Draft7Validator(schema).iter_errors(value), key=relevance, reverse=True)


def _first_problem(validator: Any, value: Any) -> tuple[Sequence[Any], str] | None:
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(value))
    return None if error is None else (error.absolute_path, _problem(error))


@cache
def _validator(model: type[BaseModel]) -> Any:
    from jsonschema import Draft7Validator, FormatChecker

    formats = FormatChecker(formats=())
    formats.checks("date-time", raises=ValueError)(_is_date_time)
    return Draft7Validator(draft7(model), format_checker=formats)


def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or ("T" in value.upper() and datetime.fromisoformat(value).tzinfo is not None)


def _place(field: str, location: Any) -> str:
    return ".".join(filter(None, [field, field_path(list(location), "")]))


def _problem(error: Any) -> str:
    """Return what is wrong without the value itself, which may be long or secret."""
    match error.validator:
        case "required":
            missing = next(name for name in error.validator_value if name not in error.instance)
            return f"the field {missing} is missing"
        case "additionalProperties":
            known = error.schema.get("properties", {})
            return f"there is no field {next(name for name in error.instance if name not in known)}"
        case "type":
            return f"it must be of type {error.validator_value}"
        case keyword:
            return f"it must satisfy {keyword}: {error.validator_value}"


def _in_draft7(schema: Any) -> Any:
    """Return a schema of pydantic's draft 2020-12 in draft 7; the parts that pydantic writes differ in one keyword."""
    if isinstance(schema, list):
        return [_in_draft7(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {name: value for name, value in schema.items() if not (name == "title" and isinstance(value, str))}
    return {"definitions" if name == "$defs" else name: _in_draft7(value) for name, value in slim.items()}
