"""Validation by pydantic models, with errors that name the wrong field."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcpist.errors import InvalidRequest
from mcpist.suggestions import resembling


def parse_model[Model: BaseModel](model: type[Model], arguments: Mapping[str, Any], **details: Any) -> Model:
    """Return the arguments as a model; InvalidRequest, with the given details, names the first field that is wrong."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        first = first_error(error)
        field, problem = field_path(first["loc"], "arguments"), first["msg"]
        if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
            names = [known.alias or name for name, known in model.model_fields.items()]
            problem = f"there is no such field{resembling(field, names)}"
        if "schema" in details:
            details["schema"] = field_schema(details["schema"], field)
        raise InvalidRequest(field=field, problem=problem, **details) from None


def field_schema(schema: Mapping[str, Any], field: str) -> Any:
    """Return the schema of the field that a path such as `tags.0` begins with; the whole where it has no such field."""
    fields = schema.get("properties", {})
    return fields.get(field, fields.get(field.partition(".")[0], schema))


def first_error(error: ValidationError) -> ErrorDetails:
    """Return the first validation error without the value, which may be a secret."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    first["msg"] = first["msg"].removeprefix("Value error, ")
    return first


def field_path(location: Sequence[str | int], root: str) -> str:
    """Return the path of a field, such as `steps.0.id`; for an empty location it is `root`."""
    return ".".join(map(str, location)) or root
