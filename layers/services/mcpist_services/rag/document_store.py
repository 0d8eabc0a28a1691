"""An organization's documents: its folder in the bucket, and the index beside them.

    rag/{organization}/docs/<path>.md      the documents, stored by anyone: this module, the console, `aws s3 sync`
    rag/{organization}/index.sqlite        the index, with the ETag of each document that it has read

One listing shows which documents exist, which of them the index has not read, and whether another sandbox has stored a
newer index. So changes need no notifications, of which one could be lost.
A few changes among many documents are not worth storing the whole index: each sandbox reads these documents itself,
until they are enough to be stored.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote

from mcpist.caller import Caller
from mcpist.errors import FileNotFound, InvalidRequest, StoreUnavailable
from mcpist.memory import on_forget
from mcpist.suggestions import nearest
from mcpist.tools.declare.call import PartialList
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist_services import skill_records
from mcpist_services.rag.documents import SUFFIXES, MarkdownDocument, folded, plain, read
from mcpist_services.rag.folder import BucketFolder, map_concurrently
from mcpist_services.rag.index import DocumentIndex

FRESH_SECONDS_PER_REQUEST = 5  # for each request of a listing, so that many documents do not mean many requests
MAX_INDEXING_SECONDS = 8  # of one call for new documents; later calls read the rest
MAX_CACHED_STORES = 4  # in the memory of a sandbox
# The index is stored when so many documents differ from the stored one, or this part of all.
MAX_UNSTORED_DOCUMENTS, MAX_UNSTORED_PART = 100, 1 / 32

_DOCUMENTS = "docs/"
_INDEX = "index.sqlite"

_ALREADY_EXISTS = "there is a document at this path: read it (get_doc), and give its version here to replace it"
_CHANGED = "the document has changed since this version: read it again (get_doc)"

type Row = dict[str, Any]
type Rows = list[Row] | PartialList


class DocumentStore:
    """The documents of one organization; its queries are the Lookups of the module's tools."""

    def __init__(self, organization: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = BucketFolder(f"rag/{quote(organization, safe='')}/")
        self._clock = clock  # wall-clock time, which continues while a sandbox is frozen
        self._lock = threading.Lock()
        self._index = DocumentIndex()
        self._etag = ""  # of the stored index from which this one was made; empty if there is none
        self._unstored: set[str] = set()  # the paths that differ from it
        self._fresh_until = float("-inf")

    @staticmethod
    @lru_cache(MAX_CACHED_STORES)
    def of(organization: str) -> "DocumentStore":
        """Return the store of an organization, which is kept between calls."""
        return DocumentStore(organization)

    # -- queries --------------------------------------------------------------------------------------

    def search(self, query: str, tags: Iterable[str] | None, limit: int) -> Rows:
        """Find the documents with a query's words and all of the tags, the best match first."""
        index, required = self.index(), set(map(folded, tags or ()))
        rows = ({**index.entries[path], "snippet": snippet} for path, snippet in index.search(query))
        return _limited((row for row in rows if required <= set(map(folded, row["tags"]))), limit)

    def document(self, path: str) -> Row:
        """Return one document with its content; FileNotFound with similar paths if there is none."""
        index = self.index()
        if path not in index.entries:
            index = self.index(refresh=True)  # another sandbox may have stored it just now
        if path not in index.entries:
            raise _not_found(path, index)
        return {**index.entries[path], "version": _version(index.etag(path)), "content": index.text(path)}

    def documents(
        self,
        limit: int,
        folder: str | None = None,
        tag: str | None = None,
        title: str | None = None,
        after: str | None = None,
    ) -> Rows:
        """Return the documents in a folder, with a tag, with all these words in their title, after a path; by path."""
        words = folded(title or "").split()
        rows = (
            row
            for path, row in self.index().entries.items()
            if path.startswith(folder or "")
            and path > (after or "")
            and (tag is None or folded(tag) in map(folded, row["tags"]))
            and all(word in folded(row["title"]) for word in words)
        )
        return _limited(rows, limit)

    def dated(self, since: str | None, until: str | None, limit: int) -> Rows:
        """Return the documents with a date from `since` to `until`, both inclusive; the newest first."""
        # ISO days compare as texts, so the ends of an open range are texts before and after all of them.
        first, last = since or "", until or "9999-12-31"
        rows = (row for row in self.index().entries.values() if row["date"] and first <= row["date"] <= last)
        return _limited(sorted(rows, key=lambda row: row["date"], reverse=True), limit)

    def tags(self, limit: int) -> Rows:
        """Return every tag with its number of documents, the most used first."""
        counts = Counter(tag for row in self.index().entries.values() for tag in row["tags"])
        most_used = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return _limited(({"tag": tag, "count": count} for tag, count in most_used), limit)

    # -- changes --------------------------------------------------------------------------------------

    def write(self, path: str, text: str, replaces: str | None, caller: Caller | None = None) -> Row:
        """Store a new document, or replace this version of it.

        The operation is idempotent: the same content is not stored again.
        """
        name, content, expected = _DOCUMENTS + path, text.encode(), _etag(replaces)
        with self._invalidating():
            etag = self._folder.replace(name, content, expected)
            state = "replaced" if expected else "created"
            if etag is None:
                etag, state = self._existing_etag(path, content, expected), "unchanged"
        if caller:
            skill_records.note_change(caller, path, plain(text))
        return {"path": path, "title": read(path, content).title, "version": _version(etag), "state": state}

    def remove(self, path: str, version: str | None, caller: Caller | None = None) -> Row:
        """Remove a document; an administrator can restore its versions of the last 30 days from the bucket."""
        name, expected = _DOCUMENTS + path, _etag(version)
        with self._invalidating():
            etag = self._folder.etag(name) if _is_document(path) else None
            if etag is None:
                raise _not_found(path, self.index(refresh=True))
            if (expected and etag != expected) or not self._folder.delete(name, etag):
                raise InvalidRequest(field="version", problem=_CHANGED)
        if caller:
            skill_records.note_change(caller, path, None)
        return {"path": path, "state": "deleted"}

    def _existing_etag(self, path: str, content: bytes, expected: str) -> str:
        """Return the ETag of the document that exists at this path, if its content is the same."""
        stored, etag = self._folder.get(_DOCUMENTS + path) or (None, "")
        if stored == content:
            return etag
        if stored is not None and etag != expected:
            raise InvalidRequest(field="replaces", problem=_CHANGED if expected else _ALREADY_EXISTS)
        if expected and stored is None:
            raise _not_found(path, self.index(refresh=True))
        raise StoreUnavailable(store="documents")  # changed by somebody else at the same moment

    @contextmanager
    def _invalidating(self) -> Iterator[None]:
        """Let the next query read the bucket anew, whether the change succeeds or fails."""
        try:
            yield
        finally:
            with self._lock:
                self._fresh_until = float("-inf")

    # -- the index and the bucket ---------------------------------------------------------------------

    def index(self, *, refresh: bool = False) -> DocumentIndex:
        """Return the index of the documents, at most a few seconds old, or current with `refresh`."""
        with self._lock:
            if refresh or self._clock() >= self._fresh_until:
                self._refresh()
            return self._index

    def put(self, contents: Mapping[str, bytes]) -> list[str]:
        """Store and index documents by path, and return the paths of those that are new or changed."""
        documents = [read(path, content) for path, content in contents.items()]
        with self._lock:
            self._refresh()
            new = [document for document in documents if not self._index.holds(document)]
            paths = [document.path for document in new]
            etags = map_concurrently(lambda path: self._folder.put(_DOCUMENTS + path, contents[path]), paths)
            if new:
                self._update_index(zip(new, etags, strict=True), ())
            return paths

    def _refresh(self) -> None:
        """Compare the index with the listing, and read the documents that it lacks."""
        etags, requests = self._folder.etags()
        if etags.get(_INDEX, "") != self._etag:
            self._index, self._etag = self._stored()
            self._unstored = set()
        stored = {
            name.removeprefix(_DOCUMENTS): etag
            for name, etag in etags.items()
            if name.startswith(_DOCUMENTS) and _is_document(name)
        }
        unread, removed = self._difference(stored)
        if unread or removed:
            self._update_index(self._read_all(unread), removed)
            unread, _ = self._difference(stored)
        if not unread:
            self._fresh_until = self._clock() + FRESH_SECONDS_PER_REQUEST * requests

    def _difference(self, stored: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Return the paths of new or changed documents, and of those that no longer exist."""
        known = self._index.etags()
        unread = [path for path in stored if known.get(path) != stored[path]]
        return unread, [path for path in known if path not in stored]

    def _stored(self) -> tuple[DocumentIndex, str]:
        """Return the stored index and its ETag; an empty index where there is no readable one."""
        content, etag = self._folder.get(_INDEX) or (b"", "")
        return DocumentIndex.load(content) or DocumentIndex(), etag

    def _read_all(self, paths: Iterable[str]) -> Iterator[tuple[MarkdownDocument, str]]:
        """Yield documents with their ETags, as many as can be read in time, except those removed meanwhile."""
        end = self._clock() + MAX_INDEXING_SECONDS
        with closing(map_concurrently(self._read, paths)) as reads:
            for document in reads:
                if document:
                    yield document
                if self._clock() >= end:
                    return

    def _read(self, path: str) -> tuple[MarkdownDocument, str] | None:
        stored = self._folder.get(_DOCUMENTS + path)
        return (read(path, stored[0]), stored[1]) if stored else None

    def _update_index(self, added: Iterable[tuple[MarkdownDocument, str]], removed: Iterable[str]) -> None:
        """Change a copy of the index, since another thread may be reading this one, and store it if much has changed.

        A sandbox that loses the race keeps its own copy, and loads the winner's at its next refresh.
        """
        index = self._index.copy()
        for path in removed:
            index.remove(path)
            self._unstored.add(path)
        for document, etag in added:
            index.put(document, etag)
            self._unstored.add(document.path)
        self._index = index
        if len(self._unstored) >= min(MAX_UNSTORED_DOCUMENTS, len(index.etags()) * MAX_UNSTORED_PART):
            self._etag, self._unstored = self._folder.replace(_INDEX, index.dump(), self._etag) or "", set()


on_forget(DocumentStore.of.cache_clear)


def _limited(items: Iterable[Row], limit: int) -> Rows:
    """Return the first rows, with a hint for the reader where there are more."""
    rows = list(islice(items, limit + 1))
    if len(rows) <= limit:
        return rows
    more = f"raise limit (at most {MAX_ITEMS}) or " if limit < MAX_ITEMS else ""
    return PartialList(rows[:limit], f"Cut after {limit} items (there are more): {more}narrow the request.")


def _is_document(path: str) -> bool:
    return path.lower().endswith(SUFFIXES) and ".." not in path.split("/")


def _not_found(path: str, index: DocumentIndex) -> FileNotFound:
    return FileNotFound(path=path, nearest=nearest(path, index.entries))


def _version(etag: str) -> str:
    return etag.strip('"')


def _etag(version: str | None) -> str:
    return f'"{_version(version)}"' if version else ""
