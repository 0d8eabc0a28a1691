from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mcpist.aws.clients import AwsError, client
from mcpist.errors import FileNotFound
from mcpist.settings import settings
from mcpist.tools.declare.call import PartialList
from mcpist_services.rag.document_store import MAX_INDEXING_SECONDS, DocumentStore
from mcpist_services.rag.local_import import load
from tests.services.rag.bucket import (
    GET,
    LIST,
    PUT,
    Clock,
    answer,
    before_the_next,
    delete,
    paths,
    rows,
    store,
    stored_index,
)

HINT = "raise limit (at most 500) or narrow the request."

# -- questions ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("documents")
def test_a_search_answers_with_rows() -> None:
    assert answer("search_docs", query="設計書")[0] == {
        "path": "guides/review.md",
        "title": "レビュー手順",
        "tags": ["ops"],
        "date": "2026-03-01",
        "size_bytes": 84,
        "snippet": "設計書を読む。",
    }


@pytest.mark.usefixtures("documents")
def test_a_search_respects_tags_and_limit() -> None:
    assert [row["path"] for row in rows("search_docs", query="deploy")] == ["guides/deploy.md", "design.md"]
    assert [row["path"] for row in rows("search_docs", query="deploy", tags=["運用", "OPS"])] == ["guides/deploy.md"]
    assert [row["path"] for row in rows("search_docs", query="deploy", limit=1)] == ["guides/deploy.md"]
    assert answer("search_docs", query="deploy", tags=["none"]) == []


@pytest.mark.usefixtures("documents")
def test_a_document_is_read_completely() -> None:
    document = answer("get_doc", path="guides/deploy.md")
    assert document["title"] == "Deploying"
    assert document["content"].endswith("---\nHow to deploy.")


@pytest.mark.usefixtures("documents")
def test_the_error_for_a_missing_document_names_similar_paths() -> None:
    with pytest.raises(FileNotFound) as missing:
        answer("get_doc", path="guides/deplyo.md")
    assert missing.value.details["path"] == "guides/deplyo.md"
    assert missing.value.details["nearest"].startswith("guides/deploy.md")


@pytest.mark.usefixtures("documents")
def test_lists_are_sorted_by_path_and_cut() -> None:
    assert [row["path"] for row in rows("list_docs")] == [
        "design.md",
        "guides/deploy.md",
        "guides/review.md",
        "plain.md",
    ]
    assert [row["path"] for row in rows("list_docs", folder="guides/", limit=1)] == ["guides/deploy.md"]


@pytest.mark.usefixtures("documents")
def test_tags_are_counted() -> None:
    assert answer("list_tags") == [{"tag": "ops", "count": 2}, {"tag": "運用", "count": 2}]
    assert [row["path"] for row in rows("list_docs", tag="OPS")] == ["guides/deploy.md", "guides/review.md"]


@pytest.mark.usefixtures("documents")
def test_titles_are_found_by_parts_of_words() -> None:
    assert [row["path"] for row in rows("list_docs", title="deploy DESIGN")] == ["design.md"]
    assert [row["path"] for row in rows("list_docs", title="手順")] == ["guides/review.md"]


@pytest.mark.usefixtures("documents")
def test_dates_are_listed_newest_first() -> None:
    assert [row["date"] for row in rows("list_docs_by_date")] == ["2026-03-01", "2026-01-05", "2026-01-05"]
    assert [row["path"] for row in rows("list_docs_by_date", since="2026-01-06")] == ["guides/review.md"]
    assert [row["path"] for row in rows("list_docs_by_date", until="2026-01-05", limit=1)] == ["design.md"]


@pytest.mark.usefixtures("documents")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_docs", {"query": "deploy"}),
        ("list_docs", {}),
        ("list_tags", {}),
        ("list_docs", {"tag": "ops"}),
        ("list_docs", {"title": "e"}),
        ("list_docs_by_date", {}),
    ],
)
def test_only_a_cut_list_has_a_hint_to_continue(tool: str, arguments: dict[str, Any]) -> None:
    whole = answer(tool, **arguments)
    assert len(whole) > 1
    cut = answer(tool, **arguments, limit=len(whole) - 1)
    assert cut == PartialList(whole[:-1], f"Cut after {len(whole) - 1} items (there are more): {HINT}")
    assert answer(tool, **arguments, limit=len(whole)) == whole


@pytest.mark.usefixtures("sent")
def test_at_the_largest_limit_a_cut_list_names_no_larger_one() -> None:
    store("a.md", f"---\ntags: {list(range(501))}\n---\n")
    cut = answer("list_tags", limit=500)
    assert len(cut.json) == 500
    assert cut.more == "Cut after 500 items (there are more): narrow the request."


