"""The published documents: their schemas and their models accept and refuse the same values."""

from typing import Any

import pytest
from jsonschema import Draft7Validator
from pydantic import ValidationError

from mcpist.errors import InvalidRequest
from mcpist.files.content import checked_type, content_type_of
from mcpist.files.reference import PUBLISHED, ErrorResponse, FileReference, StandardResponse, check, draft7
from tests.faults import for_each

FILE: dict[str, Any] = {
    "path": "files/acme/uma/1",
    "sha256": "a" * 64,
    "size_bytes": 0,
    "content_type": "text/markdown",
    "created_at": "2026-11-22T10:00:00Z",
}
STANDARD: dict[str, Any] = {
    "success": True,
    "command": "mcpist plan",
    "timestamp": "2026-11-22T10:00:00+09:00",
    "execution_time_ms": 0,
    "outputs": [FILE],
}
ERROR: dict[str, Any] = {
    "success": False,
    "error": {"code": "FILE_NOT_FOUND", "message": "ありません。", "hint": "確認してください。"},
    "command": "mcpist plan",
    "timestamp": "2026-11-22T10:00:00Z",
}

BAD_FILES = [
    *({**FILE, "path": path} for path in ("", "/x", "a/../b", "..", "a\\b", "a\0b", "a\nb", 1, None)),
    *({**FILE, "sha256": digest} for digest in ("", "A" * 64, "a" * 63, "a" * 65, "g" * 64, 1)),
    *({**FILE, "size_bytes": size} for size in (-1, "1", None, 1.5)),
    *({**FILE, "content_type": kind} for kind in ("text/html", "image/png", "", None)),
    *(
        {**FILE, "created_at": moment}
        for moment in ("", "2026-11-22", "2026-11-22T10:00:00", "2026-13-01T00:00:00Z", 1)
    ),
    *({name: value for name, value in FILE.items() if name != left_out} for left_out in FILE),
    {**FILE, "more": 1},
    [],
    "x",
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_published_schema_is_valid_in_draft_7_and_closed(name: str) -> None:
    schema = draft7(PUBLISHED[name])
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["additionalProperties"] is False
    assert "$defs" not in str(schema)


def test_whole_documents_are_accepted() -> None:
    assert check(FileReference, FILE, "file").model_dump() == FILE
    check(StandardResponse, {**STANDARD, "metadata": {"text": "done"}}, "answer")
    assert check(StandardResponse, STANDARD, "answer").outputs == [FileReference(**FILE)]
    check(ErrorResponse, {**ERROR, "error": {**ERROR["error"], "details": {"path": "x"}}}, "answer")
    assert check(ErrorResponse, ERROR, "answer").error.hint == "確認してください。"


@for_each("value", BAD_FILES)
def test_a_wrong_file_reference_is_refused_by_both_layers(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="file"):
        check(FileReference, value, "file")
    if not (isinstance(value, dict) and value.get("size_bytes") == "1"):  # a number in a text, which pydantic reads
        with pytest.raises(ValidationError):
            FileReference.model_validate(value)


@pytest.mark.parametrize(
    "change",
    [
        {"success": False},
        {"execution_time_ms": -1},
        {"outputs": [{**FILE, "path": "/x"}]},
        {"outputs": ["a text"]},
        {"metadata": []},
        {"command": 1},
        {"more": 1},
    ],
)
def test_a_wrong_standard_response_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        check(StandardResponse, STANDARD | change, "answer")


@pytest.mark.parametrize("change", [{"success": True}, {"error": {"code": "X"}}, {"error": {**ERROR["error"], "x": 1}}])
def test_a_wrong_error_response_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        check(ErrorResponse, ERROR | change, "answer")


def test_an_error_names_the_place_and_never_the_value() -> None:
    with pytest.raises(InvalidRequest) as refused:
        check(StandardResponse, {**STANDARD, "outputs": [FILE, {**FILE, "sha256": "secret"}]}, "answer")
    assert refused.value.details["field"] == "answer.outputs.1.sha256"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("media_type", "kept"),
    [
        ("text/plain; charset=utf-8", "text/plain"),
        ("TEXT/Markdown", "text/markdown"),
        ("application/problem+json", "application/json"),
        ("application/yaml", "text/yaml"),
        ("text/csv", "text/plain"),
        ("image/png", "image/png"),
        ("", "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
    ],
)
def test_a_content_type_is_one_of_ours_or_an_attachments(media_type: str, kept: str) -> None:
    assert content_type_of(media_type) == kept


@pytest.mark.parametrize(
    ("content", "media_type", "kept"),
    [
        (b"text", "text/plain", "text/plain"),
        (b"\xff", "text/plain", "application/octet-stream"),
        (b"a\0b", "application/json", "application/octet-stream"),
        (b"text", "", "text/plain"),
        (b"text", "application/octet-stream", "text/plain"),
        (b"a\0b", "", "application/octet-stream"),
        (b"diff --git", "application/vnd.github.v3.diff; charset=utf-8", "text/plain"),
        (b"PK", "application/zip", "application/zip"),
    ],
)
def test_a_received_content_is_a_text_only_where_it_is_one(content: bytes, media_type: str, kept: str) -> None:
    assert checked_type(content, media_type) == kept
