"""A Markdown document as plain values: its title, tags, date and text."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
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
class Document:
    """One document; `text` is the whole file, so that what is read can be edited and put back."""

    path: str
    title: str
    tags: tuple[str, ...]
    date: str | None
    text: str
    size_bytes: int


def read(path: str, content: bytes) -> Document:
    """A file as a document; whatever is broken in it, its text is kept."""
    text = plain(content.decode("utf-8", errors="replace"))
    found = fields(text)
    return Document(
        path=path,
        title=(line(found.get("title")) or _heading(text) or PurePosixPath(path).stem)[:MAX_TITLE_CHARACTERS],
        tags=tuple(dict.fromkeys(_tags(found.get("tags")))),
        date=_date(found.get("date")),
        text=text,
        size_bytes=len(content),
    )


def plain(text: str) -> str:
    """A text as it is kept: lines end in one way, and no mark or NUL is hidden in it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\0", "")


def body(text: str) -> str:
    """The text without its front matter."""
    return _FRONT_MATTER.sub("", text, count=1)


def front_matter(text: str) -> str | None:
    """The YAML of a text's front matter; None where it has none."""
    found = _FRONT_MATTER.match(text)
    return (found[1] or "") if found else None


def fields(text: str) -> dict[str, Any]:
    """The front matter's fields, all of them text, lists or mappings; none where it is broken."""
    front = front_matter(text)
    if not front:
        return {}
    import yaml

    try:
        # BaseLoader makes nothing but text: a tag `no` stays a word, a day 32 is no error.
        # It is not the C one, which deep nesting takes down with the whole process.
        found = yaml.load(front, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def normal(text: str) -> str:
    """One spelling for what looks the same: full-width letters, half-width kana."""
    return unicodedata.normalize("NFKC", text)


def folded(text: str) -> str:
    """A text for comparing without regard to case."""
    return normal(text).casefold()


def line(value: Any) -> str:
    """A text in one line; nothing where it is no text."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _heading(text: str) -> str:
    found = _HEADING.search(_FENCED.sub("", body(text)))
    return line(_CLOSING.sub("", (found[1] or found[2] or "").strip())) if found else ""


def _tags(value: Any) -> Iterator[str]:
    """Tags from a list or from `a, b`."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return filter(None, map(line, items))


def _date(value: Any) -> str | None:
    """A day as `2026-01-31`, also from a time or from `2026/1/31`; nothing where it is none."""
    found = _DATE.match(line(value))
    try:
        return date(*map(int, found.groups())).isoformat() if found else None
    except ValueError:
        return None
