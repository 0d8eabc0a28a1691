"""The content types of files: four of text, in which a file can be read; all others are attachments."""

import re
from typing import Literal

type ContentType = Literal["text/markdown", "text/yaml", "application/json", "text/plain"]

JSON: ContentType = "application/json"
MARKDOWN: ContentType = "text/markdown"
PLAIN: ContentType = "text/plain"
YAML: ContentType = "text/yaml"
CONTENT_TYPES: tuple[ContentType, ...] = (MARKDOWN, YAML, JSON, PLAIN)

_MEDIA_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)")
_TEXT_TYPES = {
    "application/yaml": "text/yaml",
    "application/x-yaml": "text/yaml",
    "text/x-yaml": "text/yaml",
    "text/json": "application/json",
    "text/x-markdown": "text/markdown",
}


def content_type_of(media_type: str) -> str:
    """Return the type under which a file is kept, without parameters; other texts are plain, unknown types bytes."""
    named = _MEDIA_TYPE.match(media_type.lower())
    bare = named[1] if named else "application/octet-stream"
    if bare.endswith("+json"):
        return "application/json"
    known = _TEXT_TYPES.get(bare, bare)
    return "text/plain" if known.startswith("text/") and known not in CONTENT_TYPES else known
