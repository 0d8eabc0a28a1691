"""Contents with their types, before they are files, and the parameter that takes one: a text, or a file's reference."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from mcpist.files.content_types import PLAIN

CONTENT_FORMAT = "file-content"
"""The `format` of a parameter that takes a text, or any file by its reference."""
MAX_CONTENT_BYTES = 32_000_000
"""Of a download and of a content that is sent: a sandbox's memory holds it several times."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A content and its type."""

    content: bytes = field(repr=False)
    content_type: str

    @classmethod
    def of_text(cls, text: str) -> "FileContent":
        """Return the content of a plain text."""
        return cls(text.encode(errors="replace"), PLAIN)


def _checked(value: Any) -> FileContent:
    if isinstance(value, FileContent):  # of a reference, whose file has been loaded
        return value
    if not isinstance(value, str):  # pydantic makes an error of the caller's of a ValueError alone
        raise ValueError(  # noqa: TRY004
            "it must be a text, or the reference of a file: {path, sha256}"
        )
    return FileContent.of_text(value)


ContentArgument = Annotated[
    FileContent, PlainValidator(_checked), WithJsonSchema({"type": "string", "format": CONTENT_FORMAT})
]
"""A parameter of a tool: the bytes that it sends to its service."""
