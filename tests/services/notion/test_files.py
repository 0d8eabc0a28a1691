"""Notion's files: uploads in three steps, and downloads from where Notion keeps them."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest
from mcpist.files.content import FileContent
from mcpist.tools.declare.call import FilePart
from mcpist_services.notion.tools import notion
from tests.services.answers.notion import PAGE_ID, block
from tests.services.conversation import converse, work_of

work = partial(work_of, notion)

UPLOAD = {"id": "b52b8ed6-e029-4707-a671-832549c09de3"}


def attach(content: FileContent, filename: str = "a.bin") -> list[Any]:
    made = work("attach_file", block_id=PAGE_ID, filename=filename, content=content)
    return converse(made, UPLOAD, UPLOAD, {"results": [{"id": "1"}]})[0]


def test_a_file_is_announced_sent_and_put_into_the_page() -> None:
    image = FileContent(b"\x89PNG", "image/png")
    announced, sent, placed = attach(image, "screen.png")
    assert announced.json == {"mode": "single_part", "filename": "screen.png", "content_type": "image/png"}
    assert sent.path == f"/v1/file_uploads/{UPLOAD['id']}/send"
    assert sent.multipart == {"file": FilePart("screen.png", image)}
    (child,) = placed.json["children"]
    assert child == {"type": "image", "image": {"type": "file_upload", "file_upload": {"id": UPLOAD["id"]}}}


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/pdf", "pdf"),
        ("video/mp4", "video"),
        ("audio/mpeg", "audio"),
        ("text/plain; charset=utf-8", "file"),
    ],
)
def test_a_file_shows_as_what_it_is(content_type: str, kind: str) -> None:
    assert attach(FileContent(b"a", content_type))[2].json["children"][0]["type"] == kind


def test_a_file_needs_an_ending() -> None:
    with pytest.raises(InvalidArguments):
        work("attach_file", block_id=PAGE_ID, filename="notes", content="a")


def test_a_file_is_downloaded_from_where_notion_keeps_it() -> None:
    stored = {"url": "https://prod-files-secure.s3.us-west-2.amazonaws.com/a/b.pdf?X-Amz-Signature=c"}
    held = block("pdf", 1, type="file", file=stored)
    (_, fetched), made = converse(work("download_file", block_id=PAGE_ID), held, {"file": {}, "preview": None})
    assert fetched.download
    assert fetched.origin + fetched.path == stored["url"]
    assert made == {"file": {}, "preview": None}


@pytest.mark.parametrize(
    ("held", "problem"),
    [
        (
            block("image", 1, type="external", external={"url": "https://example.com/a.png"}),
            "https://example.com/a.png",
        ),
        (block("paragraph", 1), "paragraph"),
    ],
    ids=["a file elsewhere", "a block without a file"],
)
def test_what_is_not_kept_by_notion_is_not_downloaded(held: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        converse(work("download_file", block_id=PAGE_ID), held)
    assert problem in refused.value.details["problem"]
