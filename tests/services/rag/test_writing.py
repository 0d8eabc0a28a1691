from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from mcpist.aws.clients import AwsError, client
from mcpist.errors import FileNotFound, InvalidArguments, InvalidRequest, StoreUnavailable
from mcpist.settings import settings
from mcpist_services.rag.document_store import DocumentStore
from tests.services.rag.bucket import (
    DELETE,
    GET,
    HEAD,
    LIST,
    PUT,
    Clock,
    answer,
    before_the_next,
    delete,
    paths,
    rows,
    store,
    stored,
    stored_index,
)


def found(query: str) -> list[str]:
    return [row["path"] for row in rows("search_docs", query=query)]


def other_sandbox(clock: Clock) -> DocumentStore:
    shelf = DocumentStore("acme", clock)
    shelf.index()
    return shelf


# -- writing ------------------------------------------------------------------------------------------


def test_a_document_is_created_and_found_at_once(sent: list[str]) -> None:
    assert found("zebra") == []
    sent.clear()
    brought = answer("put_doc", path="animals/zebra.md", content="# Zebra\n\nStripes.", tags=["animals"])
    assert sent == [PUT]
    assert brought == {"path": "animals/zebra.md", "title": "Zebra", "version": brought["version"], "state": "created"}
    assert found("stripes") == ["animals/zebra.md"]
    assert rows("list_tags") == [{"tag": "animals", "count": 1}]
    document = answer("get_doc", path="animals/zebra.md")
    assert document["content"] == stored("animals/zebra.md") == "---\ntags:\n- animals\n---\n\n# Zebra\n\nStripes."
    assert document["version"] == brought["version"]
    assert "animals/zebra.md" in stored_index().entries


@pytest.mark.usefixtures("documents")
def test_a_document_is_replaced_with_the_version_that_was_read() -> None:
    version = answer("get_doc", path="plain.md")["version"]
    brought = answer("put_doc", path="plain.md", content="Okapi.", title="Okapi", replaces=version)
    assert (brought["state"], brought["title"]) == ("replaced", "Okapi")
    assert brought["version"] != version
    assert found("okapi") == ["plain.md"]
    assert found("nothing much") == []
    again = answer("put_doc", path="plain.md", content="Third.", replaces=f'"{brought["version"]}"')
    assert again["state"] == "replaced"
    assert stored("plain.md") == "Third."


@pytest.mark.usefixtures("documents")
def test_an_existing_document_is_not_overwritten_without_its_version() -> None:
    with pytest.raises(InvalidRequest, match="read it") as refused:
        answer("put_doc", path="plain.md", content="Okapi.")
    assert refused.value.details["field"] == "replaces"
    assert stored("plain.md") == "Nothing much."


@pytest.mark.usefixtures("documents")
def test_a_document_changed_meanwhile_is_not_overwritten_and_can_be_read_at_once() -> None:
    version = answer("get_doc", path="plain.md")["version"]
    store("plain.md", "Changed by hand.")
    with pytest.raises(InvalidRequest, match="changed since") as refused:
        answer("put_doc", path="plain.md", content="Okapi.", replaces=version)
    assert refused.value.details["field"] == "replaces"
    document = answer("get_doc", path="plain.md")
    assert document["content"] == "Changed by hand."
    assert answer("put_doc", path="plain.md", content="Both.", replaces=document["version"])["state"] == "replaced"


@pytest.mark.usefixtures("documents")
def test_a_removed_document_cannot_be_replaced() -> None:
    version = answer("get_doc", path="plain.md")["version"]
    delete("docs/plain.md")
    with pytest.raises(FileNotFound):
        answer("put_doc", path="plain.md", content="Okapi.", replaces=version)
    assert answer("put_doc", path="plain.md", content="Okapi.")["state"] == "created"


@pytest.mark.usefixtures("documents")
def test_writing_the_same_document_twice_is_idempotent() -> None:
    first = answer("put_doc", path="new.md", content="Okapi.", date="2026-01-31")
    assert answer("put_doc", path="new.md", content="Okapi.", date="2026-01-31") == first | {"state": "unchanged"}
    second = answer("put_doc", path="new.md", content="Zebra.", replaces=first["version"])
    again = answer("put_doc", path="new.md", content="Zebra.", replaces=first["version"])
    assert again == second | {"state": "unchanged"}


