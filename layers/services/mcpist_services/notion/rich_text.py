"""Conversion between Notion's rich text and the runs of a Markdown tree.

Reference: https://developers.notion.com/reference/rich-text

Colours and underlines are dropped. A mention of a page becomes a link to it. What else Markdown cannot express (a date
with a reminder, an equation) becomes its text, followed by Unsupported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.markdown.normal_form import join_runs
from mcpist.markdown.reader import read
from mcpist.markdown.tree import Break, Image, Mark, Mention, Paragraph, Run, Runs, TextRun, Unsupported
from mcpist.markdown.writer import lines_of, write

MAX_TEXT_CHARACTERS = 2000  # of one text object, as UTF-16 counts them
MAX_TEXT_OBJECTS = 100  # in one array
MAX_LINK_CHARACTERS = 2000

# With a scheme, or a page of the same workspace.
_LINK_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s].*|/[0-9a-fA-F-]{32,36}.*", re.DOTALL)
_MARKS: Mapping[Mark, str] = {"strong": "bold", "emphasis": "italic", "strike": "strikethrough", "code": "code"}

type Json = dict[str, Any]


def rich_text(runs: Iterable[Run]) -> list[Json]:
    """Convert runs to rich text; InvalidRequest for what would be lost, or has too many pieces for one block."""
    texts = long_rich_text(runs)
    if len(texts) > MAX_TEXT_OBJECTS:
        problem = f"one block holds at most {MAX_TEXT_OBJECTS} pieces of different style; split this text"
        raise InvalidRequest(field="markdown", problem=problem)
    return texts


def long_rich_text(runs: Iterable[Run]) -> list[Json]:
    """Convert runs to rich text of any length; an image becomes a link to it."""
    return [each for run in join_runs(_with_line_breaks(runs)) for each in _text_objects(run)]


def runs_of(texts: Iterable[Json]) -> Runs:
    """Convert rich text to runs."""
    return tuple(join_runs(run for text in texts for run in _runs(text)))


def plain(texts: Iterable[Json] | None) -> str:
    """Return rich text without styles."""
    return "".join(text["plain_text"] for text in texts or [])


def pieces(text: str) -> Iterator[str]:
    """Yield a text in parts that are short enough for one text object."""
    start = width = 0
    for place, character in enumerate(text):
        width += 1 + (character > "\uffff")
        if width > MAX_TEXT_CHARACTERS:
            yield text[start:place]
            start, width = place, 1 + (character > "\uffff")
    if text[start:]:
        yield text[start:]


def address(link: str) -> Json:
    """Return a link's target; InvalidRequest for one for which Notion would refuse the whole request."""
    if len(link) > MAX_LINK_CHARACTERS or not _LINK_TARGET.fullmatch(link):
        problem = f'Notion accepts no link to "{link[:80]}": give a complete URL, as https://...'
        raise InvalidRequest(field="markdown", problem=problem)
    return {"url": link}


def lost_error(lost: Unsupported) -> InvalidRequest:
    """Return the error for content that Markdown only names, since writing it would destroy that content."""
    problem = f'"{lost.name}" cannot be written from Markdown: leave it out, or change only the blocks around it'
    return InvalidRequest(field="markdown", problem=problem)


def text_object(content: str) -> Json:
    """Return one text object without style."""
    return {"type": "text", "text": {"content": content}}


def _with_line_breaks(runs: Iterable[Run]) -> Iterator[Run]:
    """Yield line breaks as part of the text before them, so that they need no text object of their own."""
    before = TextRun("")
    for run in runs:
        now = TextRun("\n", before.marks, before.link) if isinstance(run, Break) else run
        before = now if isinstance(now, TextRun) else TextRun("")
        yield now


def _text_objects(run: Run) -> Iterator[Json]:
    match run:
        case TextRun(text, marks, link):
            style = {_MARKS[mark]: True for mark in sorted(marks)}
            for piece in pieces(text):
                part = text_object(piece)
                if link:
                    part["text"]["link"] = address(link)
                yield part | ({"annotations": style} if style else {})
        case Image(source, alt):
            link = address(source)["url"]
            yield from _text_objects(TextRun(alt or link, link=link))
        case Mention(id_):
            yield {"type": "mention", "mention": {"type": "user", "user": {"id": id_}}}
        case Unsupported():
            raise lost_error(run)


def _runs(text: Json) -> Iterator[Run]:
    kind = text["type"]
    if kind == "equation":
        yield from (TextRun(text["equation"]["expression"]), Unsupported("equation"))
        return
    mention: Json = text.get("mention") or {"type": "text"}
    if mention["type"] == "user":
        yield Mention(mention["user"]["id"], text["plain_text"].removeprefix("@"))
        return
    marks = frozenset(mark for mark, word in _MARKS.items() if text["annotations"][word])
    for place, line in enumerate(text["plain_text"].split("\n")):
        if place:
            yield Break()
        yield TextRun(line, marks, text["href"] or "")
    if kind == "mention" and not text["href"]:
        yield Unsupported(mention["type"].replace("_", " "))


def comment(markdown: str) -> list[Json]:
    """Convert a Markdown comment to rich text; a list stays readable, but is plain text."""
    runs: list[Run] = []
    for line in lines_of(read(markdown)):
        runs += [*([Break()] if runs else []), *line]
    return rich_text(runs)


def comment_markdown(texts: Iterable[Json]) -> str:
    """Convert a comment to Markdown."""
    return write((Paragraph(runs_of(texts)),))
