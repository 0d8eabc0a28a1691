"""The full-text index of an organization's documents: one SQLite database, kept as bytes.

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
from typing import Any, Self

from mcpist_modules.rag.documents import Document, body, normal

FORMAT = 1
SNIPPET_CHARACTERS = 200

_SCHEMA = f"""
PRAGMA user_version = {FORMAT};
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, etag TEXT,
    title TEXT, tags TEXT, date TEXT, size_bytes INTEGER, text TEXT
);
CREATE VIRTUAL TABLE words USING fts5 (title, tags, path, text, content='', tokenize='porter unicode61');
"""
_RANK = "bm25(words, 8, 4, 2, 1)"
_CJK = (
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
)
_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


class Index:
    """Documents by path and by word; holds the texts too, so that reading one needs no second store."""

    def __init__(self, database: bytes = b"") -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        if database:
            self._connection.deserialize(database)
        else:
            self._connection.executescript(_SCHEMA)

    @classmethod
    def load(cls, database: bytes) -> Self | None:
        """The index in these bytes, or None where they hold none of this format."""
        try:
            index = cls(database)
            (found,) = index._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError:
            return None
        return index if found == FORMAT else None

    def dump(self) -> bytes:
        """The index as bytes."""
        self._connection.commit()
        return self._connection.serialize()

    def copy(self) -> "Index":
        """The same index, to be changed without disturbing who reads this one."""
        return Index(self.dump())

    @cached_property
    def entries(self) -> dict[str, dict[str, Any]]:
        """Every document without its text, by path."""
        rows = self._connection.execute("SELECT path, title, tags, date, size_bytes FROM documents ORDER BY path")
        return {
            path: {"path": path, "title": title, "tags": json.loads(tags), "date": date, "size_bytes": size_bytes}
            for path, title, tags, date, size_bytes in rows
        }

    def etags(self) -> dict[str, str]:
        """The version of each document that was read, by path."""
        return dict(self._connection.execute("SELECT path, etag FROM documents"))

    def text(self, path: str) -> str:
        """The text of a document that is in the index."""
        (text,) = self._connection.execute("SELECT text FROM documents WHERE path = ?", [path]).fetchone()
        return str(text)

    def holds(self, document: Document) -> bool:
        """Whether exactly this document is in the index."""
        entry = self.entries.get(document.path)
        return (
            entry is not None
            and entry["size_bytes"] == document.size_bytes
            and self.text(document.path) == document.text
        )

    def put(self, document: Document, etag: str) -> None:
        """Add a document, or replace the one of its path."""
        self.remove(document.path)
        tags = json.dumps(document.tags, ensure_ascii=False)
        row = (document.path, etag, document.title, tags, document.date, document.size_bytes, document.text)
        cursor = self._connection.execute("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)
        words = _words(document.title, document.tags, document.path, document.text)
        self._connection.execute(
            "INSERT INTO words (rowid, title, tags, path, text) VALUES (?, ?, ?, ?, ?)", [cursor.lastrowid, *words]
        )
        self.__dict__.pop("entries", None)

    def remove(self, path: str) -> None:
        """Take a document out, if it is there."""
        query = "DELETE FROM documents WHERE path = ? RETURNING id, title, tags, path, text"
        for rowid, title, tags, _, text in self._connection.execute(query, [path]).fetchall():
            # A table without content forgets a row only when it is told the words again.
            self._connection.execute(
                "INSERT INTO words (words, rowid, title, tags, path, text) VALUES ('delete', ?, ?, ?, ?, ?)",
                [rowid, *_words(title, json.loads(tags), path, text)],
            )
        self.__dict__.pop("entries", None)

    def search(self, query: str) -> Iterator[tuple[str, str]]:
        """Path and snippet of the documents that the query's words are in, best first.

        First those with every word as it is written, then those with any word, or any part of a CJK word.
        """
        words = _WORD.findall(normal(query))
        parts = [part for word in words for part in (*_pairs(word), word)]
        seen: set[str] = set()
        for expression in (" AND ".join(map(_phrase, words)), " OR ".join(map(_phrase, dict.fromkeys(parts)))):
            for path, text in self._matches(expression) if expression else ():
                if path not in seen:
                    seen.add(path)
                    yield path, snippet(body(text), [*words, *parts])

    def _matches(self, expression: str) -> sqlite3.Cursor:
        return self._connection.execute(
            "SELECT path, text FROM words JOIN documents ON documents.id = words.rowid"  # noqa: S608
            f" WHERE words MATCH ? ORDER BY {_RANK}, path",
            [expression],
        )


def snippet(text: str, words: Iterable[str]) -> str:
    """The part of a text in which the most of these words stand, in one line."""
    line = " ".join(text.split())
    pattern = "|".join(map(re.escape, sorted(set(words), key=len, reverse=True))) or r"\Z"
    hits = [(hit.start(), hit[0].lower()) for hit in islice(re.finditer(pattern, line, re.IGNORECASE), 50)]
    width = SNIPPET_CHARACTERS * 3 // 4

    def worth(start: int) -> int:
        return len({word for place, word in hits if start <= place < start + width})

    start = max((place for place, _ in hits), key=worth, default=0) - SNIPPET_CHARACTERS // 4
    start = max(0, min(start, len(line) - SNIPPET_CHARACTERS))
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")


def _words(title: str, tags: Iterable[str], path: str, text: str) -> list[str]:
    """What the index knows of a document: its four columns, with CJK runs as pairs."""
    return [_RUN.sub(_split, normal(column)) for column in (title, " ".join(tags), path, text)]


def _split(run: re.Match[str]) -> str:
    """A run as pairs, and its last character alone, so that one character is found as the beginning of a word."""
    return f" {' '.join(_pairs(run[0]))} {run[0][-1]} "


def _pairs(word: str) -> list[str]:
    """Two neighbours each, of a CJK word; nothing of another."""
    return [word[i : i + 2] for i in range(len(word) - 1)] if _RUN.match(word) else []


def _phrase(word: str) -> str:
    """A word as FTS5 takes it literally; one CJK character stands for every word that begins with it."""
    pairs = _pairs(word)
    single = len(word) == 1 and _RUN.match(word)
    return f'"{" ".join(pairs or [word])}"' + ("*" if single else "")
