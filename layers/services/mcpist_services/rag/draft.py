"""A document before it is stored: the check of its path, and its text with the requested front matter."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist.tools.declare.call import given
from mcpist_services.rag.documents import SUFFIXES, body, fields, front_matter, line, plain

MAX_DOCUMENT_BYTES = 1_000_000
MAX_PATH_BYTES = 800  # of the 1,024 of a key, which also has the organization

_TRAILING_COMMENTS = re.compile(r"(?:^(?:#.*)?\n)*\Z", re.MULTILINE)  # comments and empty lines after a field
_UNMERGEABLE = (
    "its front matter cannot be merged with title, tags and date: write one field a line and at most 5,000 "
    "characters, or give all of it here"
)


def checked_path(path: str, *, new: bool) -> str:
    """Check a path, and return it, composing the characters of a new one; InvalidRequest if it is not allowed.

    macOS decomposes characters: a document that was stored under such a path keeps it.
    """
    path = unicodedata.normalize("NFC", path) if new else path
    parts = path.split("/")
    name = parts[-1].lower()
    if any(part in {"", ".", ".."} or part != part.strip() for part in parts):
        raise _wrong_path("it must be relative, and no part of it may be empty, . or .., nor begin or end with a space")
    # Invisible characters: controls, those that change the direction of writing, and code points without a character.
    if "\\" in path or any(unicodedata.category(character).startswith("C") for character in path):
        raise _wrong_path("it may have neither backslashes nor invisible characters")
    if not name.endswith(SUFFIXES) or name in SUFFIXES:
        raise _wrong_path("it must end in a name with .md")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise _wrong_path(f"it may have at most {MAX_PATH_BYTES} bytes")
    return path


def compose_text(content: str, title: str | None, tags: Collection[str] | None, day: str | None) -> str:
    """Return the content with these fields replaced in its front matter; everything else is unchanged.

    InvalidRequest where they cannot be merged, PayloadTooLarge for more than MAX_DOCUMENT_BYTES.
    """
    changed_fields = given(
        title=title and line(title),
        tags=None if tags is None else list(dict.fromkeys(filter(None, map(line, tags)))),
        date=day and _day(day),
    )
    text = plain(content)
    if changed_fields:
        text = _merge_fields(text, changed_fields)
    size = len(text.encode())
    if size > MAX_DOCUMENT_BYTES:
        raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_DOCUMENT_BYTES)
    return text


def _merge_fields(text: str, changed_fields: Mapping[str, Any]) -> str:
    """Return the text with these fields; an empty list removes its field."""
    import yaml

    new = {name: value for name, value in changed_fields.items() if value != []}
    front = front_matter(text)
    if front is None and not new:
        return text
    others_yaml, rest = ("", f"\n{text}") if front is None else (_without_fields(front, changed_fields), body(text))
    # Without a limit of width, so that a title stays in one line.
    dumped = yaml.safe_dump(new, allow_unicode=True, sort_keys=False, width=MAX_DOCUMENT_BYTES) if new else ""
    merged = f"---\n{dumped}{others_yaml}---\n{rest}"
    others = {name: value for name, value in fields(text).items() if name not in changed_fields}
    if fields(merged) != others | {name: str(value) if name == "date" else value for name, value in new.items()}:
        raise _unmergeable()
    return merged


def _without_fields(front: str, names: Collection[str]) -> str:
    """Return front matter without these fields; other fields, and the text between fields, are unchanged."""
    import yaml

    try:
        root = yaml.compose(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        raise _unmergeable() from None
    if root is None:
        return front
    if not isinstance(root, yaml.MappingNode):
        raise _unmergeable()
    # The value of a key that is not a scalar is a list.
    keys = [(str(key.value), key.start_mark.index) for key, _ in root.value]
    ends = [start for _, start in keys[1:]] + [len(front)]
    parts = [(name, front[start:end]) for (name, start), end in zip(keys, ends, strict=True)]
    remaining = (_TRAILING_COMMENTS.findall(part)[0] if name in names else part for name, part in parts)
    return front[: keys[0][1]] + "".join(remaining) if keys else front


def _day(day: str) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise InvalidRequest(field="date", problem="it is not a valid day") from None


def _wrong_path(problem: str) -> InvalidRequest:
    return InvalidRequest(field="path", problem=problem)


def _unmergeable() -> InvalidRequest:
    return InvalidRequest(field="content", problem=_UNMERGEABLE)
