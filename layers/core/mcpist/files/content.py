"""Contents and their types, before they are files: four types of text, in which a file can be read, and attachments."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, WithJsonSchema

type ContentType = Literal["text/markdown", "text/yaml", "application/json", "text/plain"]

JSON: ContentType = "application/json"
MARKDOWN: ContentType = "text/markdown"
PLAIN: ContentType = "text/plain"
YAML: ContentType = "text/yaml"
OCTETS = "application/octet-stream"
ENDINGS: Mapping[str, str] = {MARKDOWN: "md", YAML: "yaml", JSON: "json", PLAIN: "txt"}
MAX_ENDING_CHARACTERS = 8
MAX_FILE_NAME_CHARACTERS = 60
CONTENT_TYPES: tuple[ContentType, ...] = (MARKDOWN, YAML, JSON, PLAIN)

# The lengths of RFC 6838. Other letters than ASCII's could be in no header of a request.
_MEDIA_TYPE = re.compile(r"\s*([a-z0-9_.+-]{1,127}/[a-z0-9_.+-]{1,127})(?![^\s;,])")
_TEXT_TYPES = {
    "application/yaml": "text/yaml",
    "application/x-yaml": "text/yaml",
    "text/x-yaml": "text/yaml",
    "text/json": "application/json",
    "text/x-markdown": "text/markdown",
}

CONTENT_FORMAT = "file-content"
"""The `format` of a parameter that takes a text, or any file by its reference."""
MAX_CONTENT_BYTES = 32_000_000
"""Of a download and of a content that is sent: a sandbox's memory holds it several times."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A content and its type."""

    content: bytes = field(repr=False)
    content_type: str
    name: str = ""
    """Of the file that holds it; empty where nothing names it."""

    @classmethod
    def of_text(cls, text: str) -> "FileContent":
        """Return the content of a plain text."""
        return cls(text.encode(errors="replace"), PLAIN)


def content_type_of(media_type: str) -> str:
    """Return the type under which a file is kept, without parameters; other texts are plain, unknown types bytes."""
    named = _MEDIA_TYPE.match(media_type.lower())
    bare = named[1] if named else OCTETS
    if bare.endswith("+json"):
        return "application/json"
    known = _TEXT_TYPES.get(bare, bare)
    return "text/plain" if known.startswith("text/") and known not in CONTENT_TYPES else known


def file_name(name: str, content_type: str) -> str:
    """Return a name that can stand in a path, e.g. `list_issues.json`; one without an ending gets that of its type."""
    safe = re.sub(r"(?:[^\w.-]|\.{2,})+", "-", name.rpartition("/")[2]).strip("-.") or "file"
    stem, dot, ending = safe.rpartition(".")
    if not dot or len(ending) > MAX_ENDING_CHARACTERS:
        stem, ending = safe, ENDINGS.get(content_type, "bin")
    return f"{stem[: MAX_FILE_NAME_CHARACTERS - len(ending) - 1]}.{ending}"


def checked_type(content: bytes, media_type: str) -> str:
    """Return the type under which a received content is kept.

    A text that is not UTF-8 is bytes. Bytes of no stated type, or of one with a charset, are a text if they are UTF-8.
    """
    kept, is_text = content_type_of(media_type), _is_text(content)
    if kept in CONTENT_TYPES:
        return kept if is_text else OCTETS
    return PLAIN if is_text and (kept == OCTETS or "charset=" in media_type.lower()) else kept


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def takes_contents(schema: Any) -> bool:
    """Whether a parameter takes a list of texts or files."""
    items = schema.get("items") if isinstance(schema, Mapping) else None
    return isinstance(items, Mapping) and items.get("format") == CONTENT_FORMAT


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
