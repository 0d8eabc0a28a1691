"""What the file of an answer holds, and what the model reads instead."""

import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

from mcpist.errors import InvalidRequest
from mcpist.files import access
from mcpist.files.answers import MAX_DESCRIBED_CHARACTERS, content_of, describe_file, truncate
from mcpist.files.content import JSON, MARKDOWN, PLAIN
from mcpist.files.reference import check
from mcpist.render.shows import Shows, shows
from tests.core.files.callers import UMA

ROWS = shows("id", "user.name as author")
LISTED = shows("id", rows="results")
DOCUMENT = shows("title", "body", text="body")
ANY = shows("*")
RAW = {"id": 1, "user": {"name": "uma"}, "noise": "x"}
BLOCK = {"type": "image", "data": "eA==", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("raw", "columns", "marks", "content_type", "value"),
    [
        ([RAW], ROWS, {}, JSON, [{"id": 1, "author": "uma"}]),
        (RAW, ROWS, {}, JSON, {"id": 1, "author": "uma"}),
        ({"results": [{"id": 1}]}, LISTED, {}, JSON, [{"id": 1}]),
        ([[RAW], None, [RAW]], ROWS, {"each": True}, JSON, [{"id": 1, "author": "uma"}] * 2),
        ([RAW], ROWS, {"each": True}, JSON, [{"id": 1, "author": "uma"}]),
        (RAW, ROWS, {"raw_output": True}, JSON, RAW),
        ([RAW, None], ROWS, {"raw_output": True, "each": True}, JSON, [RAW]),
        ([], ROWS, {}, JSON, []),
        (None, ROWS, {"raw_output": True}, JSON, None),
        ({"value": [RAW], "content": [BLOCK]}, ROWS, {}, JSON, [{"id": 1, "author": "uma"}]),
    ],
)
def test_the_file_holds_the_rows_or_the_services_own_json(
    raw: Any, columns: Shows, marks: dict[str, bool], content_type: str, value: Any
) -> None:
    made = content_of(raw, columns, "list_issues", **marks)
    assert (made.content_type, json.loads(made.content)) == (content_type, value)


@pytest.mark.parametrize(
    ("raw", "columns", "marks", "content_type", "text"),
    [
        ({"title": "A", "body": "# A"}, DOCUMENT, {}, MARKDOWN, "# A"),
        ([{"title": "A", "body": "# A"}, {"body": None}], DOCUMENT, {"each": True}, MARKDOWN, "# A\n"),
        ("plain", ANY, {}, PLAIN, "plain"),
        (["a", "b"], ANY, {"each": True}, PLAIN, "a\nb"),
        ("plain", ROWS, {"raw_output": True}, PLAIN, "plain"),
    ],
)
def test_the_file_of_a_text_is_the_text(
    raw: Any, columns: Shows, marks: dict[str, bool], content_type: str, text: str
) -> None:
    made = content_of(raw, columns, "list_issues", **marks)
    assert (made.content_type, made.content.decode()) == (content_type, text)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("max_characters", [0, 1_000, 100_000])
def test_a_description_has_the_reference_and_where_there_is_room_the_way_on(max_characters: int) -> None:
    rows = [{"id": number, "author": "uma" * 10} for number in range(3_000)]
    text, file = describe_file(UMA, content_of(rows, shows("id", "author"), "list_issues"), max_characters)
    assert file.path.endswith("/list_issues.json")
    assert json.loads(text.partition("\n")[0].removeprefix("file: ")) == file.reference.model_dump()
    assert ("rows: 3,000; columns: id, author" in text) is (max_characters > 0)
    assert (f"mcpist://files/{file.sha256}" in text) is (max_characters > 0)
    assert len(text) <= MAX_DESCRIBED_CHARACTERS + 50
    assert json.loads(access.load(UMA, file.path)[1]) == rows


@pytest.mark.usefixtures("aws")
def test_only_a_text_that_is_too_long_becomes_a_file(aws: list[str]) -> None:
    assert truncate(UMA, "short", 5) == "short"
    assert aws == []
    assert truncate(UMA, "é" * 9_000, 100).startswith('file: {"path":"files/acme/uma/')


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("it is odd")
    return number


class Even(BaseModel):
    """A model that knows more than its schema."""

    number: Annotated[int, AfterValidator(_even)]


def test_the_model_refuses_what_its_schema_cannot_say() -> None:
    assert check(Even, {"number": 2}, "answer").number == 2
    with pytest.raises(InvalidRequest, match=r"answer\.number: .*it is odd"):
        check(Even, {"number": 3}, "answer")