def test_an_empty_bucket_gives_empty_lists(sent: list[str]) -> None:
    assert answer("search_docs", query="anything") == []
    assert answer("list_docs") == answer("list_tags") == answer("list_docs_by_date") == []
    assert answer("list_docs", tag="x") == answer("list_docs", title="x") == []
    assert sent == [LIST]
    with pytest.raises(FileNotFound):
        answer("get_doc", path="a.md")
    assert sent == [LIST, LIST]


# -- what is sent -------------------------------------------------------------------------------------


def test_a_cold_store_lists_the_bucket_and_fetches_the_index(
    shelf: DocumentStore, sent: list[str], clock: Clock
) -> None:
    shelf.index()
    sent.clear()
    assert len(paths(DocumentStore("acme", clock))) == 4
    assert sent == [LIST, GET]


def test_a_warm_store_sends_no_request_for_some_seconds_and_then_lists_once(
    shelf: DocumentStore, sent: list[str], clock: Clock
) -> None:
    shelf.index()
    sent.clear()
    shelf.search("deploy", None, 10)
    shelf.document("plain.md")
    assert sent == []
    clock.advance()
    shelf.document("plain.md")
    shelf.tags(limit=1)
    assert sent == [LIST]


def test_a_changed_document_is_the_only_one_read_again(shelf: DocumentStore, sent: list[str], clock: Clock) -> None:
    shelf.index()
    store("plain.md", "# Plain\n\nzebra")
    sent.clear()
    assert shelf.search("zebra", None, 10) == []
    clock.advance()
    assert shelf.search("zebra", None, 10)[0]["title"] == "Plain"
    assert sent == [LIST, GET, PUT]
    assert stored_index().entries["plain.md"]["title"] == "Plain"


def test_a_changed_document_among_many_is_read_and_the_index_is_not_stored(
    documents: str, sent: list[str], clock: Clock
) -> None:
    shelf = DocumentStore(documents, clock)
    shelf.put({f"many/{number}.md": f"# Page {number}".encode() for number in range(70)})
    store("plain.md", "# Plain\n\nzebra")
    sent.clear()
    clock.advance()
    assert [row["path"] for row in shelf.search("zebra", None, 10)] == ["plain.md"]
    clock.advance()
    shelf.tags(limit=1)
    assert sent == [LIST, GET, LIST]
    sent.clear()
    other = DocumentStore(documents, clock)
    assert [row["path"] for row in other.search("zebra", None, 10)] == ["plain.md"]
    assert sent == [LIST, GET, GET]  # the index, and the document that it lacks
    for path in ("guides/deploy.md", "guides/review.md"):
        store(path, "# Zebra")
    sent.clear()
    clock.advance()
    assert len(shelf.search("zebra", None, 10)) == 3
    assert sent.count(PUT) == 1
    assert stored_index().entries["guides/deploy.md"]["title"] == "Zebra"


def test_a_document_that_is_removed_among_many_is_forgotten_by_a_new_sandbox_too(documents: str, clock: Clock) -> None:
    DocumentStore(documents, clock).put({f"many/{number}.md": b"# Page" for number in range(70)})
    delete("docs/plain.md")
    assert "plain.md" in stored_index().entries
    assert "plain.md" not in paths(DocumentStore(documents, clock))


def test_a_change_does_not_disturb_a_reader(shelf: DocumentStore, clock: Clock) -> None:
    reading = shelf.index()
    store("new.md")
    delete("docs/plain.md")
    clock.advance()
    assert "new.md" in paths(shelf)
    assert set(reading.etags()) == {"design.md", "guides/deploy.md", "guides/review.md", "plain.md"}


def test_a_removed_document_is_forgotten(shelf: DocumentStore, clock: Clock) -> None:
    shelf.index()
    delete("docs/plain.md")
    clock.advance()
    assert "plain.md" not in paths(shelf)
    assert "plain.md" not in stored_index().entries


def test_a_newer_index_of_another_sandbox_is_loaded(shelf: DocumentStore, sent: list[str], clock: Clock) -> None:
    other = DocumentStore("acme", clock)
    other.index()
    store("new.md")
    shelf.index()
    sent.clear()
    clock.advance()
    assert "new.md" in paths(other)
    assert sent == [LIST, GET]


@pytest.mark.usefixtures("sent")
def test_other_files_and_the_key_of_a_folder_are_not_documents() -> None:
    for path in ("", "image.png", "notes.txt", "a.MD"):
        store(path)
    assert paths(DocumentStore("acme")) == ["a.MD"]


