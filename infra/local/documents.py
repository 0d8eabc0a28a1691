"""The Markdown files of a folder as the organization's documents, also while they change."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.local.state import State
from mcpist.errors import FileNotFound
from mcpist_services.rag.document_store import DocumentStore
from mcpist_services.rag.local_import import read_folder

DEBOUNCE_MS = 200
STEP_MS = 20


class DocumentFolder:
    """A folder whose changes are applied to the documents.

    Only what changes in the folder is applied: what a tool changes or deletes in the documents stays so, until its file
    changes. A document whose file disappears is deleted.
    """

    def __init__(self, organization: str, folder: Path, state: State | None) -> None:
        self._organization = organization
        self._folder = folder
        self._state = state
        kept = state.get("documents") if state else None
        self._digests: dict[str, str] = json.loads(kept) if kept else {}

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self._digests)

    def synchronize(self) -> bool:
        """Store, replace and delete documents as the files did since the last time; return whether any did."""
        contents = read_folder(self._folder)
        digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
        if digests == self._digests:
            return False
        store = DocumentStore.of(self._organization)
        store.put({path: contents[path] for path in digests if digests[path] != self._digests.get(path)})
        for path in self._digests.keys() - digests.keys():
            try:
                store.remove(path, None)
            except FileNotFound:
                continue
        self._digests = digests
        if self._state:
            self._state.put("documents", "", json.dumps(digests).encode())
        return True


@contextmanager
def watched(folder: Path, on_change: Callable[[], None], *, recursive: bool = True) -> Iterator[None]:
    """Call `on_change` in a thread whenever files of the folder, and of those in it, have changed."""
    from watchfiles import watch

    stop = threading.Event()

    def run() -> None:
        for _ in watch(
            folder, debounce=DEBOUNCE_MS, step=STEP_MS, stop_event=stop, raise_interrupt=False, recursive=recursive
        ):
            on_change()

    thread = threading.Thread(target=run, name="documents", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
