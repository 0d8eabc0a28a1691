"""An organization's documents: its folder in the bucket, and the index that is kept beside them.

    rag/{organization}/docs/<path>.md      the documents, put there by anyone: this module, the console, `aws s3 sync`
    rag/{organization}/index.sqlite        what was read of them, with the ETag of each

One listing tells everything: which documents there are, which of them the index has not read, and whether another
sandbox has stored a newer index. So nobody has to report a change, and no report can be lost.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote

from mcpist.errors import FileNotFound
from mcpist.tools.catalogue import nearest
from mcpist_modules.rag.documents import SUFFIXES, Document, folded, read
from mcpist_modules.rag.folder import Folder, each
from mcpist_modules.rag.index import Index

FRESH_SECONDS = 5  # for each request of a listing, so that many documents do not mean many requests
READ_SECONDS = 8  # that one call gives to new documents; the calls after it read the rest
SHELVES = 4  # that a sandbox keeps in memory

_DOCUMENTS = "docs/"
_INDEX = "index.sqlite"

type Row = dict[str, Any]


class Shelf:
    """The documents of one organization; its questions are what the module's tools look up."""

    def __init__(self, organization: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = Folder(f"rag/{quote(organization, safe='')}/")
        self._clock = clock  # the wall's: it goes on while a sandbox is frozen
        self._lock = threading.Lock()
        self._index = Index()
        self._etag = ""  # of the stored index that this one is; empty where it is not the stored one
        self._fresh_until = float("-inf")

    @staticmethod
    @lru_cache(SHELVES)
    def of(organization: str) -> "Shelf":
        """The shelf of an organization, kept between calls."""
        return Shelf(organization)

    # -- questions ------------------------------------------------------------------------------------

    def search(self, query: str, tags: Iterable[str] | None, limit: int) -> list[Row]:
        """The documents that a query's words are in and that have all the tags, best first."""
        index, wanted = self.index(), set(map(folded, tags or ()))
        found = ({**index.entries[path], "snippet": snippet} for path, snippet in index.search(query))
        return list(islice((row for row in found if wanted <= set(map(folded, row["tags"]))), limit))

    def document(self, path: str) -> Row:
        """One document with its content, or FileNotFound with the paths that were perhaps meant."""
        index = self.index()
        if path not in index.entries:
            raise FileNotFound(path=path, nearest=nearest(path, index.entries))
        return {**index.entries[path], "content": index.text(path)}

    def documents(
        self, limit: int, folder: str | None = None, tag: str | None = None, title: str | None = None
    ) -> list[Row]:
        """The documents in a folder, with a tag, with all these words in their title; by path."""
        words = folded(title or "").split()
        found = (
            row
            for path, row in self.index().entries.items()
            if path.startswith(folder or "")
            and (tag is None or folded(tag) in map(folded, row["tags"]))
            and all(word in folded(row["title"]) for word in words)
        )
        return list(islice(found, limit))

    def dated(self, since: str | None, until: str | None, limit: int) -> list[Row]:
        """The documents with a date from one day to another, both included; the newest first."""
        first, last = since or "", until or "9999-12-31"
        found = (row for row in self.index().entries.values() if row["date"] and first <= row["date"] <= last)
        return sorted(found, key=lambda row: row["date"], reverse=True)[:limit]

    def tags(self) -> list[Row]:
        """Every tag with the number of its documents, the most used first."""
        counts = Counter(tag for row in self.index().entries.values() for tag in row["tags"])
        most_used = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [{"tag": tag, "count": count} for tag, count in most_used]

    # -- the index and the bucket ---------------------------------------------------------------------

    def index(self) -> Index:
        """The index of the documents as they are, or were a few seconds ago."""
        with self._lock:
            if self._clock() >= self._fresh_until:
                self._refresh()
            return self._index

    def put(self, contents: Mapping[str, bytes]) -> list[str]:
        """Store and index documents by path, and return the paths of those that were not stored already."""
        documents = [read(path, content) for path, content in contents.items()]
        with self._lock:
            self._refresh()
            new = [document for document in documents if not self._index.holds(document)]
            paths = [document.path for document in new]
            etags = each(lambda path: self._folder.put(_DOCUMENTS + path, contents[path]), paths)
            if new:
                self._change(zip(new, etags, strict=True), ())
            return paths

    def _refresh(self) -> None:
        """Compare the index with the listing, and read what it lacks."""
        etags, requests = self._folder.etags()
        if etags.get(_INDEX, "") != self._etag:
            self._index, self._etag = self._stored()
        there = {
            name.removeprefix(_DOCUMENTS): etag
            for name, etag in etags.items()
            if name.startswith(_DOCUMENTS) and name.lower().endswith(SUFFIXES)
        }
        unread, gone = self._difference(there)
        if unread or gone:
            self._change(self._reads(unread), gone)
            unread, _ = self._difference(there)
        if not unread:
            self._fresh_until = self._clock() + FRESH_SECONDS * requests

    def _difference(self, there: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The documents that the index has not read as they are, and those that are there no longer."""
        known = self._index.etags()
        return [path for path in there if known.get(path) != there[path]], [path for path in known if path not in there]

    def _stored(self) -> tuple[Index, str]:
        """The stored index and its ETag; an empty index where there is none, or none that can be read."""
        content, etag = self._folder.get(_INDEX) or (b"", "")
        return Index.load(content) or Index(), etag

    def _reads(self, paths: Iterable[str]) -> Iterator[tuple[Document, str]]:
        """The documents and their ETags, as many as can be read in time; without those just removed."""
        end = self._clock() + READ_SECONDS
        with closing(each(self._read, paths)) as reads:
            for found in reads:
                if found:
                    yield found
                if self._clock() >= end:
                    return

    def _read(self, path: str) -> tuple[Document, str] | None:
        found = self._folder.get(_DOCUMENTS + path)
        return (read(path, found[0]), found[1]) if found else None

    def _change(self, added: Iterable[tuple[Document, str]], gone: Iterable[str]) -> None:
        """Change a copy of the index, since somebody may be reading this one, and store it.

        Who loses a race keeps a copy that is right for what it saw, and takes the winner's at its next look.
        """
        index = self._index.copy()
        for path in gone:
            index.remove(path)
        for document, etag in added:
            index.put(document, etag)
        self._index, self._etag = index, self._folder.replace(_INDEX, index.dump(), self._etag) or ""
