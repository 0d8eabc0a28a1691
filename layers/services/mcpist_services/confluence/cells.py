"""Tables: cells that span several columns or rows, and blocks as the lines of a cell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcpist.markdown import tree
from mcpist_services.confluence.markup import Element

MAX_COLUMNS = 100  # so that one long row cannot lengthen all others

_NAMES: dict[type[tree.Block], str] = {
    tree.Code: "code block",
    tree.Heading: "heading",
    tree.List: "list",
    tree.Quote: "quote",
    tree.Rule: "rule",
    tree.TableBlock: "table",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, and the number of columns and rows that it spans."""

    runs: tree.Runs
    columns: int = 1
    rows: int = 1

    @property
    def runs_with_spans(self) -> tree.Runs:
        """Its text, followed by its spans, which Markdown cannot express."""
        spans = {"colspan": self.columns, "rowspan": self.rows}
        return (*self.runs, *(tree.Unsupported(f"{name} {size}") for name, size in spans.items() if size > 1))


def rows_of(table: Element) -> tuple[list[list[Element]], list[Element | str]]:
    """Return the rows of a table, and its contents outside of cells."""
    rows: list[list[Element]] = []
    rest: list[Element | str] = []
    for child in table.children:
        if isinstance(child, Element) and child.name == "tr":
            cells = [cell for cell in child.elements if cell.name in ("td", "th")]
            rows += [cells] if cells else []
            rest += [inner for inner in child.children if isinstance(inner, str) or inner.name not in ("td", "th")]
        elif isinstance(child, Element) and child.name in ("thead", "tbody", "tfoot"):
            inner_rows, inner_rest = rows_of(child)
            rows += inner_rows
            rest += inner_rest
        else:
            rest.append(child)
    return rows, rest


def grid(rows: Iterable[list[Cell]]) -> Iterator[tuple[tree.Runs, ...]]:
    """Yield rows of texts; a cell with spans fills the first of its places and leaves the others empty."""
    covered: dict[int, int] = {}
    for row in rows:
        texts: list[tree.Runs] = []
        overflow: list[tree.Run] = []
        for cell in row:
            texts += _covered(covered, len(texts))
            if len(texts) >= MAX_COLUMNS:
                overflow += [tree.Break(), *cell.runs_with_spans, tree.Unsupported(f"more than {MAX_COLUMNS} columns")]
                continue
            end = min(len(texts) + cell.columns, MAX_COLUMNS)
            covered |= dict.fromkeys(range(len(texts), end), cell.rows - 1)
            texts += [cell.runs_with_spans, *[()] * (end - len(texts) - 1)]
        texts[-1] += tuple(overflow)
        yield (*texts, *_covered(covered, len(texts)))


def _covered(covered: dict[int, int], column: int) -> Iterator[tree.Runs]:
    """Yield the empty places from this column on that cells of the rows above cover."""
    while covered.get(column, 0) > 0:
        covered[column] -= 1
        column += 1
        yield ()


def lines(blocks: tree.Blocks, place: str) -> tree.Runs:
    """Return blocks as lines; a block that is not a paragraph is named after its text as lost in this place."""
    runs: list[tree.Run] = []
    for block in blocks:
        runs += [tree.Break()] if runs else []
        runs += _line(block, place)
        runs += [tree.Unsupported(f"{_NAMES[type(block)]} in a {place}")] if type(block) in _NAMES else []
    return tuple(runs)


def _line(block: tree.Block, place: str) -> tree.Runs:
    match block:
        case tree.Paragraph(runs) | tree.Heading(_, runs):
            return runs
        case tree.Code(text):
            return _joined([(tree.TextRun(line, frozenset({"code"})),) for line in text.split("\n")])
        case tree.Quote(blocks):
            return lines(blocks, place)
        case tree.List(items):
            return _joined([(tree.TextRun(f"{_bullet(item)} "), *lines(item.blocks, place)) for item in items])
        case tree.TableBlock(rows):
            return _joined([tuple(run for cell in row for run in (*cell, tree.TextRun(" | "))) for row in rows])
        case tree.Unsupported():
            return (block,)
        case tree.Rule():
            return ()


def _bullet(item: tree.Item) -> str:
    return "-" if item.done is None else "[x]" if item.done else "[ ]"


def _joined(parts: list[tree.Runs]) -> tree.Runs:
    return tuple(run for position, part in enumerate(parts) for run in ((tree.Break(),) if position else ()) + part)
