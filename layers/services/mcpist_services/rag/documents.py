"""A Markdown document as plain values, and a new one before it is stored: its path, and its text with front matter."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from mcpist.errors import InvalidRequest, PayloadTooLarge
from mcpist.tools.declare.call import given

SUFFIXES = (".md", ".markdown")
MAX_TITLE_CHARACTERS = 200
MAX_DOCUMENT_BYTES = 1_000_000
MAX_PATH_BYTES = 800  # of the 1,024 of a key, which also has the organization

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,5000}?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCED = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$|^(?=[^\s>|*+-])(.+)\n(?:=+|--+)[ \t]*$", re.MULTILINE)
_CLOSING = re.compile(r"[ \t]#+$")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_TRAILING_COMMENTS = re.compile(r"(?:^(?:#.*)?\n)*\Z", re.MULTILINE)  # comments and empty lines after a field
_UNMERGEABLE = (
    "its front matter cannot be merged with title, tags and date: write one field a line and at most 5,000 "
    "characters, or give all of it here"
)


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """One document; `text` is the whole file, so that it can be edited and stored again."""

    path: str
    title: str
    tags: tuple[str, ...]
    date: str | None
    text: str
    size_bytes: int


def read(path: str, content: bytes) -> MarkdownDocument:
    """Read a file as a document; its text is kept even where its front matter is broken."""
    text = plain(content.decode("utf-8", errors="replace"))
    front = fields(text)
    return MarkdownDocument(
        path=path,
        title=(line(front.get("title")) or _heading(text) or PurePosixPath(path).stem)[:MAX_TITLE_CHARACTERS],
        tags=tuple(dict.fromkeys(_tags(front.get("tags")))),
        date=_date(front.get("date")),
        text=text,
        size_bytes=len(content),
    )


def plain(text: str) -> str:
    """Normalize a text for storing: LF line endings, no byte order mark, no NUL."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\0", "")


def body(text: str) -> str:
    """Return the text without its front matter."""
    return _FRONT_MATTER.sub("", text, count=1)


def without_fences(text: str) -> str:
    """Return the text without its fenced code and diagrams."""
    return _FENCED.sub("", text)


def front_matter(text: str) -> str | None:
    """Return the YAML of a text's front matter; None where it has none."""
    front = _FRONT_MATTER.match(text)
    return (front[1] or "") if front else None


def fields(text: str) -> dict[str, Any]:
    """Return the front matter's fields, which are text, lists or mappings; none where it is broken."""
    front = front_matter(text)
    if not front:
        return {}
    import yaml

    try:
        parsed = yaml.load(front, Loader=_front_matter_loader())  # noqa: S506 - it returns only text  # nosec B506
    except (yaml.YAMLError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


@cache
def _front_matter_loader() -> Any:
    """Return a loader of text, lists and mappings that refuses aliases, since few of them make a value enormous."""
    import yaml

    # BaseLoader returns only text: a tag `no` stays a word, and a day 32 is not an error.
    # The C loader is not used, since deep nesting crashes it with the whole process.
    class Loader(yaml.BaseLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("front matter has no aliases")
            return super().compose_node(parent, index)

    return Loader


def normal(text: str) -> str:
    """Unify characters that look alike, such as full-width letters and half-width kana."""
    return unicodedata.normalize("NFKC", text)


def folded(text: str) -> str:
    """Return a text for comparisons that ignore case."""
    return normal(text).casefold()


def line(value: Any) -> str:
    """Return a text in one line; an empty one for a value that is not text."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _heading(text: str) -> str:
    heading = _HEADING.search(_FENCED.sub("", body(text)))
    return line(_CLOSING.sub("", (heading[1] or heading[2] or "").strip())) if heading else ""


def _tags(value: Any) -> Iterator[str]:
    """Yield tags from a list or from `a, b`."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return filter(None, map(line, items))


def _date(value: Any) -> str | None:
    """Return a day as `2026-01-31`, also from a time or from `2026/1/31`; None if it is not a day."""
    parts = _DATE.match(line(value))
    try:
        return date(*map(int, parts.groups())).isoformat() if parts else None
    except ValueError:
        return None


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
