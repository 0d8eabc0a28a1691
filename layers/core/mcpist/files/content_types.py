"""The content types of files: four of text, in which a file can be read; all others are attachments."""

import re
from typing import Literal

type ContentType = Literal["text/markdown", "text/yaml", "application/json", "text/plain"]

JSON: ContentType = "application/json"
MARKDOWN: ContentType = "text/markdown"
PLAIN: ContentType = "text/plain"
YAML: ContentType = "text/yaml"
OCTETS = "application/octet-stream"
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


def content_type_of(media_type: str) -> str:
    """Return the type under which a file is kept, without parameters; other texts are plain, unknown types bytes."""
    named = _MEDIA_TYPE.match(media_type.lower())
    bare = named[1] if named else OCTETS
    if bare.endswith("+json"):
        return "application/json"
    known = _TEXT_TYPES.get(bare, bare)
    return "text/plain" if known.startswith("text/") and known not in CONTENT_TYPES else known


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
