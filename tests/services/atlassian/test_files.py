"""The files of Jira's issues and Confluence's pages: what is sent, and what is kept."""

from typing import Any

import pytest

from mcpist.files.content import FileContent
from mcpist.tools.declare.call import Call, FilePart
from mcpist.tools.declare.module import Module
from mcpist_services.confluence.tools import confluence
from mcpist_services.jira.tools import jira
from tests.services.conversation import converse, work_of

IMAGE = FileContent(b"\x89PNG", "image/png")


@pytest.mark.parametrize(
    ("module", "place", "call"),
    [
        (jira, {"issue_key": "ENG-42"}, ("POST", "/rest/api/3/issue/ENG-42/attachments")),
        (confluence, {"page_id": "65551"}, ("PUT", "/wiki/rest/api/content/65551/child/attachment")),
    ],
    ids=["jira", "confluence"],
)
def test_a_file_is_sent_with_its_name_and_bytes(module: Module, place: dict[str, str], call: tuple[str, str]) -> None:
    made = work_of(module, "attach_file", **place, filename="screen.png", content=IMAGE)
    assert isinstance(made, Call)
    assert (made.method, made.path) == call
    assert made.multipart
    assert made.multipart["file"] == FilePart("screen.png", IMAGE)
    assert made.headers == {"x-atlassian-token": "no-check"}


@pytest.mark.parametrize(
    ("module", "ids", "path"),
    [
        (jira, {"attachment_id": "10042"}, "/rest/api/3/attachment/content/10042"),
        (
            confluence,
            {"page_id": "65551", "attachment_id": "att98307"},
            "/wiki/rest/api/content/65551/child/attachment/att98307/download",
        ),
    ],
    ids=["jira", "confluence"],
)
def test_a_file_is_downloaded_by_its_id(module: Module, ids: dict[str, str], path: str) -> None:
    assert work_of(module, "download_attachment", **ids) == Call("GET", path, download=True)


@pytest.mark.parametrize(("held", "rows"), [([{"id": "10042"}], [{"id": "10042"}]), (None, [])])
def test_an_issue_may_have_no_files(held: Any, rows: list[Any]) -> None:
    _, listed = converse(work_of(jira, "list_attachments", issue_key="ENG-42"), {"fields": {"attachment": held}})
    assert listed == rows
