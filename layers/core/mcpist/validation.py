"""What a pydantic model refused: which field, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcpist.errors import InvalidRequest


def parse_model[Model: BaseModel](model: type[Model], arguments: Mapping[str, Any], **details: Any) -> Model:
    """The arguments as their model, or InvalidRequest naming the first field that is wrong, with the details given."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        first = first_error(error)
        field = field_path(first["loc"], "arguments")
        raise InvalidRequest(field=field, problem=first["msg"], **details) from None


def first_error(error: ValidationError) -> ErrorDetails:
    """The first thing that is wrong, without the value: it may be a secret."""
    return error.errors(include_url=False, include_context=False, include_input=False)[0]


def field_path(place: Sequence[str | int], whole: str) -> str:
    """`steps.0.id`: the field at a place; `whole` is the name of that which has the fields."""
    return ".".join(map(str, place)) or whole
