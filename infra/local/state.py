"""The state of a stack on this machine: records in one SQLite file, each change whole or not at all.

A change is in the file before its request is answered: a killed process loses nothing that was answered, and a
machine that loses its power at most the last seconds.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

FORMAT_VERSION = 1
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, value BLOB, PRIMARY KEY (kind, name)) WITHOUT ROWID;
PRAGMA user_version = {FORMAT_VERSION};
"""


class StateUnreadable(Exception):
    """Raised for a file that is damaged or that another version wrote."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} cannot be read: {problem}")


class StateUnwritable(OSError):
    """Raised where the disk is full, or the file can only be read."""


class State:
    """Records by kind and name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def get(self, kind: str, name: str = "") -> bytes | None:
        """Return a record's value."""
        with self._lock:
            row = self._connection.execute("SELECT value FROM records WHERE kind = ? AND name = ?", (kind, name))
            found = row.fetchone()
        return found[0] if found else None

    def all(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """Yield the names and values of a kind, one in memory at a time; they may be changed meanwhile."""
        with self._lock:
            names = self._connection.execute("SELECT name FROM records WHERE kind = ?", (kind,)).fetchall()
        for (name,) in names:
            value = self.get(kind, name)
            if value is not None:
                yield name, value

    def put(self, kind: str, name: str, value: bytes | None) -> None:
        """Store one record; None deletes it."""
        self.put_all(kind, [(name, value)])

    def put_all(self, kind: str, records: Iterable[tuple[str, bytes | None]]) -> None:
        """Store records, all or none; a value of None deletes its record. Raise `StateUnwritable`."""
        changes = list(records)  # which may read this state
        try:
            with self._lock, self._connection:
                for name, value in changes:
                    if value is None:
                        self._connection.execute("DELETE FROM records WHERE kind = ? AND name = ?", (kind, name))
                    else:
                        self._connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (kind, name, value))
        except sqlite3.OperationalError as error:
            raise StateUnwritable(f"what is stored cannot be written: {error}") from None


@contextmanager
def opened_state(path: Path, fresh: bool = False) -> Iterator[State]:
    """Open or create the file, which only its owner can read, after removing that of the last run if it is `fresh`.

    StateUnreadable or StateUnwritable where that cannot be.
    """
    if fresh:
        _remove(path)
    path.touch(0o600)
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        _prepare(connection, path)
        yield State(connection)
    finally:
        connection.close()


def _remove(path: Path) -> None:
    """Delete the file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in {0, FORMAT_VERSION}:
            raise StateUnreadable(path, f"it has format {version}, and this version reads {FORMAT_VERSION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
    except sqlite3.OperationalError as error:
        raise StateUnwritable(f"{path} cannot be written: {error}") from None
    except sqlite3.DatabaseError as error:
        raise StateUnreadable(path, str(error)) from None
