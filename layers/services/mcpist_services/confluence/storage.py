"""Confluence's storage format as Markdown."""

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist_services.confluence.originals import Originals
from mcpist_services.confluence.reading import from_storage
from mcpist_services.confluence.writing import to_storage


def storage(text: str, field: str = "body", page: str = "") -> str:
    """Convert Markdown to storage format, with the macros of a page's source in the place of their marks.

    InvalidRequest, naming the field, for what Markdown cannot express.
    """
    return to_storage(read(text), field, Originals(page))


def markdown(source: str) -> str:
    """Convert the storage format of a page or a comment to Markdown."""
    return write(from_storage(source))
