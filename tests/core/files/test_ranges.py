"""Parts of a file's bytes."""

import pytest

from mcpist.errors import FileNotFound, InvalidRequest
from mcpist.files import access
from mcpist.files.ranges import FileRange, read_part, read_range
from tests.core.files.callers import BOB, UMA

pytestmark = pytest.mark.usefixtures("aws")


def stored(content: bytes = b"0123456789", content_type: str = "text/plain") -> str:
    return access.put(UMA, content, content_type).sha256


def part(found: FileRange) -> tuple[bytes, int, int]:
    return found.content, found.first, found.end


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", (b"0123456789", 0, 10)),
        ("bytes=0-3", (b"0123", 0, 4)),
        ("bytes=2-2", (b"2", 2, 3)),
        ("bytes=8-", (b"89", 8, 10)),
        ("bytes=8-99", (b"89", 8, 10)),
        ("bytes=-3", (b"789", 7, 10)),
        ("bytes=-99", (b"0123456789", 0, 10)),
        ("bytes=-", (b"0123456789", 0, 10)),
        ("bytes=0-1,4-5", (b"0123456789", 0, 10)),
        ("lines=0-1", (b"0123456789", 0, 10)),
    ],
)
def test_the_bytes_of_a_range_header_are_read(header: str, expected: tuple[bytes, int, int]) -> None:
    found = read_range(UMA, stored(), header)
    assert part(found) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=5-4", "bytes=-0"])
def test_a_range_without_a_byte_is_refused(header: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_range(UMA, stored(), header)
    assert refused.value.details["field"] == "range"


def test_a_range_of_somebody_elses_file_is_not_found() -> None:
    with pytest.raises(FileNotFound):
        read_range(BOB, stored(), "bytes=0-1")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (b"01234", 0, 5)),
        ("offset=5", (b"56789", 5, 10)),
        ("offset=5&limit=2", (b"56", 5, 7)),
        ("limit=99", (b"01234", 0, 5)),
    ],
)
def test_a_part_is_chosen_by_a_query_and_bounded(query: str, expected: tuple[bytes, int, int]) -> None:
    assert part(read_part(UMA, stored(), query, 5)) == expected


def test_a_part_of_a_text_begins_and_ends_between_characters_and_one_of_an_attachment_anywhere() -> None:
    content = "日本語".encode()
    assert read_part(UMA, stored(content), "offset=1&limit=3", 99).content.decode() == "本"
    assert read_part(UMA, stored(content, "image/png"), "offset=1&limit=3", 99).content == content[1:4]


@pytest.mark.parametrize(
    ("query", "field"), [("offset=10", "offset"), ("offset=-1", "offset"), ("limit=x", "limit"), ("x=1", "x")]
)
def test_a_query_that_names_no_part_is_refused(query: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_part(UMA, stored(), query, 5)
    assert refused.value.details["field"] == field


def test_an_empty_file_is_read_whole() -> None:
    assert read_part(UMA, stored(b""), "", 5).content == b""
    assert read_range(UMA, stored(b"")).content == b""
