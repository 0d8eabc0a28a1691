"""Comments: Notion stores them as one rich text without blocks, so lists and quotes keep their Markdown marks."""

from collections.abc import Iterable, Iterator, Sequence

from mcpist.markdown.reader import read
from mcpist.markdown.tree import Block, Blocks, Break, Code, Heading, List, Paragraph, Quote, Run, Text, Unsupported
from mcpist.markdown.writer import write
from mcpist_services.notion.rich_text import Json, lost_error, rich_text, runs_of

type RunLine = Sequence[Run]


def comment(markdown: str) -> list[Json]:
    """Convert a Markdown comment to rich text; a list stays readable, but is plain text."""
    runs: list[Run] = []
    for line in _lines_of_blocks(read(markdown)):
        runs += [*([Break()] if runs else []), *line]
    return rich_text(runs)


def comment_markdown(texts: Iterable[Json]) -> str:
    """Convert a comment to Markdown."""
    return write((Paragraph(runs_of(texts)),))


def _lines_of_blocks(blocks: Blocks) -> Iterator[RunLine]:
    """Yield the lines of blocks, with an empty one between blocks."""
    for place, block in enumerate(blocks):
        if place:
            yield ()
        yield from _lines(block)


def _lines(block: Block) -> Iterator[RunLine]:
    match block:
        case Paragraph(runs) | Heading(_, runs):
            yield runs
        case Code(text):
            yield from ([Text(line, frozenset({"code"}))] for line in text.split("\n"))
        case Quote(blocks):
            yield from ([Text("> "), *line] for line in _lines_of_blocks(blocks))
        case List(items, start):
            for place, item in enumerate(items):
                box = {None: "", True: "[x] ", False: "[ ] "}[item.done]
                mark = f"- {box}" if start is None else f"{start + place}. {box}"
                yield from _prefixed(mark, (line for inner in item.blocks for line in _lines(inner)))
        case Unsupported():
            raise lost_error(block)
        case _:
            yield from ([Text(line)] for line in write((block,)).split("\n"))


def _prefixed(mark: str, lines: Iterable[RunLine]) -> Iterator[RunLine]:
    for place, line in enumerate(lines):
        yield [Text("  " if place else mark), *line]
