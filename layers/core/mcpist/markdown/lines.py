"""Blocks as lines of runs, for services whose texts have no blocks: lists and quotes keep their Markdown marks."""

from collections.abc import Iterable, Iterator, Sequence

from mcpist.markdown.tree import Block, Blocks, Code, Heading, Item, List, Paragraph, Quote, Run, Text, Unsupported
from mcpist.markdown.writer import write

type RunLine = Sequence[Run]

_BOXES = {None: "", True: "[x] ", False: "[ ] "}


def lines_of(blocks: Blocks) -> Iterator[RunLine]:
    """Yield the lines of blocks, with an empty one between blocks; an Unsupported is a line of its own."""
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
            yield from ([Text("> "), *line] for line in lines_of(blocks))
        case List(items, start):
            for place, item in enumerate(items):
                yield from _prefixed("- " if start is None else f"{start + place}. ", item)
        case Unsupported():
            yield (block,)
        case _:
            yield from ([Text(line)] for line in write((block,)).split("\n"))


def _prefixed(mark: str, item: Item) -> Iterator[RunLine]:
    lines: Iterable[RunLine] = (line for inner in item.blocks for line in _lines(inner))
    for place, line in enumerate(lines):
        yield [Text("  " if place else f"{mark}{_BOXES[item.done]}"), *line]
