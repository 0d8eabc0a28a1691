"""Values and rows in texts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.files.answers import describe, preview
from mcpist.files.content import JSON, MARKDOWN, PLAIN, YAML
from mcpist.files.values import MAX_YAML_CHARACTERS, columns_of, find_rows, parse, readable_json


def json_values(texts: st.SearchStrategy[str]) -> Any:
    """Values of JSON with such texts."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=20,
    )


@given(json_values(st.text()))
def test_readable_json_is_json_of_the_same_value(value: Any) -> None:
    assert parse(readable_json(value).decode(), JSON) == value


def test_in_readable_json_a_row_and_a_field_have_a_line_of_their_own() -> None:
    value = {"items": [{"a": 1}, {"a": [2]}], "total": 2, "none": []}
    assert readable_json(value).decode().splitlines() == [
        "{",
        '"items":[',
        '{"a":1},',
        '{"a":[2]}',
        "],",
        '"total":2,',
        '"none":[]',
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "content_type", "value"),
    [
        ('{"a":1}', JSON, {"a": 1}),
        ('{"a":1}\n\n{"a":2}\n', PLAIN, [{"a": 1}, {"a": 2}]),
        ("a: 1\nb: [x, 2020-01-01]", YAML, {"a": 1, "b": ["x", "2020-01-01"]}),
    ],
)
def test_json_json_lines_and_yaml_are_read(text: str, content_type: str, value: Any) -> None:
    assert parse(text, content_type) == value


@pytest.mark.parametrize(
    ("text", "content_type", "problem"),
    [
        ("plain", PLAIN, "it is no JSON"),
        ('{"a":1}\n{"a":', PLAIN, "line 2"),
        ("[NaN]", JSON, "NaN is no JSON"),
        ("[" * 100_000, JSON, "nested too deeply"),
        ("a: [", YAML, "line 2"),
        ("a" * (MAX_YAML_CHARACTERS + 1), YAML, "more than 2,000,000 characters of YAML"),
    ],
)
def test_what_is_no_value_says_why(text: str, content_type: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(text, content_type)


@pytest.mark.parametrize(
    ("value", "path", "count"),
    [
        ([{"a": 1}], "", 1),
        ({"few": [{"a": 1}], "many": [{"a": 1}, {"b": 2}], "n": 1}, "many", 2),
    ],
)
def test_rows_are_a_list_of_objects_or_the_longest_one_inside(value: Any, path: str, count: int) -> None:
    found = find_rows(value)
    assert found is not None
    assert (found.path, len(found.rows)) == (path, count)


@pytest.mark.parametrize("value", [[], [1], {"a": 1}, "x", None, [{"a": 1}, 2]])
def test_other_values_have_no_rows(value: Any) -> None:
    assert find_rows(value) is None


def test_columns_are_those_of_all_rows_in_their_order() -> None:
    assert columns_of([{"b": 1}, {"a": 2, "b": 3}]) == ["b", "a"]


def test_the_shape_of_a_value_has_names_types_and_lengths_but_no_content() -> None:
    value = {
        "items": [{"id": 1, "user": {"login": {"deep": {"x": 1}}}, "ok": True, "n": None, "x": 0.5}],
        "e": [],
        "o": {},
    }
    assert describe(value) == (
        "{items: [1 of {id: integer, user: {...}, ok: boolean, n: null, x: number}], e: [0], o: {}}"
    )


def test_a_shape_lists_some_names_and_counts_the_others() -> None:
    assert describe({f"f{number}": "" for number in range(45)}).endswith("f39: text, and 5 more}")


def test_the_preview_of_rows_has_their_number_their_columns_and_the_first_of_them() -> None:
    rows = [{"number": number, "title": f"issue {number}", "body": ""} for number in range(1_000)]
    shown = preview(readable_json(rows).decode(), JSON, 500)
    assert shown.startswith("rows: 1,000; columns: number, title, body\nfirst ")
    assert "issue 0" in shown
    assert len(shown) < 700


def test_the_preview_of_rows_inside_an_object_says_where_they_are() -> None:
    text = json.dumps({"total": 2, "issues": [{"a": 1}, {"a": 2}]})
    lines = preview(text, JSON, 500).splitlines()
    assert lines[:2] == ["rows: 2 in issues; columns: a", "shape: {total: integer, issues: [2 of {a: integer}]}"]


@pytest.mark.parametrize(
    ("text", "content_type", "beginning"),
    [
        ("# Title\n" + "word\n" * 1_000, MARKDOWN, "text: 1,001 lines, 5,008 characters\nbegins:\n# Title"),
        ('{"a": "' + "x" * 9_000 + '"}', JSON, 'shape: {a: text}\nbegins:\n{"a": "xx'),
        ("[1,2]\n", JSON, "shape: [2 of integer]\nbegins:\n[1,2]"),
        ("{broken", JSON, "text: 1 lines, 7 characters\nbegins:\n{broken"),
        ("x" * 9_000, PLAIN, "text: 1 lines, 9,000 characters\nbegins:\nxxx"),
    ],
)
def test_the_preview_of_anything_else_has_its_shape_and_its_beginning(
    text: str, content_type: str, beginning: str
) -> None:
    shown = preview(text, content_type, 400)
    assert shown.startswith(beginning)
    assert len(shown) < 460


def test_the_preview_of_one_very_long_row_is_cut() -> None:
    assert len(preview(json.dumps([{"a": "x" * 9_000}]), JSON, 400)) < 460
