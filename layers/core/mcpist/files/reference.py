"""References to files, and the documents in which programs and commands answer, each published as a JSON Schema.

A value is checked by the schema (draft 7), which names the place, and then by the model.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mcpist.errors import InvalidRequest
from mcpist.files.content import CONTENT_TYPES, ContentType
from mcpist.validation import field_path, first_error

DIALECT = "http://json-schema.org/draft-07/schema#"
# `..`, a backslash, NUL and line breaks could lead out of a folder or into another line.
ESCAPES = r"\.\.|[\\\x00\r\n]"


def _date_time(text: str) -> str:
    """Return a date-time of RFC 3339 unchanged; ValueError for any other text."""
    # Python also reads a date alone and a time without a zone.
    if "T" not in text.upper() or datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("it is no date-time with a time zone")
    return text


def _no_escape(path: str) -> str:
    if ".." in path or not set(path).isdisjoint("\\\0\r\n"):
        raise ValueError("it may not contain .., a backslash, NUL or a line break")
    return path


type DateTime = Annotated[str, AfterValidator(_date_time), Field(json_schema_extra={"format": "date-time"})]
type Path = Annotated[
    str,
    Field(pattern=r"^[^/].*$", json_schema_extra={"not": {"pattern": ESCAPES}}),
    AfterValidator(_no_escape),
]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoredContent(_Document):
    """The fields that all references have."""

    path: Path
    sha256: Annotated[str, Field(pattern=r"^[a-f0-9]{64}$")]
    size_bytes: Annotated[int, Field(ge=0)]
    content_type: str
    created_at: DateTime


class FileReference(StoredContent):
    """A file of text, by which it can be read, searched, queried and handed on."""

    content_type: ContentType


class AttachmentReference(StoredContent):
    """A file of any other type, such as an image: it can be handed on and downloaded."""

    content_type: Annotated[
        str, Field(pattern=r"^[\w.+-]+/[\w.+-]+$", json_schema_extra={"not": {"enum": [*CONTENT_TYPES]}})
    ]


class StandardResponse(_Document):
    """The answer of a program or a command that succeeded."""

    success: Literal[True]
    command: str
    timestamp: DateTime
    execution_time_ms: Annotated[int, Field(ge=0)]
    outputs: list[FileReference]
    metadata: dict[str, Any] = {}


class ReportedError(_Document):
    """An error for people and programs, in the reader's language."""

    code: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    message: str
    hint: str
    details: dict[str, Any] = {}


class ErrorResponse(_Document):
    """The answer of a program or a command that failed."""

    success: Literal[False]
    error: ReportedError
    command: str
    timestamp: DateTime


PUBLISHED: dict[str, type[BaseModel]] = {
    "file_reference": FileReference,
    "attachment_reference": AttachmentReference,
    "standard_response": StandardResponse,
    "error_response": ErrorResponse,
}
"""The models that are published, by the names of their files."""


def draft7(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's schema in draft 7, complete in itself."""
    schema: dict[str, Any] = _in_draft7(model.model_json_schema(ref_template="#/definitions/{model}"))
    return {"$schema": DIALECT, **schema}


def check[Model: BaseModel](model: type[Model], value: Any, field: str) -> Model:
    """Return a value as a model if both layers accept it; InvalidRequest names the place that is wrong."""
    from jsonschema.exceptions import best_match

    if error := best_match(_validator(model).iter_errors(value)):
        raise InvalidRequest(field=_place(field, error.absolute_path), problem=_problem(error))
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


@cache
def _validator(model: type[BaseModel]) -> Any:
    from jsonschema import Draft7Validator, FormatChecker

    formats = FormatChecker(formats=())
    formats.checks("date-time", raises=ValueError)(lambda value: not isinstance(value, str) or bool(_date_time(value)))
    return Draft7Validator(draft7(model), format_checker=formats)


def _place(field: str, location: Any) -> str:
    return ".".join(filter(None, [field, field_path(list(location), "")]))


def _problem(error: Any) -> str:
    """Return the problem without the value itself, which may be long or secret."""
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
