"""The organization's own Markdown documents: full-text search, titles, tags, dates; to read and to write.

They are files with YAML front matter (title, tags, date) in the owner's bucket, under `rag/{organization}/docs/`.
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import Day
from mcpist.tools.declare.call import AuthoredLookup, Lookup
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, compares, undone_by
from mcpist_services.rag.document_store import DocumentStore
from mcpist_services.rag.documents import MAX_TITLE_CHARACTERS, checked_path, compose_text

rag = Module(
    "rag",
    __doc__,
    api_version="1",
    open_store=lambda caller: DocumentStore.of(caller.organization),
    category="knowledge",
    tags=("documents", "markdown", "search"),
)

DOCUMENTS = shows("path", "title", "tags", "date", "size_bytes")

Limit = Annotated[int, Field(ge=1, le=MAX_ITEMS)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Path = Annotated[Text, "As a search or a list shows it, e.g. guides/deploy.md"]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
Title = Annotated[str, Field(pattern=r"\S", max_length=MAX_TITLE_CHARACTERS)]
Tags = Annotated[list[Tag], Field(max_length=50)]
Version = Annotated[str, Field(pattern=r'^"?[0-9A-Za-z-]{1,100}"?$')]
Content = Annotated[
    str, Field(min_length=1), "The whole document in Markdown, with its front matter if any, e.g. # Deploy"
]
NewTitle = Annotated[Title, "For the front matter; without one the first heading is the title, e.g. How we deploy"]
NewTags = Annotated[Tags, "For the front matter, replacing its tags; [] removes them, e.g. ops, security"]
ReplacedVersion = Annotated[
    Version,
    "The version from get_doc that you replace; if left out, an existing document is not changed, "
    "e.g. 6dcb09b5b57875f334f61aebed695e2e",
]
DeletedVersion = Annotated[
    Version, "Delete it only if this is still its version, e.g. 6dcb09b5b57875f334f61aebed695e2e"
]


@rag.reads(shows("path", "title", "snippet", "tags"))
def search_docs(
    query: Annotated[Text, "Words in any language; no operators, e.g. rotate the database password"],
    tags: Annotated[list[Tag] | None, "Only documents with all of these, e.g. ops, security"] = None,
    limit: Limit = 10,
) -> Lookup:
    """Search the documents by their words, the best match first; read one with get_doc."""
    return Lookup(DocumentStore.search, query=query, tags=tags, limit=limit)


@rag.reads(shows("path", "title", "tags", "date", "version", "content", text="content"))
def get_doc(path: Path) -> Lookup:
    """Read one document as Markdown."""
    return Lookup(DocumentStore.document, path=path)


@rag.reads(DOCUMENTS)
def list_docs(
    folder: Annotated[Text | None, "Only paths that begin with this, e.g. guides/"] = None,
    tag: Annotated[Tag | None, "Only with this tag, as list_tags shows it, e.g. ops"] = None,
    title: Annotated[
        Text | None, "Only titles with all of these words or parts of words, in any order, e.g. deploy guide"
    ] = None,
    after: Annotated[Text | None, "Only what follows this path, to go on with a list, e.g. guides/deploy.md"] = None,
    limit: Limit = 50,
) -> Lookup:
    """List the documents by path: of a folder, with a tag, with words in their title."""
    return Lookup(DocumentStore.documents, folder=folder, tag=tag, title=title, after=after, limit=limit)


@rag.reads(shows("tag", "count"))
def list_tags(limit: Limit = 100) -> Lookup:
    """List the tags, the most used first, each with its number of documents."""
    return Lookup(DocumentStore.tags, limit=limit)


@rag.reads(DOCUMENTS)
def list_docs_by_date(
    since: Annotated[Day | None, "The first day, e.g. 2026-01-31"] = None,
    until: Annotated[Day | None, "The last day, inclusive, e.g. 2026-03-31"] = None,
    limit: Limit = 50,
) -> Lookup:
    """List the documents that have a date, the newest first."""
    return Lookup(DocumentStore.dated, since=since, until=until, limit=limit)


def _former_document(change: ToolChange) -> Iterable[ToolCall]:
    """Return the call that stores the former version of a document, or deletes a new one."""
    path, version = change.arguments["path"], (change.answer or {}).get("version")
    if change.before is None:
        return [ToolCall("delete_doc", {"path": path, "version": version})]
    return [ToolCall("put_doc", {"path": path, "content": change.before["content"], "replaces": version})]


@rag.writes(
    shows("path", "title", "version", "state"),
    idempotent=True,
    undo=Undo(calls=_former_document, read="get_doc", state=compares(version="version")),
)
def put_doc(
    path: Annotated[Text, "Folders and a name that ends in .md, e.g. guides/deploy.md"],
    content: Content,
    title: NewTitle | None = None,
    tags: NewTags | None = None,
    date: Annotated[Day | None, "For the front matter, e.g. 2026-01-31"] = None,
    replaces: ReplacedVersion | None = None,
) -> Lookup:
    """Create a document, or replace the version of it that you read.

    It does not overwrite what somebody else wrote in between. Other fields of the front matter stay as they are.
    """
    text = compose_text(content, title, tags, date)
    return AuthoredLookup(
        DocumentStore.write, path=checked_path(path, new=replaces is None), text=text, replaces=replaces
    )


@rag.destroys(
    shows("path", "state"), idempotent=True, undo=undone_by("put_doc(path, content=before.content)", read="get_doc")
)
def delete_doc(path: Path, version: DeletedVersion | None = None) -> Lookup:
    """Delete a document. An administrator of the bucket can restore it for 30 days."""
    return AuthoredLookup(DocumentStore.remove, path=path, version=version)


rag.addresses("rag://docs/{+path}", get_doc, "document", "A document as Markdown.", listed_by=list_docs)
rag.addresses("rag://tags/{tag}", list_docs, "tagged", "The documents with one tag.")


@rag.prompt(search_docs, get_doc)
def answer_from_documents(
    question: Annotated[Text, "What you want to know, e.g. How do we rotate the database password?"],
) -> None:
    """Answer a question from the organization's documents, with sources."""


@rag.prompt(get_doc)
def summarise_document(path: Path) -> None:
    """Summarise one document."""


@rag.prompt(get_doc, put_doc)
def revise_document(path: Path, change: Annotated[Text, "What should be different, e.g. Add how to roll back"]) -> None:
    """Change a document after showing what would be different."""


rag.completes("path", list_docs, "path")
rag.completes("tag", list_tags, "tag")
