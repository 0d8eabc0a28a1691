"""The full-text index of an organization's documents: one SQLite database, stored as bytes.

Words are found by FTS5 (https://www.sqlite.org/fts5.html). Chinese, Japanese and Korean are written without spaces,
so their runs are split into overlapping pairs of characters, in the index and in queries alike: 設計書 is 設計 計書.
"""

import json
import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Self

from mcpist_services.rag.documents import MarkdownDocument, body, normal, without_fences

FORMAT_VERSION = 1
SNIPPET_CHARACTERS = 200
MAX_QUERY_PARTS = 100  # of a query; with a whole text as a query a search would take seconds

# A word in the title counts as eight in the text, one in the tags as four, one in the path as two.
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, etag TEXT,
    title TEXT, tags TEXT, date TEXT, size_bytes INTEGER, text TEXT
);
CREATE VIRTUAL TABLE words USING fts5 (title, tags, path, text, content='', tokenize='porter unicode61');
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(8, 4, 2, 1)');
"""
_SELECT_MATCHES = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank"
_SELECT_DOCUMENT = "SELECT path, text FROM documents WHERE id = ?"
_HAN = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = r"\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = r"\uac00-\ud7a3"
_CJK = _KANA + _HAN + _HANGUL
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


class DocumentIndex:
    """Documents by path and by word, with their texts, so that reading one needs no second request."""

    def __init__(self, database: bytes = b"", *, empty: bool = False) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        if database:
            self._connection.deserialize(database)
        elif not empty:
            self._connection.executescript(f"PRAGMA user_version = {FORMAT_VERSION}; {_SCHEMA}")

    @classmethod
    def load(cls, database: bytes) -> Self | None:
        """Load an index from bytes, or return None if they are not of this format."""
        try:
            index = cls(database)
            (version,) = index._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError:
            return None
        return index if version == FORMAT_VERSION else None

    def dump(self) -> bytes:
        """Return the index as bytes."""
        self._connection.commit()
        return self._connection.serialize()

    def copy(self) -> "DocumentIndex":
        """Return a copy that can be changed while others read this index."""
        copy = DocumentIndex(empty=True)
        self._connection.commit()
        self._connection.backup(copy._connection)
        return copy

    @cached_property
    def entries(self) -> dict[str, dict[str, Any]]:
        """Every document without its text, by path."""
        rows = self._connection.execute("SELECT path, title, tags, date, size_bytes FROM documents ORDER BY path")
        return {
            path: {"path": path, "title": title, "tags": json.loads(tags), "date": date, "size_bytes": size_bytes}
            for path, title, tags, date, size_bytes in rows
        }

    def etags(self) -> dict[str, str]:
        """Return the ETag of each document that was read, by path."""
        return dict(self._connection.execute("SELECT path, etag FROM documents"))

    def text(self, path: str) -> str:
        """Return the text of a document in the index."""
        return self._column("text", path)

    def etag(self, path: str) -> str:
        """Return the ETag of a document in the index."""
        return self._column("etag", path)

    def _column(self, name: Literal["text", "etag"], path: str) -> str:
        (value,) = self._connection.execute(f"SELECT {name} FROM documents WHERE path = ?", [path]).fetchone()  # noqa: S608  # nosec B608
        return str(value)

    def holds(self, document: MarkdownDocument) -> bool:
        """Whether exactly this document is in the index."""
        entry = self.entries.get(document.path)
        same_size = entry is not None and entry["size_bytes"] == document.size_bytes
        return same_size and self.text(document.path) == document.text

    def put(self, document: MarkdownDocument, etag: str) -> None:
        """Add a document, or replace the one of its path."""
        self.remove(document.path)
        tags = json.dumps(document.tags, ensure_ascii=False)
        row = (document.path, etag, document.title, tags, document.date, document.size_bytes, document.text)
        rowid = self._connection.execute("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
        self._connection.execute(
            "INSERT INTO words (rowid, title, tags, path, text) VALUES (?, ?, ?, ?, ?)",
            [rowid, *_columns(document.title, document.tags, document.path, document.text)],
        )

    def remove(self, path: str) -> None:
        """Remove a document, if it is in the index."""
        self.__dict__.pop("entries", None)
        query = "DELETE FROM documents WHERE path = ? RETURNING id, title, tags, path, text"
        for rowid, title, tags, _, text in self._connection.execute(query, [path]).fetchall():
            # A contentless table deletes a row only if it is given the row's words again.
            self._connection.execute(
                "INSERT INTO words (words, rowid, title, tags, path, text) VALUES ('delete', ?, ?, ?, ?, ?)",
                [rowid, *_columns(title, json.loads(tags), path, text)],
            )

    def search(self, query: str) -> Iterator[tuple[str, str]]:
        """Yield path and snippet of the documents that match, the best first.

        Documents with every word as written come first, then those with any word, or any pair of a CJK word.
        """
        words = list(dict.fromkeys(_WORD.findall(normal(query))))[:MAX_QUERY_PARTS]
        parts = list(dict.fromkeys(part for word in words for part in (word, *_pairs(word))))[:MAX_QUERY_PARTS]
        seen: set[int] = set()
        for expression in (" AND ".join(map(_phrase, words)), " OR ".join(map(_phrase, parts))):
            for (rowid,) in self._connection.execute(_SELECT_MATCHES, [expression]) if expression else ():
                if rowid not in seen:
                    seen.add(rowid)
                    path, text = self._connection.execute(_SELECT_DOCUMENT, [rowid]).fetchone()
                    yield path, snippet(body(text), parts)


def snippet(text: str, words: Iterable[str]) -> str:
    """Return the part of a text with the most of these words, in one line; of code only where no prose has one."""
    pattern = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    prose = without_fences(text)
    line = " ".join((prose if re.search(pattern, prose, re.IGNORECASE) else text).split())
    hits = [(hit.start(), hit[0].lower()) for hit in islice(re.finditer(pattern, line, re.IGNORECASE), 50)]

    def score(start: int) -> int:
        return len({word for place, word in hits if start <= place < start + SNIPPET_CHARACTERS * 3 // 4})

    best = max((place for place, _ in hits), key=score, default=0)
    start = max(0, min(best - SNIPPET_CHARACTERS // 4, len(line) - SNIPPET_CHARACTERS))
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")


def _columns(title: str, tags: Iterable[str], path: str, text: str) -> list[str]:
    """Return the indexed columns of a document, with CJK runs as pairs."""

    def split(run: re.Match[str]) -> str:  # with its last character every one is found as the beginning of a word
        return f" {' '.join(_pairs(run[0]))} {run[0][-1]} "

    return [_CJK_RUN.sub(split, normal(column)) for column in (title, " ".join(tags), path, text)]


def _pairs(word: str) -> list[str]:
    """Return the pairs of adjacent characters of a CJK word; none of another word."""
    return [word[i : i + 2] for i in range(len(word) - 1)] if _CJK_RUN.match(word) else []


def _phrase(word: str) -> str:
    """Quote a word for FTS5; one CJK character matches every word that begins with it."""
    begins = len(word) == 1 and _CJK_RUN.match(word)
    return f'"{" ".join(_pairs(word) or [word])}"' + ("*" if begins else "")
