"""The pages of files: the list, a file by its lines or rows, and its download."""

import base64
import json
from typing import Any

import pytest

from mcpist.caller import Caller, Subject
from mcpist.files import access, records, storage
from mcpist.files.values import readable_json
from mcpist.people import directory
from tests.console.conftest import Browser
from tests.full_issuer import FullIssuer

EVIL = '"><script>alert(1)</script>\u202e'
ROWS = [{"number": number, "title": f"Issue {number}", "state": "open"} for number in range(120)]


@pytest.fixture
def person(uma: Browser, login: FullIssuer) -> Caller:
    """The person who is logged in."""
    assert uma.login is login
    return directory.identify(Subject(login.issuer, "uma"))


def put(person: Caller, content: bytes, content_type: str = "text/plain") -> str:
    return access.put(person, content, content_type).sha256


def test_a_person_sees_own_files(uma: Browser, person: Caller) -> None:
    sha256 = put(person, b"a text\n")
    assert sha256 in uma.get("/files")["body"]
    assert "Nothing is kept" not in uma.get("/files")["body"]


def test_rows_are_a_table_by_pages(uma: Browser, person: Caller) -> None:
    sha256 = put(person, readable_json(ROWS), "application/json")
    first = uma.get(f"/files?sha256={sha256}")["body"]
    assert "Issue 0<" in first
    assert "Issue 49<" in first
    assert "Issue 50<" not in first
    assert "from=50" in first
    assert "Issue 50<" in uma.get(f"/files?sha256={sha256}&from=50")["body"]
    assert "Issue 50" in uma.get(f"/files?sha256={sha256}&view=lines")["body"]


def test_lines_are_numbered_and_shown_by_pages(uma: Browser, person: Caller) -> None:
    sha256 = put(person, "\n".join(f"line {number}" for number in range(500)).encode())
    page = uma.get(f"/files?sha256={sha256}&from=200")["body"]
    assert '<span data-number="201">line 200</span>' in page
    assert "line 400<" not in page


def test_a_file_is_downloaded_whole_and_never_shown_by_the_browser(uma: Browser, person: Caller) -> None:
    sha256 = put(person, b"<script>alert(1)</script>", "text/html")
    answer = uma.get(f"/files?sha256={sha256}&download=1")
    assert answer["headers"]["content-disposition"].startswith("attachment")
    assert answer["headers"]["x-content-type-options"] == "nosniff"
    assert body_of(answer) == b"<script>alert(1)</script>"


def body_of(answer: dict[str, Any]) -> bytes:
    return base64.b64decode(answer["body"]) if answer.get("isBase64Encoded") else answer["body"].encode()


def test_what_a_file_holds_is_text(uma: Browser, person: Caller) -> None:
    for content, kind in ((EVIL.encode(), "text/plain"), (json.dumps([{EVIL: EVIL}]).encode(), "application/json")):
        page = uma.get(f"/files?sha256={put(person, content, kind)}")["body"]
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "alert(1)" in page


def test_a_changed_content_is_refused(uma: Browser, person: Caller) -> None:
    sha256 = put(person, b"a text\n")
    file = records.find("acme", "uma", sha256)
    assert file
    storage.store(file.key, b"another text\n", "text/plain")
    for query in ("", "&download=1"):
        answer = uma.get(f"/files?sha256={sha256}{query}")
        assert answer["statusCode"] == 500
        assert "INTEGRITY_ERROR" in answer["body"]


def test_nobody_else_reads_a_file(ada: Browser, login: FullIssuer) -> None:
    sha256 = put(directory.identify(Subject(login.issuer, "uma")), b"canary")
    for query in ("", "&download=1", "&view=lines"):
        answer = ada.get(f"/files?sha256={sha256}{query}")
        assert answer["statusCode"] == 404
        assert "canary" not in answer["body"]


def test_a_query_that_names_no_file_is_answered_with_a_page(uma: Browser) -> None:
    for query in ("sha256=x", "sha256=../../etc", "after=-1", "sha256=" + "0" * 64):
        assert uma.get(f"/files?{query}")["statusCode"] in {400, 404}, query
