"""What a document of Jira can hold, and what becomes of the rest.

Atlassian's format is narrower than Markdown: a quote holds paragraphs, lists and code; an entry of a list paragraphs,
lists and code; a task one line, and tasks under it. So:

- What a quote, an entry or a task cannot hold stands behind it, in its order; a numbered list goes on counting after
  that. A list of entries and tasks is parted into lists of either; a list of tasks has no numbers. A quote inside a
  quote gives it its blocks; an empty quote is not there.
- A heading inside of these is a strong paragraph. Code in a line has no other mark.
- An image is one only where it is alone in a paragraph and has an address of the web; elsewhere it is a link.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, takewhile

from mcpist.markdown.normal_form import normalize
from mcpist.markdown.tree import (
    Block,
    Blocks,
    Code,
    Heading,
    Image,
    Item,
    List,
    Paragraph,
    Quote,
    Run,
    Runs,
    Table,
    Text,
)

_WEB = re.compile(r"https?://", re.IGNORECASE)


def shaped(blocks: Blocks) -> Blocks:
    """The tree as a document of Jira holds it; it reads back as the same."""
    return normalize(tuple(_fit_blocks(normalize(blocks), top=True)))


def is_picture(block: Block) -> bool:
    """Whether a block is an image that Jira shows as one."""
    return isinstance(block, Paragraph) and len(block.runs) == 1 and _is_web_image(block.runs[0])


def is_tasks(block: Block) -> bool:
    """Whether a block is a list of tasks."""
    return isinstance(block, List) and block.items[0].done is not None


def _fit_blocks(blocks: Blocks, *, top: bool = False) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Paragraph(runs):
                yield from (block,) if is_picture(block) else normalize((Paragraph(_line(runs)),))
            case Heading(level, runs):
                line = _line(runs)
                yield from (Heading(level, line),) if top else normalize((Paragraph(tuple(map(_strong, line))),))
            case Quote(inner):
                yield from _quote(tuple(_fit_blocks(inner)))
            case List():
                yield from _list(block)
            case Table(rows):
                yield Table(tuple(tuple(map(_line, row)) for row in rows))
            case _:
                yield block


def _quote(blocks: Blocks) -> Iterator[Block]:
    flat = [inner for block in blocks for inner in (block.blocks if isinstance(block, Quote) else (block,))]
    for held, group in groupby(flat, lambda block: _fits_in_item(block) and not is_tasks(block)):
        together = tuple(group)
        yield from (Quote(together),) if held else together


def _list(found: List) -> Iterator[Block]:
    """A list, parted where something stands behind an entry, and where tasks begin or end."""
    waiting: list[Item] = []
    number = found.start
    for position, item in enumerate(found.items):
        if waiting and (waiting[0].done is None) != (item.done is None):
            yield _list_of(waiting, number)
            waiting = []
        if not waiting and found.start is not None:
            number = found.start + position
        blocks = tuple(_fit_blocks(item.blocks))
        kept = _entry(blocks) if item.done is None else _task(blocks)
        waiting.append(Item(kept, item.done))
        if len(kept) < len(blocks):
            yield _list_of(waiting, number)
            waiting = []
            yield from blocks[len(kept) :]
    if waiting:
        yield _list_of(waiting, number)


def _list_of(items: list[Item], number: int | None) -> List:
    return List(tuple(items), number if items[0].done is None else None)


def _entry(blocks: Blocks) -> Blocks:
    return tuple(takewhile(_fits_in_item, blocks))


def _task(blocks: Blocks) -> Blocks:
    """The line of a task, and the tasks under it."""
    line = tuple(block for block in blocks[:1] if isinstance(block, Paragraph) and not is_picture(block))
    return line + tuple(takewhile(is_tasks, blocks[len(line) :]))


def _fits_in_item(block: Block) -> bool:
    """Whether an entry of a list holds a block."""
    return isinstance(block, Paragraph | List | Code)


def _line(runs: Runs) -> Runs:
    return tuple(map(_run, runs))


def _run(run: Run) -> Run:
    match run:
        case Text(_, marks) if "code" in marks:
            return replace(run, marks=frozenset({"code"}))
        case Image(source, alt):
            return Text(alt or source, link=source)
        case _:
            return run


def _strong(run: Run) -> Run:
    return replace(run, marks=run.marks | {"strong"}) if isinstance(run, Text) and "code" not in run.marks else run


def _is_web_image(run: Run) -> bool:
    return isinstance(run, Image) and bool(_WEB.match(run.source))
