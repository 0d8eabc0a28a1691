from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from mcpist import stores
from mcpist.errors import FileNotFound
from mcpist.settings import settings
from mcpist.stores import client
from mcpist_modules.rag import rag
from mcpist_modules.rag.index import Index
from mcpist_modules.rag.local import load
from mcpist_modules.rag.shelf import FRESH_SECONDS, READ_SECONDS, Shelf

NUMBERS = count()
LIST, GET, PUT = "ListObjectsV2", "GetObject", "PutObject"


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def pass_by(self) -> None:
        self.seconds += FRESH_SECONDS


@pytest.fixture(scope="module")
def operations() -> Iterator[list[str]]:
    """moto, and the operations that were sent to it."""
    forget()
    sent: list[str] = []
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        stores.session().register("request-created", lambda operation_name, **_: sent.append(operation_name))
        yield sent
    forget()


def forget() -> None:
    stores.session.cache_clear()
    stores.client.cache_clear()


@pytest.fixture
def sent(operations: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The operations of this test, which has an empty bucket of its own and remembers nothing of others."""
    bucket = f"files-{next(NUMBERS)}"
    client("s3").create_bucket(Bucket=bucket)
    monkeypatch.setenv("FILES_BUCKET", bucket)
    settings.cache_clear()
    Shelf.of.cache_clear()
    operations.clear()
    yield operations
    settings.cache_clear()
    Shelf.of.cache_clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def store(path: str, text: str = "# A\n\ntext", organization: str = "acme") -> None:
    """Put a document into the bucket as the console does, past the shelf."""
    key = f"rag/{organization}/docs/{path}"
    client("s3").put_object(Bucket=settings().files_bucket, Key=key, Body=text.encode())


def delete(key: str) -> None:
    client("s3").delete_object(Bucket=settings().files_bucket, Key=f"rag/acme/{key}")


def stored_index() -> Index:
    answer = client("s3").get_object(Bucket=settings().files_bucket, Key="rag/acme/index.sqlite")
    index = Index.load(answer["Body"].read())
    assert index is not None
    return index


def paths(shelf: Shelf) -> list[str]:
    return [row["path"] for row in shelf.documents(limit=500)]


def before_the_next_put(action: Callable[[], Any]) -> None:
    """Do something at the moment in which the next object would be stored."""
    events, waiting = client("s3").meta.events, [action]

    def hook(**_: Any) -> None:
        if waiting:
            waiting.pop()()

    events.register("before-call.s3.PutObject", hook)


# -- questions ----------------------------------------------------------------------------------------


@pytest.fixture
def documents(sent: list[str]) -> str:
    """Four documents of acme, which is returned; nothing counted yet."""
    store("guides/deploy.md", "---\ntitle: Deploying\ntags: [ops, 運用]\ndate: 2026-01-05\n---\nHow to deploy.")
    store("guides/review.md", "---\ntitle: レビュー手順\ntags: [ops]\ndate: 2026-03-01\n---\n設計書を読む。")
    store("design.md", "---\ntags: [運用]\ndate: 2026-01-05\n---\n# Design of deploying\n\n設計。")
    store("plain.md", "Nothing much.")
    sent.clear()
    return "acme"


@pytest.fixture
def shelf(documents: str, clock: Clock) -> Shelf:
    """The shelf of a sandbox that has not looked yet."""
    return Shelf(documents, clock)


def answer(tool: str, **arguments: Any) -> Any:
    """What a tool of the module answers for acme, as `run` asks it."""
    declared = rag.tools[tool]
    lookup: Any = declared.describe_work(declared.validate(arguments))
    assert rag.opens is not None
    return lookup.function(rag.opens("acme"), **lookup.arguments)


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
def test_a_search_keeps_to_tags_and_limit() -> None:
    assert [row["path"] for row in answer("search_docs", query="deploy")] == ["guides/deploy.md", "design.md"]
    assert [row["path"] for row in answer("search_docs", query="deploy", tags=["運用", "OPS"])] == ["guides/deploy.md"]
    assert [row["path"] for row in answer("search_docs", query="deploy", limit=1)] == ["guides/deploy.md"]
    assert answer("search_docs", query="deploy", tags=["none"]) == []


@pytest.mark.usefixtures("documents")
def test_a_document_is_read_whole() -> None:
    document = answer("get_doc", path="guides/deploy.md")
    assert document["title"] == "Deploying"
    assert document["content"].endswith("---\nHow to deploy.")


@pytest.mark.usefixtures("documents")
def test_a_missing_document_names_the_nearest() -> None:
    with pytest.raises(FileNotFound) as missing:
        answer("get_doc", path="guides/deplyo.md")
    assert missing.value.details["path"] == "guides/deplyo.md"
    assert missing.value.details["nearest"].startswith("guides/deploy.md")


@pytest.mark.usefixtures("documents")
def test_lists_are_sorted_by_path_and_cut() -> None:
    assert [row["path"] for row in answer("list_docs")] == [
        "design.md",
        "guides/deploy.md",
        "guides/review.md",
        "plain.md",
    ]
    assert [row["path"] for row in answer("list_docs", folder="guides/", limit=1)] == ["guides/deploy.md"]


@pytest.mark.usefixtures("documents")
def test_tags_are_counted() -> None:
    assert answer("list_tags") == [{"tag": "ops", "count": 2}, {"tag": "運用", "count": 2}]
    assert [row["path"] for row in answer("list_docs_by_tag", tag="OPS")] == ["guides/deploy.md", "guides/review.md"]


@pytest.mark.usefixtures("documents")
def test_titles_are_found_by_parts_of_words() -> None:
    assert [row["path"] for row in answer("search_by_title", title="deploy DESIGN")] == ["design.md"]
    assert [row["path"] for row in answer("search_by_title", title="手順")] == ["guides/review.md"]


@pytest.mark.usefixtures("documents")
def test_dates_are_listed_newest_first() -> None:
    assert [row["date"] for row in answer("list_docs_by_date")] == ["2026-03-01", "2026-01-05", "2026-01-05"]
    assert [row["path"] for row in answer("list_docs_by_date", since="2026-01-06")] == ["guides/review.md"]
    assert [row["path"] for row in answer("list_docs_by_date", until="2026-01-05", limit=1)] == ["design.md"]


def test_an_empty_bucket_gives_empty_lists(sent: list[str]) -> None:
    assert answer("search_docs", query="anything") == []
    assert answer("list_docs") == answer("list_tags") == answer("list_docs_by_date") == []
    assert answer("list_docs_by_tag", tag="x") == answer("search_by_title", title="x") == []
    with pytest.raises(FileNotFound):
        answer("get_doc", path="a.md")
    assert sent == [LIST]


# -- what is sent -------------------------------------------------------------------------------------


def test_a_cold_shelf_lists_and_fetches_the_index(shelf: Shelf, sent: list[str], clock: Clock) -> None:
    shelf.index()
    sent.clear()
    assert len(paths(Shelf("acme", clock))) == 4
    assert sent == [LIST, GET]


def test_a_warm_shelf_asks_nothing_for_some_seconds_and_then_lists_once(
    shelf: Shelf, sent: list[str], clock: Clock
) -> None:
    shelf.index()
    sent.clear()
    shelf.search("deploy", None, 10)
    shelf.document("plain.md")
    assert sent == []
    clock.pass_by()
    shelf.document("plain.md")
    shelf.tags()
    assert sent == [LIST]


def test_a_changed_document_is_the_only_one_read_again(shelf: Shelf, sent: list[str], clock: Clock) -> None:
    shelf.index()
    store("plain.md", "# Plain\n\nzebra")
    sent.clear()
    assert shelf.search("zebra", None, 10) == []
    clock.pass_by()
    assert shelf.search("zebra", None, 10)[0]["title"] == "Plain"
    assert sent == [LIST, GET, PUT]
    assert stored_index().entries["plain.md"]["title"] == "Plain"


def test_a_change_does_not_disturb_who_is_reading(shelf: Shelf, clock: Clock) -> None:
    reading = shelf.index()
    store("new.md")
    delete("docs/plain.md")
    clock.pass_by()
    assert "new.md" in paths(shelf)
    assert set(reading.etags()) == {"design.md", "guides/deploy.md", "guides/review.md", "plain.md"}


def test_a_removed_document_is_forgotten(shelf: Shelf, clock: Clock) -> None:
    shelf.index()
    delete("docs/plain.md")
    clock.pass_by()
    assert "plain.md" not in paths(shelf)
    assert "plain.md" not in stored_index().entries


def test_a_newer_index_of_another_sandbox_is_taken_over(shelf: Shelf, sent: list[str], clock: Clock) -> None:
    other = Shelf("acme", clock)
    other.index()
    store("new.md")
    shelf.index()
    sent.clear()
    clock.pass_by()
    assert "new.md" in paths(other)
    assert sent == [LIST, GET]


@pytest.mark.usefixtures("sent")
def test_other_files_and_a_folders_own_key_are_no_documents() -> None:
    for path in ("", "image.png", "notes.txt", "a.MD"):
        store(path)
    assert paths(Shelf("acme")) == ["a.MD"]


def test_a_long_listing_is_read_to_its_end_and_asked_for_less_often(
    sent: list[str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")  # AWS answers with a thousand
    for path in ("a.png", "b.png", "z.md"):
        store(path)
    sent.clear()
    shelf = Shelf("acme", clock)
    assert paths(shelf) == ["z.md"]
    assert sent == [LIST, LIST, GET, PUT]
    clock.pass_by()
    shelf.index()
    assert sent[4:] == []
    clock.pass_by()
    shelf.index()
    assert sent[4:] == [LIST, LIST]


def test_many_new_documents_are_read_over_several_calls(documents: str, sent: list[str]) -> None:
    looks = count(step=READ_SECONDS // 2)
    slow = Shelf(documents, clock=lambda: next(looks))
    assert len(paths(slow)) == 2
    assert len(paths(slow)) == 4
    assert sent.count(LIST) == sent.count(PUT) == 2


# -- races and damage ---------------------------------------------------------------------------------


def test_who_loses_the_first_race_answers_right_and_takes_the_winners_index(
    shelf: Shelf, sent: list[str], clock: Clock
) -> None:
    winner = Shelf("acme", clock)
    before_the_next_put(winner.index)
    assert len(paths(shelf)) == 4
    assert stored_index().dump() == winner.index().dump()
    sent.clear()
    clock.pass_by()
    assert len(paths(shelf)) == 4
    assert sent == [LIST, GET]


def test_who_loses_a_later_race_overwrites_nothing(shelf: Shelf, clock: Clock) -> None:
    winner = Shelf("acme", clock)
    shelf.index()
    winner.index()
    store("one.md")
    clock.pass_by()

    def win() -> None:
        store("two.md")
        winner.index()

    before_the_next_put(win)
    assert "one.md" in paths(shelf)
    assert {"one.md", "two.md"} <= set(stored_index().entries)
    clock.pass_by()
    assert {"one.md", "two.md"} <= set(paths(shelf))


def test_a_document_that_is_removed_just_before_it_is_read_is_left_out(shelf: Shelf) -> None:
    def hook(params: dict[str, str], **_: Any) -> None:
        if params["Key"].endswith("plain.md"):
            delete("docs/plain.md")

    events = client("s3").meta.events
    events.register("before-parameter-build.s3.GetObject", hook)
    assert "plain.md" not in paths(shelf)
    events.unregister("before-parameter-build.s3.GetObject", hook)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"x" * 5000])
def test_a_damaged_index_is_replaced(shelf: Shelf, clock: Clock, content: bytes) -> None:
    shelf.index()
    client("s3").put_object(Bucket=settings().files_bucket, Key="rag/acme/index.sqlite", Body=content)
    assert len(paths(Shelf("acme", clock))) == 4
    assert len(stored_index().entries) == 4


def test_a_deleted_index_is_built_again(shelf: Shelf, clock: Clock) -> None:
    shelf.index()
    delete("index.sqlite")
    clock.pass_by()
    assert len(paths(shelf)) == 4
    assert len(stored_index().entries) == 4


@pytest.mark.usefixtures("sent")
def test_a_refusal_of_the_bucket_is_no_empty_answer() -> None:
    client("s3").delete_bucket(Bucket=settings().files_bucket)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        Shelf("acme").index()


@pytest.mark.parametrize("other", ["acme2", "acm", "acme/docs", "acme/../other", "", "ACME"])
def test_another_organizations_documents_are_never_seen(shelf: Shelf, other: str) -> None:
    stranger = Shelf(other)
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
    assert paths(Shelf("acme", clock)) == ["README.md", "docs/ガイド.md"]
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
    assert paths(Shelf("acme")) == ["README.md", "by-hand.md", "docs/ガイド.md"]


@pytest.mark.usefixtures("sent")
def test_names_that_macos_takes_apart_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "カ\u3099イト\u3099.md").write_text("# x")
    assert load("acme", tmp_path) == ["ガイド.md"]
