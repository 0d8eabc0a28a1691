"""A document before it is stored: whether its path may stand, and its text with the front matter that was asked for."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist.tools.call import given
from mcpist_services.rag.documents import SUFFIXES, body, fields, front_matter, line, plain

MAX_DOCUMENT_BYTES = 1_000_000
MAX_PATH_BYTES = 800  # of the 1,024 of a key, which begins with the organization

_TRAILING_COMMENTS = re.compile(r"(?:^(?:#.*)?\n)*\Z", re.MULTILINE)  # comments and empty lines after a field
_UNMERGEABLE = (
    "its front matter cannot be merged with title, tags and date: write one field a line and at most 5,000 "
    "characters, or say all of it here"
)


def checked_path(path: str, *, new: bool) -> str:
    """A path under which a document may be stored, a new one with its letters put together; InvalidRequest for others.

    macOS takes letters apart: a document that came from there under such a path keeps it.
    """
    path = unicodedata.normalize("NFC", path) if new else path
    parts = path.split("/")
    name = parts[-1].lower()
    if any(part in {"", ".", ".."} or part != part.strip() for part in parts):
        raise _wrong_path("it must be relative, and no part of it empty, . or .., nor begin or end with a space")
    # Invisible are control characters, those that turn the direction of writing, and what is no character at all.
    if "\\" in path or any(unicodedata.category(character).startswith("C") for character in path):
        raise _wrong_path("it may hold neither backslashes nor invisible characters")
    if not name.endswith(SUFFIXES) or name in SUFFIXES:
        raise _wrong_path("it must end in a name with .md")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise _wrong_path(f"it may have at most {MAX_PATH_BYTES} bytes")
    return path


def compose_text(content: str, title: str | None, tags: Collection[str] | None, day: str | None) -> str:
    """The content with these fields in its front matter: they take the place of its own, the rest stays as it is.

    InvalidRequest where that cannot be, PayloadTooLarge for more than MAX_DOCUMENT_BYTES.
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
    """The text with these fields; an empty list takes its field away."""
    import yaml

    new = {name: value for name, value in changed_fields.items() if value != []}
    front = front_matter(text)
    if front is None and not new:
        return text
    kept, rest = ("", f"\n{text}") if front is None else (_without_fields(front, changed_fields), body(text))
    # Without bounds of width: a title stays in one line.
    dumped = yaml.safe_dump(new, allow_unicode=True, sort_keys=False, width=MAX_DOCUMENT_BYTES) if new else ""
    merged = f"---\n{dumped}{kept}---\n{rest}"
    others = {name: value for name, value in fields(text).items() if name not in changed_fields}
    if fields(merged) != others | {name: str(value) if name == "date" else value for name, value in new.items()}:
        raise _unmergeable()
    return merged


def _without_fields(front: str, names: Collection[str]) -> str:
    """Front matter without these fields; the others, and what stands between fields, to the letter."""
    import yaml

    try:
        root = yaml.compose(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        raise _unmergeable() from None
    if root is None:
        return front
    if not isinstance(root, yaml.MappingNode):
        raise _unmergeable()
    # A key that is no word has a list for its value.
    keys = [(str(key.value), key.start_mark.index) for key, _ in root.value]
    ends = [start for _, start in keys[1:]] + [len(front)]
    parts = [(name, front[start:end]) for (name, start), end in zip(keys, ends, strict=True)]
    kept = (_TRAILING_COMMENTS.findall(part)[0] if name in names else part for name, part in parts)
    return front[: keys[0][1]] + "".join(kept) if keys else front


def _day(day: str) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise InvalidRequest(field="date", problem="there is no such day") from None


def _wrong_path(problem: str) -> InvalidRequest:
    return InvalidRequest(field="path", problem=problem)


def _unmergeable() -> InvalidRequest:
    return InvalidRequest(field="content", problem=_UNMERGEABLE)
