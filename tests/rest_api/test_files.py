"""Files by REST: whole, by ranges, and only for those who may read them."""

import base64
import hashlib

import pytest

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.files import access
from mcpist.people import directory
from rest_api import files
from tests.rest_api.rest_client import RestClient

CONTENT = bytes(range(256)) * 4


@pytest.fixture
def stored(rest: RestClient, login: LocalLogin) -> str:  # noqa: ARG001 - the file needs AWS
    """A file of Uma's."""
    return access.put(directory.identify(Subject(login.issuer, "uma")), CONTENT, "application/octet-stream").sha256


def test_a_file_is_read_whole(rest: RestClient, stored: str) -> None:
    answer = rest.get(f"/v1/files/{stored}")
    assert (answer.status, answer.is_base64) == (200, True)
    assert base64.b64decode(answer.text) == CONTENT
    assert answer.headers["etag"] == f'"{stored}"'
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("header", "part", "named"),
    [
        ("bytes=0-3", CONTENT[:4], "0-3"),
        ("bytes=1020-", CONTENT[1020:], "1020-1023"),
        ("bytes=-2", CONTENT[-2:], "1022-1023"),
    ],
)
def test_a_range_is_read(rest: RestClient, stored: str, header: str, part: bytes, named: str) -> None:
    answer = rest.with_headers(range=header).get(f"/v1/files/{stored}")
    assert (answer.status, base64.b64decode(answer.text)) == (206, part)
    assert answer.headers["content-range"] == f"bytes {named}/1024"


def test_a_range_past_the_end_cannot_be_satisfied(rest: RestClient, stored: str) -> None:
    answer = rest.with_headers(range="bytes=1024-").get(f"/v1/files/{stored}")
    assert (answer.status, answer.json["code"]) == (416, "RANGE_NOT_SATISFIABLE")


@pytest.mark.parametrize("known", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
def test_a_file_that_the_client_has_is_not_sent_again(rest: RestClient, stored: str, known: str) -> None:
    answer = rest.with_headers(if_none_match=known.format(stored)).get(f"/v1/files/{stored}")
    assert (answer.status, answer.text) == (304, "")


def test_a_part_of_json_is_sent_as_it_is(rest: RestClient, login: LocalLogin) -> None:
    content = b'{"title": "half"}'
    access.put(directory.identify(Subject(login.issuer, "uma")), content, "application/json")
    path = f"/v1/files/{hashlib.sha256(content).hexdigest()}"
    whole, part = rest.get(path), rest.with_headers(range="bytes=0-8").get(path)
    assert (whole.status, base64.b64decode(whole.text)) == (200, content)
    assert (part.status, base64.b64decode(part.text)) == (206, content[:9])
    assert part.headers["content-type"] == "application/json"


def test_a_file_of_others_or_of_nobody_does_not_exist(rest: RestClient, stored: str) -> None:
    for program in (rest.of("ada"), rest.of("ada").with_headers(if_none_match=f'"{stored}"')):
        assert program.get(f"/v1/files/{stored}").json["code"] == "FILE_NOT_FOUND"
    assert rest.get(f"/v1/files/{'0' * 64}").status == 404
    assert rest.get("/v1/files/..%2Fsecret").status in {400, 404}


def test_a_file_that_is_too_large_is_read_by_ranges(rest: RestClient, login: LocalLogin) -> None:
    large = b"x" * (files.MAX_FILE_RESPONSE_BYTES + 1)
    access.put(directory.identify(Subject(login.issuer, "uma")), large, "text/plain")
    path = f"/v1/files/{hashlib.sha256(large).hexdigest()}"
    assert rest.get(path).json["code"] == "PAYLOAD_TOO_LARGE"
    assert rest.with_headers(range="bytes=0-9").get(path).status == 206