@pytest.mark.usefixtures("sent")
def test_retrying_after_a_lost_answer_is_not_a_conflict() -> None:
    """botocore sends a request again whose answer it did not get; the first one may have been heard."""

    def hear_and_lose(**_: Any) -> None:
        events.unregister("before-send.s3.PutObject", hear_and_lose)
        store("new.md", "Okapi.")
        raise ReadTimeoutError(endpoint_url="s3")

    events = client("s3").meta.events
    events.register("before-send.s3.PutObject", hear_and_lose)
    assert answer("put_doc", path="new.md", content="Okapi.")["state"] == "unchanged"


def test_of_two_that_create_the_same_document_one_wins(sent: list[str]) -> None:
    before_the_next(PUT, lambda: store("new.md", "The winner's."))
    with pytest.raises(InvalidRequest):
        answer("put_doc", path="new.md", content="The loser's.")
    assert sent == [PUT, PUT, GET]
    assert stored("new.md") == "The winner's."


@pytest.mark.usefixtures("documents")
def test_of_two_that_replace_the_same_version_one_wins() -> None:
    version = answer("get_doc", path="plain.md")["version"]
    before_the_next(PUT, lambda: store("plain.md", "The winner's."))
    with pytest.raises(InvalidRequest):
        answer("put_doc", path="plain.md", content="The loser's.", replaces=version)
    assert stored("plain.md") == "The winner's."


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("there", [True, False])
def test_a_conflict_at_the_same_moment_is_retryable(monkeypatch: pytest.MonkeyPatch, *, there: bool) -> None:
    """S3 answers 409 while another change of the same object is under way; moto does not."""
    version = answer("put_doc", path="a.md", content="Okapi.")["version"] if there else None
    conflict = ClientError({"Error": {"Code": "ConditionalRequestConflict", "Message": ""}}, PUT)
    monkeypatch.setattr(client("s3"), "put_object", raising(conflict))
    with pytest.raises(StoreUnavailable) as refused:
        answer("put_doc", path="a.md", content="Zebra.", replaces=version)
    assert refused.value.retryable


def raising(error: Exception) -> Callable[..., None]:
    def refuse(**_: Any) -> None:
        raise error

    return refuse


