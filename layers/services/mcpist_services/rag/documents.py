"""A Markdown document as plain values: its title, tags, date and text."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import PurePosixPath
from typing import Any

SUFFIXES = (".md", ".markdown")
MAX_TITLE_CHARACTERS = 200

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,5000}?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCED = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$|^(?=[^\s>|*+-])(.+)\n(?:=+|--+)[ \t]*$", re.MULTILINE)
_CLOSING = re.compile(r"[ \t]#+$")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")


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
