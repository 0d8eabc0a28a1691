"""Confluence's storage format as Markdown."""

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist_services.confluence.reading import from_storage
from mcpist_services.confluence.writing import to_storage


def storage(text: str, field: str = "body") -> str:
    """Markdown in storage format; InvalidRequest naming the field for what Confluence cannot be told by Markdown."""
    return to_storage(read(text), field)


def markdown(source: str) -> str:
    """The Markdown of a page's or a comment's storage format."""
    return write(from_storage(source))
