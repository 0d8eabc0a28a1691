"""What is kept of a download, and what is shown of it."""

import json

import pytest

from mcpist.files import access
from mcpist.files.answers import MAX_PREVIEW_CHARACTERS, keep_download
from mcpist.files.content import JSON, OCTETS, PLAIN, FileContent
from tests.core.files.callers import UMA

pytestmark = pytest.mark.usefixtures("aws")


def test_bytes_are_kept_as_they_are_and_have_no_preview() -> None:
    kept = keep_download(UMA, FileContent(b"\x89PNG\xff", "image/png"))
    file, content = access.load(UMA, kept["file"])
    assert (file.content_type, content, kept["preview"]) == ("image/png", b"\x89PNG\xff", None)


@pytest.mark.parametrize("named", ["image/\u00e9", "\u753b/\u50cf", "image/" + "a" * 128, "image/" + "a" * 60_000])
def test_a_type_that_no_header_can_name_is_none(named: str) -> None:
    file, _ = access.load(UMA, keep_download(UMA, FileContent(b"\xff", named))["file"])
    assert file.content_type == OCTETS


def test_a_short_text_is_shown_whole() -> None:
    kept = keep_download(UMA, FileContent("設計\n".encode(), "text/plain; charset=utf-8"))
    assert kept["file"]["content_type"] == PLAIN
    assert kept["preview"].endswith("begins:\n設計\n")


def test_a_long_text_is_shown_with_its_beginning_and_its_end() -> None:
    log = "\n".join(f"line {number}" for number in range(9_000))
    shown = keep_download(UMA, FileContent(log.encode(), PLAIN))["preview"]
    assert "begins:\nline 0\n" in shown
    assert "ends:\nline " in shown
    assert shown.endswith("\nline 8999")
    assert len(shown) < 2 * MAX_PREVIEW_CHARACTERS + 100


def test_long_json_is_shown_by_its_shape() -> None:
    rows = json.dumps([{"id": number, "title": "x" * 50} for number in range(500)])
    shown = keep_download(UMA, FileContent(rows.encode(), JSON))["preview"]
    assert shown.startswith("rows: 500; columns: id, title")
    assert "ends:" not in shown
