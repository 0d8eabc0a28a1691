"""References to files, and the documents in which programs and commands answer; each is published as a JSON Schema."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from mcpist.files.content_types import CONTENT_TYPES, ContentType

# `..`, a backslash, NUL and line breaks could lead out of a folder or into another line.
ESCAPES = r"\.\.|[\\\x00\r\n]"


def _date_time(text: str) -> str:
    """Return a date-time of RFC 3339 unchanged; ValueError for any other text."""
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


class ErrorBody(_Document):
    """An error for people and programs, in the reader's language."""

    code: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    message: str
    hint: str
    details: dict[str, Any] = {}


class ErrorResponse(_Document):
    """The answer of a program or a command that failed."""

    success: Literal[False]
    error: ErrorBody
    command: str
    timestamp: DateTime


PUBLISHED: dict[str, type[BaseModel]] = {
    "file_reference": FileReference,
    "attachment_reference": AttachmentReference,
    "standard_response": StandardResponse,
    "error_response": ErrorResponse,
}
"""The models that are published, by the names of their files."""
