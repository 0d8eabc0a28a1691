"""Comments: Notion holds them as one rich text without blocks, so lists and quotes stay as their Markdown marks."""

from collections.abc import Iterable, Iterator, Sequence

from mcpist.markdown.read import read
from mcpist.markdown.tree import Block, Blocks, Break, Code, Heading, List, Lost, Paragraph, Quote, Run, Text
from mcpist.markdown.write import write
from mcpist_services.notion.rich_text import Json, refused, rich_text, runs_of

type Line = Sequence[Run]


def comment(markdown: str) -> list[Json]:
    """A comment in Markdown as rich text; a list that came from Markdown reads as one, but is text."""
    runs: list[Run] = []
    for line in _spaced(read(markdown)):
        runs += [*([Break()] if runs else []), *line]
    return rich_text(runs)


def said(texts: Iterable[Json]) -> str:
    """A comment as Markdown."""
    return write((Paragraph(runs_of(texts)),))


def _spaced(blocks: Blocks) -> Iterator[Line]:
    """The lines of blocks with an empty one between two blocks."""
    for place, block in enumerate(blocks):
        if place:
            yield ()
        yield from _lines(block)


def _lines(block: Block) -> Iterator[Line]:
    match block:
        case Paragraph(runs) | Heading(_, runs):
            yield runs
        case Code(text):
            yield from ([Text(line, frozenset({"code"}))] for line in text.split("\n"))
        case Quote(blocks):
            yield from ([Text("> "), *line] for line in _spaced(blocks))
        case List(items, start):
            for place, item in enumerate(items):
                box = {None: "", True: "[x] ", False: "[ ] "}[item.done]
                mark = f"- {box}" if start is None else f"{start + place}. {box}"
                yield from _behind(mark, (line for inner in item.blocks for line in _lines(inner)))
        case Lost():
            raise refused(block)
        case _:
            yield from ([Text(line)] for line in write((block,)).split("\n"))


def _behind(mark: str, lines: Iterable[Line]) -> Iterator[Line]:
    for place, line in enumerate(lines):
        yield [Text("  " if place else mark), *line]
