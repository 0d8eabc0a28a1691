"""Jira's rich text, Atlassian's document format, as Markdown."""

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist_services.jira.reading import from_adf
from mcpist_services.jira.writing import Node, to_adf


def adf(text: str, field: str) -> Node:
    """The document of a Markdown text; InvalidRequest naming the field for what Jira cannot be told by Markdown."""
    return to_adf(read(text), field, seed=text)


def markdown(document: Node | str | None) -> str:
    """The Markdown of a document; plain text, which some fields hold, as it is."""
    if isinstance(document, dict):
        return write(from_adf(document))
    return document or ""
