"""Tables with merged cells, as rows that Markdown can hold."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcpist.markdown.tree import Break, Run, Runs, Unsupported


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
