"""Builder of blocks, filled while markup is read from its beginning to its end."""

import re
from dataclasses import dataclass

from mcpist.markdown.tree import Block, Mark, Paragraph, Run, TextRun, Unsupported

_WHITESPACE = re.compile(r"[ \t\r\n\f]+")


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
