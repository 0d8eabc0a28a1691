from typing import Any

import pytest

from mcpist.render.shows import Column, path_keys, project, shows, value_at
from tests.faults import for_each

ISSUE = {"key": "A-1", "fields": {"name": "x", "labels": [{"n": "a"}, {"n": "b"}, {}], "grid": [[1, 2], [3]]}}


@for_each(
    ("path", "value"),
    [
        ("key", "A-1"),
        ("fields.name", "x"),
        ("fields.labels[0].n", "a"),
        ("fields.labels[*].n", ["a", "b", None]),
        ("fields.labels[*]", [{"n": "a"}, {"n": "b"}, {}]),
        ("fields.grid[*][0]", [1, 3]),
        ("fields.grid[1]", [3]),
        ("fields.labels[9].n", None),
        ("fields.nothing.n", None),
        ("fields.name[0]", None),
        ("key.x", None),
        ("fields[*].n", None),
        ("fields.labels.n", None),
    ],
)
def test_a_path_leads_to_its_value_or_nowhere(path: str, value: Any) -> None:
    assert value_at(ISSUE, path) == value


def test_a_path_is_its_keys_and_indexes() -> None:
    assert list(path_keys("a.b-c[0][*].d e")) == ["a", "b-c", 0, "*", "d e"]


def test_a_column_is_named_as_declared() -> None:
    declared = shows("id", "user.login as author", text="id")
    assert declared.columns == (Column("id", ("id",)), Column("author", ("user.login",)))
    assert declared.fields == ["id", "author"]
    assert declared.format == "markdown"
    assert shows("id").format == "rows"


@pytest.mark.parametrize(
    ("raw", "rows", "projected"),
    [
        ({"id": 1, "x": 2}, "", [{"id": 1}]),
        ([{"id": 1}, {"id": 2}, None], "", [{"id": 1}, {"id": 2}]),
        ({"items": [{"id": 1}]}, "items", [{"id": 1}]),
        ({"a": {"b": [{"id": 1}]}}, "a.b", [{"id": 1}]),
        ({"other": []}, "items", []),
        ({"items": {"id": 1}}, "items", [{"id": 1}]),
        (None, "", []),
        ("text", "", [{"id": None}]),
        ([], "", []),
    ],
)
def test_an_answer_becomes_rows(raw: Any, rows: str, projected: list[Any]) -> None:
    assert project(raw, shows("id", rows=rows)) == projected


def test_a_column_with_several_paths_takes_the_first_that_leads_to_a_value() -> None:
    declared = shows("start.dateTime|start.date as start")
    timed, whole, none = {"start": {"dateTime": "T", "date": None}}, {"start": {"date": "D"}}, {"start": {}}
    assert project([timed, whole, none], declared) == [{"start": "T"}, {"start": "D"}, {"start": None}]


def test_rows_that_nobody_knows_are_shown_as_they_are() -> None:
    assert project([{"a": 1, "b": {"c": 2}}, 7], shows("*")) == [{"a": 1, "b": {"c": 2}}, {"value": 7}]
    assert shows("*").has_column("anything")
    assert not shows("id").has_column("anything")
