"""A folder's files as documents: what changes in the folder is applied, and nothing else."""

import threading
from pathlib import Path

import pytest

from infra.local.documents import DocumentFolder, watched
from infra.local.state import opened_state
from mcpist_services.rag.document_store import DocumentStore

CHANGE_SECONDS = 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / f"notes/{name}.md").write_text(f"# {name}")
    return tmp_path / "notes"


def contents(organization: str) -> dict[str, str]:
    store = DocumentStore.of(organization)
    return {path: store.document(path)["content"] for path in store.index(refresh=True).entries}


def test_the_folder_s_changes_are_applied_after_a_restart_and_others_stay(organization: str, folder: Path) -> None:
    with opened_state(folder.parent / "state") as state:
        documents = DocumentFolder(organization, folder, state)
        assert documents.synchronize()
        assert not documents.synchronize()
    store = DocumentStore.of(organization)
    store.write("a.md", "# changed by a tool", store.document("a.md")["version"])
    store.write("own.md", "# by a tool", None)
    store.remove("b.md", None)
    (folder / "c.md").write_text("# changed")
    with opened_state(folder.parent / "state") as state:
        documents = DocumentFolder(organization, folder, state)
        assert documents.synchronize()
        kept = {"a.md": "# changed by a tool", "c.md": "# changed", "own.md": "# by a tool"}
        assert contents(organization) == kept
        for name in ("a", "b"):
            (folder / f"{name}.md").unlink()
        (folder / "d.md").write_text("# new")
        assert documents.synchronize()
        assert contents(organization) == {"c.md": "# changed", "d.md": "# new", "own.md": "# by a tool"}
        assert len(documents) == 2


def test_a_watched_folder_reports_a_change(folder: Path) -> None:
    changed = threading.Event()
    with watched(folder, changed.set):
        for number in range(CHANGE_SECONDS * 10):
            (folder / "a.md").write_text(f"# {number}")
            if changed.wait(0.1):
                break
        assert changed.is_set()
