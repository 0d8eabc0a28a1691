"""Comments: Notion stores them as one rich text without blocks, so lists and quotes keep their Markdown marks."""

from collections.abc import Iterable

from mcpist.markdown.reader import read
from mcpist.markdown.tree import Break, Paragraph, Run
from mcpist.markdown.writer import lines_of, write
from mcpist_services.notion.rich_text import Json, rich_text, runs_of


def comment(markdown: str) -> list[Json]:
    """Convert a Markdown comment to rich text; a list stays readable, but is plain text."""
    runs: list[Run] = []
    for line in lines_of(read(markdown)):
        runs += [*([Break()] if runs else []), *line]
    return rich_text(runs)


def comment_markdown(texts: Iterable[Json]) -> str:
    """Convert a comment to Markdown."""
    return write((Paragraph(runs_of(texts)),))
