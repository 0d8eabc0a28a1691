"""Normalization of a Markdown tree to what a Jira document can hold.

Atlassian's format is narrower than Markdown: quotes and list items hold paragraphs, lists and code; a task holds one
line and subtasks. So:

- What a quote, an item or a task cannot hold follows it, in its order; a numbered list continues its numbers after
  that. A list of items and tasks is split into lists of one kind; a list of tasks has no numbers. A quote inside a
  quote is merged into it; an empty quote is dropped.
- A heading inside of these becomes a strong paragraph. Inline code has no other mark.
- An image stays one only where it is alone in a paragraph and has a web address; elsewhere it becomes a link.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, takewhile

from mcpist.markdown import tree
from mcpist.markdown.normal_form import normalize

_WEB = re.compile(r"https?://", re.IGNORECASE)


def shaped(blocks: tree.Blocks) -> tree.Blocks:
    """Return the tree as a Jira document can hold it; writing and reading it again changes nothing."""
    return normalize(tuple(_fit_blocks(normalize(blocks), top=True)))


def is_picture(block: tree.Block) -> bool:
    """Whether a block is an image that Jira shows as one."""
    match block:
        case tree.Paragraph((tree.Image(source),)):
            return bool(_WEB.match(source))
    return False


def is_tasks(block: tree.Block) -> bool:
    """Whether a block is a list of tasks."""
    return isinstance(block, tree.List) and block.items[0].done is not None


def _fit_blocks(blocks: tree.Blocks, *, top: bool = False) -> Iterator[tree.Block]:
    for block in blocks:
        match block:
            case tree.Paragraph(runs):
                yield from (block,) if is_picture(block) else normalize((tree.Paragraph(_line(runs)),))
            case tree.Heading(level, runs):
                line = _line(runs)
                yield from (
                    (tree.Heading(level, line),) if top else normalize((tree.Paragraph(tuple(map(_strong, line))),))
                )
            case tree.Quote(inner):
                yield from _quote(tuple(_fit_blocks(inner)))
            case tree.List():
                yield from _list(block)
            case tree.TableBlock(rows):
                yield tree.TableBlock(tuple(tuple(map(_line, row)) for row in rows))
            case _:
                yield block


def _quote(blocks: tree.Blocks) -> Iterator[tree.Block]:
    flat = [inner for block in blocks for inner in (block.blocks if isinstance(block, tree.Quote) else (block,))]
    for held, group in groupby(flat, lambda block: _fits_in_item(block) and not is_tasks(block)):
        together = tuple(group)
        yield from (tree.Quote(together),) if held else together


def _list(block: tree.List) -> Iterator[tree.Block]:
    """Yield a list, split where something follows an item, and where tasks begin or end."""
    waiting: list[tree.Item] = []
    number = block.start
    for position, item in enumerate(block.items):
        if waiting and (waiting[0].done is None) != (item.done is None):
            yield _list_of(waiting, number)
            waiting = []
        if not waiting and block.start is not None:
            number = block.start + position
        blocks = tuple(_fit_blocks(item.blocks))
        fitting = tuple(takewhile(_fits_in_item, blocks)) if item.done is None else _task(blocks)
        waiting.append(tree.Item(fitting, item.done))
        if len(fitting) < len(blocks):
            yield _list_of(waiting, number)
            waiting = []
            yield from blocks[len(fitting) :]
    if waiting:
        yield _list_of(waiting, number)


def _list_of(items: list[tree.Item], number: int | None) -> tree.List:
    return tree.List(tuple(items), number if items[0].done is None else None)


def _task(blocks: tree.Blocks) -> tree.Blocks:
    """Return the line of a task and its subtasks."""
    line = tuple(block for block in blocks[:1] if isinstance(block, tree.Paragraph) and not is_picture(block))
    return line + tuple(takewhile(is_tasks, blocks[len(line) :]))


def _fits_in_item(block: tree.Block) -> bool:
    """Whether a list item can hold a block."""
    return isinstance(block, tree.Paragraph | tree.List | tree.Code)


def _line(runs: tree.Runs) -> tree.Runs:
    return tuple(map(_run, runs))


def _run(run: tree.Run) -> tree.Run:
    match run:
        case tree.TextRun(_, marks) if "code" in marks:
            return replace(run, marks=frozenset({"code"}))
        case tree.Image(source, alt):
            return tree.TextRun(alt or source, link=source)
        case _:
            return run


def _strong(run: tree.Run) -> tree.Run:
    if not isinstance(run, tree.TextRun) or "code" in run.marks:
        return run
    return replace(run, marks=run.marks | {"strong"})
