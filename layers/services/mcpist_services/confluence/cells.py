"""Blocks, built while markup is read from its beginning to its end, and the contents of cells."""

import re
from dataclasses import dataclass

from mcpist.markdown import tree
from mcpist.markdown.grid import flat
from mcpist.markdown.tree import Block, Mark, Paragraph, Run, TextRun, Unsupported
from mcpist_services.confluence.markup import Element

_WHITESPACE = re.compile(r"[ \t\r\n\f]+")


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


def lines(blocks: tree.Blocks, place: str) -> tree.Runs:
    """Return blocks as lines; a block that is not a paragraph is named after its text as lost in this place."""
    return flat(blocks, _bullet, f" in a {place}")


def _bullet(item: tree.Item) -> str:
    return "-" if item.done is None else "[x]" if item.done else "[ ]"


@dataclass(frozen=True, slots=True)
class Style:
    """The style that a text gets from the elements around it."""

    marks: frozenset[Mark] = frozenset()
    link: str = ""


PLAIN = Style()


class BlockBuilder:
    """Collects runs into a paragraph until a block comes; each name in `lost` is added once after the paragraph."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.runs: list[Run] = []
        self.lost: dict[Unsupported, None] = {}

    def add_runs(self, *runs: Run) -> None:
        """Add runs as they are."""
        self.runs += runs

    def add_text(self, text: str, style: Style) -> None:
        """Add text; repeated spaces become one, across elements too."""
        if "code" in style.marks:
            text = re.sub(r"[\t\r\n]", " ", text)
        else:
            before = self.runs[-1] if self.runs else None
            text = _WHITESPACE.sub(" ", text)
            text = text.lstrip(" ") if isinstance(before, TextRun) and before.text.endswith(" ") else text
        self.runs += [TextRun(text, style.marks, style.link)] if text else []

    def add_blocks(self, *blocks: Block) -> None:
        """End the paragraph and add blocks after it."""
        self.end_paragraph()
        self.blocks += blocks

    def end_paragraph(self) -> None:
        """End the paragraph; one that holds nothing but names of lost parts becomes these names alone."""
        visible = [run for run in (*self.runs, *self.lost) if not is_blank(run)]
        if all(isinstance(run, Unsupported) for run in visible):
            self.blocks += [run for run in visible if isinstance(run, Unsupported)]
        else:
            self.blocks.append(Paragraph((*self.runs, *self.lost)))
        self.runs, self.lost = [], {}


def is_blank(run: Run) -> bool:
    """Whether a run is nothing but spaces."""
    return isinstance(run, TextRun) and "code" not in run.marks and not run.text.strip()
