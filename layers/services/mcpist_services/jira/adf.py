"""Jira's rich text, Atlassian's document format, as Markdown."""

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist_services.jira.reading import from_adf
from mcpist_services.jira.writing import Node, to_adf


def adf(text: str, field: str) -> Node:
    """Convert Markdown to a document; InvalidRequest, naming the field, for what Markdown cannot express."""
    return to_adf(read(text), field, seed=text)


def markdown(document: Node | str | None) -> str:
    """Convert a document to Markdown; plain text, which some fields hold, is returned as it is."""
    if isinstance(document, dict):
        return write(from_adf(document))
    return document or ""
