"""The organization's own Markdown documents: find them by text, title, tag or date, and read them.

They are files with YAML front matter (title, tags, date) in the owner's bucket, under `rag/{organization}/docs/`.
"""

from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.call import Lookup
from mcpist.tools.module import Module
from mcpist_modules.rag.shelf import Shelf

rag = Module("rag", __doc__, api_version="1", opens=Shelf.of)

DOCUMENTS = shows("path", "title", "tags", "date", "size_bytes")

Limit = Annotated[int, Field(ge=1, le=500)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@rag.reads(shows("path", "title", "snippet", "tags"))
def search_docs(
    query: Annotated[Text, "Words in any language; no operators"],
    tags: Annotated[list[Tag] | None, "Only documents with all of these"] = None,
    limit: Limit = 10,
) -> Lookup:
    """Search the documents by their words, best first; get_doc then reads one."""
    return Lookup(Shelf.search, query=query, tags=tags, limit=limit)


@rag.reads(shows("path", "title", "tags", "date", "content", text="content"))
def get_doc(path: Annotated[Text, "As a search or a list shows it, e.g. guides/deploy.md"]) -> Lookup:
    """Read one document as Markdown."""
    return Lookup(Shelf.document, path=path)


@rag.reads(DOCUMENTS)
def list_docs(
    folder: Annotated[Text | None, "Only paths that begin with this, e.g. guides/"] = None, limit: Limit = 50
) -> Lookup:
    """List the documents by path."""
    return Lookup(Shelf.documents, folder=folder, limit=limit)


@rag.reads(shows("tag", "count"))
def list_tags() -> Lookup:
    """List the tags with the number of documents that have each."""
    return Lookup(Shelf.tags)


@rag.reads(DOCUMENTS)
def list_docs_by_tag(tag: Annotated[Tag, "As list_tags shows it"], limit: Limit = 50) -> Lookup:
    """List the documents with one tag."""
    return Lookup(Shelf.documents, tag=tag, limit=limit)


@rag.reads(DOCUMENTS)
def search_by_title(title: Annotated[Text, "Words or parts of words, in any order"], limit: Limit = 50) -> Lookup:
    """Find the documents with all of these words in their title."""
    return Lookup(Shelf.documents, title=title, limit=limit)


@rag.reads(DOCUMENTS)
def list_docs_by_date(
    since: Annotated[Day | None, "The first day, e.g. 2026-01-31"] = None,
    until: Annotated[Day | None, "The last day, itself included"] = None,
    limit: Limit = 50,
) -> Lookup:
    """List the documents that have a date, the newest first."""
    return Lookup(Shelf.dated, since=since, until=until, limit=limit)
