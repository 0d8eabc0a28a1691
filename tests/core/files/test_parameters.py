"""File references in the place of arguments."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mcpist.errors import FileNotFound, FileTooLarge, IntegrityError, InvalidRequest
from mcpist.files import access
from mcpist.files.content import CONTENT_FORMAT, JSON, MARKDOWN, PLAIN, YAML, ContentArgument, FileContent
from mcpist.files.parameters import FILE_FORMAT, MAX_ARGUMENT_BYTES, load_arguments, named_files, reference_names
from tests.core.files.callers import BOB, UMA
from tests.core.files.test_access import overwrite

pytestmark = pytest.mark.usefixtures("aws")

SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "rows": {"type": "array", "items": {"type": "object"}},
        "body": {"type": "object"},
        "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "any": {},
        "bytes": {"type": "string", "format": CONTENT_FORMAT},
        "file": {"anyOf": [{"type": "string"}, {"type": "object"}], "format": FILE_FORMAT},
        "files": {"type": "array", "items": {"type": "string", "format": FILE_FORMAT}},
    }
}
ROWS = b'[{"a":1}]'


def reference(content: bytes = ROWS, content_type: str = JSON) -> dict[str, Any]:
    return access.put(UMA, content, content_type).reference.model_dump()


@pytest.mark.parametrize(
    ("name", "content", "content_type", "value"),
    [
        ("text", b"# Title", MARKDOWN, "# Title"),
        ("text", ROWS, JSON, '[{"a":1}]'),
        ("rows", ROWS, JSON, [{"a": 1}]),
        ("rows", b'{"a":1}\n{"a":2}', PLAIN, [{"a": 1}, {"a": 2}]),
        ("rows", b"- a: 1", YAML, [{"a": 1}]),
        ("body", b'{"a":1}', JSON, {"a": 1}),
        ("either", ROWS, JSON, [{"a": 1}]),
        ("either", b"- a", MARKDOWN, "- a"),
        ("any", ROWS, JSON, [{"a": 1}]),
        ("any", b"text", PLAIN, "text"),
        ("unknown", b"text", MARKDOWN, "text"),
    ],
)
def test_a_reference_becomes_what_the_parameter_takes(name: str, content: bytes, content_type: str, value: Any) -> None:
    whole = reference(content, content_type)
    short = {"path": whole["path"], "sha256": whole["sha256"]}
    for given in (whole, short):
        assert reference_names(SCHEMA, {name: given}) == {name}
        assert load_arguments(UMA, SCHEMA, {name: given, "n": 1}) == {name: value, "n": 1}


@pytest.mark.parametrize("name", ["file", "files"])
def test_a_parameter_that_takes_a_file_gets_its_reference(name: str) -> None:
    value = reference() if name == "file" else [reference()]
    assert load_arguments(UMA, SCHEMA, {name: value}) == {name: value}
    assert [found for found, _ in named_files(SCHEMA, {name: value})] == [name]


@pytest.mark.parametrize(("content", "kind"), [(b"\x89PNG\xff", "image/png"), ("設計".encode(), MARKDOWN)])
def test_a_parameter_of_bytes_gets_them_with_their_type_and_name(content: bytes, kind: str) -> None:
    given = reference(content, kind)
    loaded = load_arguments(UMA, SCHEMA, {"bytes": given, "text": "x"})
    name = given["path"].rpartition("/")[2]
    assert loaded == {"bytes": FileContent(content, kind, name), "text": "x"}
    assert reference_names(SCHEMA, {"bytes": reference(content, kind)}) == {"bytes"}


def test_a_text_is_bytes_and_anything_else_is_none() -> None:
    taken = TypeAdapter(ContentArgument)
    assert taken.validate_python("設計") == FileContent("設計".encode(), PLAIN)
    with pytest.raises(ValidationError, match="a text, or the reference of a file"):
        taken.validate_python({"path": "a"})


def test_other_arguments_stay_and_read_nothing(aws: list[str]) -> None:
    arguments = {"text": "files/acme", "body": {"path": "a", "sha256": "b"}, "rows": []}
    aws.clear()
    assert load_arguments(UMA, SCHEMA, arguments) == arguments
    assert aws == []


def test_the_files_of_arguments_are_named_but_not_references_to_steps() -> None:
    arguments = {"file": "abc", "files": ["d", "${find.file}"], "text": reference(), "rows": "x", "any": ["e"]}
    assert [
        (name, address if isinstance(address, str) else "…") for name, address in named_files(SCHEMA, arguments)
    ] == [
        ("file", "abc"),
        ("files", "d"),
        ("text", "…"),
    ]


def test_a_file_in_the_place_of_an_argument_is_refused_as_any_other() -> None:
    given = reference()
    with pytest.raises(FileNotFound):
        load_arguments(BOB, SCHEMA, {"text": given})
    for wrong in (reference(b"\xff", PLAIN), reference(b"x", "image/png"), reference() | {"size_bytes": "9"}):
        with pytest.raises(InvalidRequest) as refused:
            load_arguments(UMA, SCHEMA, {"text": wrong})
        assert refused.value.details["field"].startswith("params.text")
    with pytest.raises(InvalidRequest, match=r"params\.rows: the file: it is no JSON"):
        load_arguments(UMA, SCHEMA, {"rows": reference(b"text", PLAIN)})
    with pytest.raises(FileTooLarge):
        load_arguments(UMA, SCHEMA, {"text": reference(b"x" * (MAX_ARGUMENT_BYTES + 1), PLAIN)})
    overwrite(access.find(UMA, given).key, b"changed")
    with pytest.raises(IntegrityError):
        load_arguments(UMA, SCHEMA, {"text": given})