def test_a_long_listing_is_read_to_its_end_and_less_often(
    sent: list[str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")  # AWS answers with a thousand
    for path in ("a.png", "b.png", "z.md"):
        store(path)
    sent.clear()
    shelf = DocumentStore("acme", clock)
    assert paths(shelf) == ["z.md"]
    assert sent == [LIST, LIST, GET, PUT]
    clock.advance()
    shelf.index()
    assert sent[4:] == []
    clock.advance()
    shelf.index()
    assert sent[4:] == [LIST, LIST]


def test_many_new_documents_are_read_over_several_calls(documents: str, sent: list[str]) -> None:
    looks = count(step=MAX_INDEXING_SECONDS // 2)
    slow = DocumentStore(documents, clock=lambda: next(looks))
    assert len(paths(slow)) == 2
    assert len(paths(slow)) == 4
    assert sent.count(LIST) == sent.count(PUT) == 2


# -- races and damage ---------------------------------------------------------------------------------


def test_the_loser_of_the_first_race_answers_correctly_and_loads_the_winners_index(
    shelf: DocumentStore, sent: list[str], clock: Clock
) -> None:
    winner = DocumentStore("acme", clock)
    before_the_next("PutObject", winner.index)
    assert len(paths(shelf)) == 4
    assert stored_index().dump() == winner.index().dump()
    sent.clear()
    clock.advance()
    assert len(paths(shelf)) == 4
    assert sent == [LIST, GET]


def test_the_loser_of_a_later_race_overwrites_nothing(shelf: DocumentStore, clock: Clock) -> None:
    winner = DocumentStore("acme", clock)
    shelf.index()
    winner.index()
    store("one.md")
    clock.advance()

    def win() -> None:
        store("two.md")
        winner.index()

    before_the_next("PutObject", win)
    assert "one.md" in paths(shelf)
    assert {"one.md", "two.md"} <= set(stored_index().entries)
    clock.advance()
    assert {"one.md", "two.md"} <= set(paths(shelf))


def test_a_document_that_is_removed_just_before_it_is_read_is_left_out(shelf: DocumentStore) -> None:
    def hook(params: dict[str, str], **_: Any) -> None:
        if params["Key"].endswith("plain.md"):
            delete("docs/plain.md")

    events = client("s3").meta.events
    events.register("before-parameter-build.s3.GetObject", hook)
    assert "plain.md" not in paths(shelf)
    events.unregister("before-parameter-build.s3.GetObject", hook)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"x" * 5000])
def test_a_damaged_index_is_replaced(shelf: DocumentStore, clock: Clock, content: bytes) -> None:
    shelf.index()
    client("s3").put_object(Bucket=settings().files_bucket, Key="rag/acme/index.sqlite", Body=content)
    assert len(paths(DocumentStore("acme", clock))) == 4
    assert len(stored_index().entries) == 4


def test_a_deleted_index_is_built_again(shelf: DocumentStore, clock: Clock) -> None:
    shelf.index()
    delete("index.sqlite")
    clock.advance()
    assert len(paths(shelf)) == 4
    assert len(stored_index().entries) == 4


@pytest.mark.usefixtures("sent")
def test_a_refusal_of_the_bucket_is_an_error_and_not_an_empty_answer() -> None:
    client("s3").delete_bucket(Bucket=settings().files_bucket)
    with pytest.raises(AwsError, match="NoSuchBucket"):
        DocumentStore("acme").index()


@pytest.mark.parametrize("other", ["acme2", "acm", "acme/docs", "acme/../other", "", "ACME"])
def test_another_organizations_documents_are_never_seen(shelf: DocumentStore, other: str) -> None:
    stranger = DocumentStore(other)
    assert stranger.documents(limit=500) == []
    stranger.put({"secret.md": b"# Secret"})
    assert paths(stranger) == ["secret.md"]
    assert len(paths(shelf)) == 4
    assert shelf.search("secret", None, 10) == []


# -- loading a folder ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents among what a project's folder has besides."""
    for name in ("README.md", "docs/ガイド.md", ".git/x.md", "node_modules/p/README.md", ".venv/y.md", "docs/.z.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {file.stem}\n\nText of {name}.")
    (tmp_path / "docs/image.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_a_folders_markdown_files_are_loaded_and_indexed_at_once(folder: Path, sent: list[str], clock: Clock) -> None:
    assert load("acme", folder) == ["README.md", "docs/ガイド.md"]
    assert sorted(sent) == [LIST, PUT, PUT, PUT]
    sent.clear()
    assert paths(DocumentStore("acme", clock)) == ["README.md", "docs/ガイド.md"]
    assert sent == [LIST, GET]


def test_loading_again_stores_only_what_changed(folder: Path, sent: list[str]) -> None:
    load("acme", folder)
    (folder / "README.md").write_text("# New")
    sent.clear()
    assert load("acme", folder) == ["README.md"]
    assert sent == [LIST, PUT, PUT]


@pytest.mark.usefixtures("sent")
def test_loading_removes_nothing(folder: Path) -> None:
    store("by-hand.md")
    load("acme", folder)
    (folder / "README.md").unlink()
    load("acme", folder)
    assert paths(DocumentStore("acme")) == ["README.md", "by-hand.md", "docs/ガイド.md"]


@pytest.mark.usefixtures("sent")
def test_names_that_macos_decomposes_are_composed(tmp_path: Path) -> None:
    (tmp_path / "カ\u3099イト\u3099.md").write_text("# x")
    assert load("acme", tmp_path) == ["ガイド.md"]
