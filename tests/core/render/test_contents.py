from typing import Any

import pytest

from mcpist.render.answer import compact
from mcpist.render.contents import json_of_result, split_content, text_of
from mcpist.render.shows import shows
from tests.faults import for_each

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "name": "notes", "uri": "file:///notes.md"}


def text(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": one} for one in texts]}


@for_each(
    ("result", "found"),
    [
        (text("plain words"), "plain words"),
        (text('{"a": [1]}'), {"a": [1]}),
        (text(" [1, 2]"), [1, 2]),
        (text("42"), "42"),
        (text("007"), "007"),
        (text("{not json"), "{not json"),
        (text('{"a": NaN}'), '{"a": NaN}'),
        (text("[" * 100_000), "[" * 100_000),
        (text('{"title": "\\ud83d"}'), {"title": "?"}),
        (text("one", '{"two": 2}'), ["one", {"two": 2}]),
        (text(), None),
        (text("as text") | {"structuredContent": {"a": 1}}, {"a": 1}),
        (text("as text") | {"structuredContent": {"result": [{"a": 1}]}}, [{"a": 1}]),
        (text("as text") | {"structuredContent": {"result": 1, "more": 2}}, {"result": 1, "more": 2}),
    ],
)
def test_a_result_is_json_where_it_can_be(result: dict[str, Any], found: Any) -> None:
    assert json_of_result(result) == found
    assert split_content(found) == (found, ())


def test_what_is_no_text_stands_beside_it_and_is_found_again() -> None:
    result = {"content": [{"type": "text", "text": "a dot"}, IMAGE, LINK]}
    found = json_of_result(result)
    assert found == {"value": "a dot", "content": [IMAGE, LINK]}
    assert split_content(found) == ("a dot", [IMAGE, LINK])
    assert split_content(json_of_result({"content": [IMAGE]})) == (None, [IMAGE])


@pytest.mark.parametrize("found", [{"value": 1, "content": []}, {"value": 1, "content": ["a"]}, {"content": [IMAGE]}])
def test_what_only_looks_alike_is_no_block(found: Any) -> None:
    assert split_content(found) == (found, ())


def test_all_texts_are_what_a_person_reads() -> None:
    assert text_of(text("one", "two")) == "one\ntwo"


def test_a_text_of_a_server_is_shown_as_it_is() -> None:
    assert compact("plain words", shows("*")) == "plain words"
