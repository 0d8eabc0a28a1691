"""The rows and cells of other formats' tables as Markdown can hold them: without merged cells, in lines of text."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mcpist.markdown import tree
from mcpist.markdown.tree import Block, Break, Item, Run, Runs, TextRun, Unsupported

_NAMES: dict[type[Block], str] = {
    tree.Code: "code block",
    tree.Heading: "heading",
    tree.List: "list",
    tree.Quote: "quote",
    tree.Rule: "rule",
    tree.TableBlock: "table",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text, and the number of columns and rows that it spans."""

    runs: Runs
    columns: int = 1
    rows: int = 1


def grid(rows: Iterable[Iterable[Cell]], max_columns: int = sys.maxsize) -> Iterator[tuple[Runs, ...]]:
    """Yield rows of texts; a cell with spans fills the first of its places and leaves the others empty.

    Cells beyond the last column are added to it, and named as lost.
    """
    covered: dict[int, int] = {}
    for row in rows:
        texts: list[Runs] = []
        overflow: list[Run] = []
        for cell in row:
            texts += _covered(covered, len(texts))
            if len(texts) >= max_columns:
                overflow += [Break(), *cell.runs, Unsupported(f"more than {max_columns} columns")]
                continue
            end = min(len(texts) + cell.columns, max_columns)
            covered |= dict.fromkeys(range(len(texts), end), cell.rows - 1)
            texts += [cell.runs, *[()] * (end - len(texts) - 1)]
        if overflow:
            texts[-1] += tuple(overflow)
        yield (*texts, *_covered(covered, len(texts)))


def _covered(covered: dict[int, int], column: int) -> Iterator[Runs]:
    """Yield the empty places from this column on that cells of the rows above cover."""
    while covered.get(column, 0) > 0:
        covered[column] -= 1
        column += 1
        yield ()


def flat(blocks: Iterable[Block], bullet: Callable[[Item], str], where: str = "") -> Runs:
    """Return blocks as lines; a block that is not a paragraph is named as lost `where` it was, after its text."""
    lost = {kind: (Unsupported(f"{name}{where}"),) for kind, name in _NAMES.items()}
    return tree.joined((*_line(block, bullet, where), *lost.get(type(block), ())) for block in blocks)


def _line(block: Block, bullet: Callable[[Item], str], where: str) -> Runs:
    match block:
        case tree.Paragraph(runs) | tree.Heading(_, runs):
            return runs
        case tree.Code(text):
            return tree.joined([TextRun(line, frozenset({"code"}))] for line in text.split("\n"))
        case tree.Quote(blocks):
            return flat(blocks, bullet, where)
        case tree.List(items):
            return tree.joined((TextRun(f"{bullet(item)} "), *flat(item.blocks, bullet, where)) for item in items)
        case tree.TableBlock(rows):
            return tree.joined([run for cell in row for run in (*cell, TextRun(" | "))] for row in rows)
        case Unsupported():
            return (block,)
        case tree.Rule():
            return ()
