"""A folder of Markdown files on this machine, as an organization's documents."""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcpist_services.rag.document_store import DocumentStore
from mcpist_services.rag.documents import SUFFIXES

SKIPPED_DIRECTORIES = {"node_modules", "venv", "__pycache__"}


def load(organization: str, folder: Path) -> list[str]:
    """Store and index the folder's Markdown files, and return the paths of those that are new or changed.

    Other documents in the bucket stay, since others may have stored them. To mirror a folder use
    `aws s3 sync --delete`; the store notices by itself.
    """
    return DocumentStore.of(organization).put(read_folder(folder))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the contents of the folder's Markdown files by the paths that their documents have."""
    contents = {}
    for file in sorted(_files(folder)):
        with suppress(FileNotFoundError):  # an editor replaces it at this moment
            contents[_key(file.relative_to(folder))] = file.read_bytes()
    return contents


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below a folder, except in hidden and generated directories."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED_DIRECTORIES]
        yield from (Path(place, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith("."))


def _key(path: Path) -> str:
    """Return a path with slashes and composed characters: macOS stores them decomposed."""
    return unicodedata.normalize("NFC", path.as_posix())
