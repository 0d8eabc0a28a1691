"""Short ways to write trees."""

from mcpist.markdown.tree import Block, Item, Mark, Paragraph, Run, TextRun


def text(text: str, *marks: Mark, link: str = "") -> TextRun:
    return TextRun(text, frozenset(marks), link)


def paragraph(*runs: Run | str) -> Paragraph:
    return Paragraph(tuple(text(run) if isinstance(run, str) else run for run in runs))


def item(*blocks: Block | str, done: bool | None = None) -> Item:
    return Item(tuple(paragraph(block) if isinstance(block, str) else block for block in blocks), done)