def test_many_writers_at_once_lose_nothing_and_store_the_index_once(sent: list[str]) -> None:
    names = [f"{number}.md" for number in range(10)]
    writers = [Thread(target=answer, args=["put_doc"], kwargs={"path": n, "content": f"Text {n}"}) for n in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sent == [PUT] * 10
    assert sorted(row["path"] for row in rows("list_docs")) == names
    assert sorted(sent[10:]) == [GET] * 10 + [LIST, PUT]


def test_another_sandbox_reads_a_new_document_at_once_and_finds_it_in_seconds(
    shelf: DocumentStore, clock: Clock
) -> None:
    other = other_sandbox(clock)
    shelf.write("new.md", "Okapi.", None)
    assert "new.md" not in paths(other)
    assert other.document("new.md")["content"] == "Okapi."
    shelf.write("newer.md", "Zebra.", None)
    assert "newer.md" not in paths(other)
    clock.advance()
    assert "newer.md" in paths(other)


def test_a_change_during_a_refresh_is_seen_by_the_next_query(shelf: DocumentStore) -> None:
    writer = Thread(target=shelf.write, args=("new.md", "Okapi.", None))
    before_the_next(PUT, writer.start)  # the index's: the listing is over
    shelf.index()
    writer.join()
    assert "new.md" in paths(shelf)


@pytest.mark.parametrize("organization", ["acme2", "acme/docs", "acme/../other", ""])
def test_another_organizations_documents_are_neither_written_nor_removed(
    shelf: DocumentStore, organization: str
) -> None:
    stranger = DocumentStore(organization)
    version = shelf.document("plain.md")["version"]
    with pytest.raises(FileNotFound):
        stranger.write("plain.md", "Okapi.", version)
    with pytest.raises(FileNotFound):
        stranger.remove("plain.md", None)
    stranger.write("plain.md", "Okapi.", None)
    assert stored("plain.md") == "Nothing much."


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "a.md", "content": ""},
        {"path": "", "content": "x"},
        {"path": "a.md", "content": "x", "title": " "},
        {"path": "a.md", "content": "x", "title": "x" * 201},
        {"path": "a.md", "content": "x", "tags": [""]},
        {"path": "a.md", "content": "x", "tags": ["t"] * 51},
        {"path": "a.md", "content": "x", "date": "tomorrow"},
        {"path": "a.md", "content": "x", "replaces": "*"},
        {"path": "a.md", "content": "x", "replaces": 'x"\r\nHost: other'},
        {"path": "a.md", "content": "\ud800"},
    ],
)
def test_wrong_arguments_are_refused_before_any_request(sent: list[str], wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        answer("put_doc", **wrong)
    assert sent == []


# -- removing -----------------------------------------------------------------------------------------


def test_a_document_is_removed_and_found_no_longer(documents: str, sent: list[str]) -> None:
    assert "plain.md" in [row["path"] for row in rows("list_docs")]
    sent.clear()
    assert answer("delete_doc", path="plain.md") == {"path": "plain.md", "state": "deleted"}
    assert sent == [HEAD, DELETE]
    assert found("nothing") == []
    with pytest.raises(FileNotFound):
        answer("get_doc", path="plain.md")
    assert len(rows("list_docs")) == 3
    assert documents not in stored_index().entries


@pytest.mark.usefixtures("documents")
def test_the_error_for_removing_a_missing_document_names_similar_paths() -> None:
    with pytest.raises(FileNotFound) as missing:
        answer("delete_doc", path="plane.md")
    assert missing.value.details["path"] == "plane.md"
    assert missing.value.details["nearest"].startswith("plain.md")
    answer("delete_doc", path="plain.md")
    with pytest.raises(FileNotFound):
        answer("delete_doc", path="plain.md")


@pytest.mark.usefixtures("documents")
def test_only_the_version_that_was_read_is_removed() -> None:
    version = answer("get_doc", path="plain.md")["version"]
    store("plain.md", "Changed by hand.")
    with pytest.raises(InvalidRequest, match="changed since") as refused:
        answer("delete_doc", path="plain.md", version=version)
    assert refused.value.details["field"] == "version"
    assert stored("plain.md") == "Changed by hand."
    assert answer("delete_doc", path="plain.md", version=answer("get_doc", path="plain.md")["version"])


@pytest.mark.usefixtures("documents")
def test_a_document_changed_at_the_same_moment_is_not_removed() -> None:
    before_the_next(DELETE, lambda: store("plain.md", "Changed by hand."))
    with pytest.raises(InvalidRequest, match="changed since"):
        answer("delete_doc", path="plain.md")
    assert stored("plain.md") == "Changed by hand."


@pytest.mark.usefixtures("documents")
def test_removing_a_document_that_was_just_removed_succeeds() -> None:
    before_the_next(DELETE, lambda: delete("docs/plain.md"))
    assert answer("delete_doc", path="plain.md")["state"] == "deleted"


@pytest.mark.usefixtures("documents")
def test_an_old_version_of_a_removed_document_stays_in_the_bucket() -> None:
    answer("delete_doc", path="plain.md")
    listing = client("s3").list_object_versions(Bucket=settings().files_bucket, Prefix="rag/acme/docs/plain.md")
    assert [marker["IsLatest"] for marker in listing["DeleteMarkers"]] == [True]
    assert len(listing["Versions"]) == 1


@pytest.mark.parametrize("path", ["../index.sqlite", "../../other/docs/a.md", "a/../b.md", "image.png"])
def test_a_file_that_is_not_a_document_is_neither_read_nor_removed(
    shelf: DocumentStore, sent: list[str], path: str
) -> None:
    shelf.index()
    store("image.png")
    sent.clear()
    with pytest.raises(FileNotFound):
        shelf.remove(path, None)
    assert sent == [LIST]
    assert stored("image.png")


@pytest.mark.usefixtures("sent")
def test_a_refusal_of_the_bucket_is_not_reported_as_a_missing_document() -> None:
    client("s3").delete_bucket(Bucket=settings().files_bucket)
    with pytest.raises(AwsError):
        answer("put_doc", path="a.md", content="x")
