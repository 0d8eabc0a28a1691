import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.caller import AnswerFormat, Caller, Role, Subject
from mcpist.render.answer import compact, compact_each, compact_json, document
from mcpist.render.read import read
from mcpist.render.shows import project, shows
from tests.examples import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ROW = st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": VALUES})
ABC = shows("a", "b", "c")


def issues(count: int) -> list[dict[str, Any]]:
    return [
        {"number": n, "title": f"Issue {n}", "state": "open", "labels": [{"name": "bug"}, {"name": "ui"}], "body": None}
        for n in range(count)
    ]


ISSUES = shows("number", "title", "state", "labels[*].name as labels", "body")


@settings(max_examples=examples(300))
@given(st.lists(ROW, max_size=4) | ROW)
def test_an_answer_is_never_longer_than_the_minified_json_of_its_projection(raw: Any) -> None:
    rows = project(raw, ABC)
    assert len(compact(raw, ABC)) <= len(compact_json(rows))
    if isinstance(raw, dict):
        assert len(compact(raw, ABC)) <= len(compact_json(rows[0]))


@settings(max_examples=examples(100))
@given(st.fixed_dictionaries({"a": VALUES, "b": VALUES, "t": st.text() | st.none()}))
def test_a_document_is_never_longer_than_its_json(row: Any) -> None:
    assert len(document(row, "t")) <= len(compact_json(row))
    if row["t"]:
        assert document(row, "t").endswith(row["t"])


@settings(max_examples=examples(100))
@given(st.lists(st.fixed_dictionaries({"a": st.text(), "b": st.integers(), "c": st.booleans()}), min_size=2))
def test_flat_rows_lose_nothing(raw: Any) -> None:
    text = compact(raw, ABC)
    assert [{"a": "", **row} | {"a": row.get("a") or ""} for row in read(text)["items"]] == raw


def test_flat_rows_become_a_table_whose_names_stand_once() -> None:
    assert compact(issues(3), ISSUES) == (
        "items*{state labels()}: open,bug;ui\nitems[3]{number,title}:\n  0,Issue 0\n  1,Issue 1\n  2,Issue 2"
    )


def test_a_table_is_half_of_its_json() -> None:
    projected = compact_json(project(issues(50), ISSUES))
    assert len(compact(issues(50), ISSUES)) < 0.45 * len(projected)


def test_a_short_answer_is_json_where_quotes_and_a_line_cost_what_the_form_saves() -> None:
    release = {"available_versions": [{"version": "text", "release_channel": "internal", "postgres_engine": "13"}]}
    longer = {
        "available_versions": [release["available_versions"][0] | {"note": "released as a preview for everybody"}]
    }
    assert compact(release, shows("*")) == compact_json(release)
    assert compact(longer, shows("*")).startswith(
        "available_versions[1]{version,release_channel,postgres_engine,note}:"
    )


def test_objects_in_rows_become_columns() -> None:
    raw = [{"a": n, "b": {"x": n, "y": "why"}, "c": None} for n in range(5)]
    assert compact(raw, ABC).startswith("items*{b{y}}: why\nitems[5]{a,b{x}}:\n  0,0\n")


@pytest.mark.parametrize(
    ("form", "rows", "page"),
    [
        ("compact", "items[6]{a,b}:\n  0,what\n  1,of us\n  2,\n  3,no\n  4,no\n  5,no", "a: 1\n\n# Plan"),
        ("markdown", "items[6]{a,b}:\n  0,what\n  1,of us\n  2,\n  3,no\n  4,no\n  5,no", "a: 1\n\n# Plan"),
        ("toon", "items[6]{a,b}:\n  0,what\n  1,of us\n  2,null\n  3,no\n  4,no\n  5,no", 'a: 1\nc: "# Plan"'),
        (
            "json",
            '[{"a":0,"b":"what"},{"a":1,"b":"of us"},{"a":2},{"a":3,"b":"no"},{"a":4,"b":"no"},{"a":5,"b":"no"}]',
            '{"a":1,"c":"# Plan"}',
        ),
    ],
)
def test_an_answer_has_the_form_that_was_asked_for(form: AnswerFormat, rows: str, page: str) -> None:
    raw = [
        {"a": 0, "b": "what"},
        {"a": 1, "b": "of us", "c": None},
        {"a": 2, "b": ""},
        *({"a": n, "b": "no"} for n in (3, 4, 5)),
    ]
    document_of_c = shows("a", "b", "c", text="c")
    assert compact(raw, ABC, form) == compact_each(raw, ABC, form) == rows
    assert compact({"a": 1, "c": "# Plan"}, document_of_c, form) == page
    text = compact("Note: do", shows("*"), form)
    assert text == ("Note: do" if form in {"compact", "markdown"} else '"Note: do"')


def test_one_object_is_no_list() -> None:
    assert compact({"a": 1, "b": None, "c": ""}, ABC) == "a: 1"
    assert compact({"a": 0, "b": False, "c": []}, ABC) == "{a b}: 0,false"


def test_a_list_of_one_row_stays_a_list() -> None:
    assert compact([{"a": 1}], ABC) == '[{"a":1}]'


@pytest.mark.parametrize("raw", [None, [], {}, "", 0, [None], {"items": None}])
def test_what_is_empty_is_short(raw: Any) -> None:
    assert compact(raw, shows("a", rows="items")) == "[]"
    assert compact(raw, ABC) in {"[]", "{}"}


def test_an_answer_of_empty_lists_names_them() -> None:
    raw = {"entities": [], "relations": [], "next": None}
    assert compact(raw, shows("*")) == '{"entities":[],"relations":[]}'


def test_a_document_is_its_text_under_its_other_columns() -> None:
    page = shows("title", "tags", "owner", "version", "content", text="content")
    raw = {"title": "Plan", "tags": ["a", "b"], "owner": {"id": 1}, "version": 0, "content": "# Plan\n\nDo."}
    assert compact(raw, page) == 'title: Plan\ntags: a, b\nowner: {"id":1}\nversion: 0\n\n# Plan\n\nDo.'
    assert compact(raw | {"content": None}, page) == 'title: Plan\ntags: a, b\nowner: {"id":1}\nversion: 0'
    assert compact({"content": "Only."}, page) == "Only."


@pytest.mark.parametrize("title", ["Plan\nowner: root", "Plan\r\nowner: root", "Plan\u2028owner: root", "Plan\n"])
def test_no_column_of_a_document_adds_another_one(title: str) -> None:
    page = shows("title", "tags", "owner", "content", text="content")
    text = compact({"title": title, "tags": [title], "owner": "uma", "content": "Do."}, page)
    titles, tags, owner, *_ = text.split("\n")
    assert (json.loads(titles.removeprefix("title: ")), json.loads(tags.removeprefix("tags: "))) == (title, [title])
    assert owner == "owner: uma"


def test_minified_keeps_every_character() -> None:
    assert compact_json({"ü": ["設計", 1]}) == '{"ü":["設計",1]}'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-12-01T00:00:00.0000000", "2026-12-01T00:00:00"),
        ("2026-01-18T23:45:00.000+0000", "2026-01-18T23:45:00+0000"),
        ("2026-01-18T23:45:00.000Z", "2026-01-18T23:45:00Z"),
        ("2026-01-18T23:45:00.050Z", "2026-01-18T23:45:00.050Z"),
        ("at 2026-01-18T23:45:00.000Z", "at 2026-01-18T23:45:00.000Z"),
    ],
)
def test_a_moment_is_shown_without_a_fraction_of_zeros(written: str, read: str) -> None:
    assert compact({"due": written}, shows("due")) == f'due: "{read}"'


def test_the_clients_choice_of_a_form_wins_over_that_of_the_first_role_that_has_one() -> None:
    roles = (Role("plain"), Role("tables", format="toon"), Role("programs", format="json"))
    caller = Caller("acme", "uma", Subject("i", "uma"), "user", roles)
    assert caller.answer_format == "toon"
    assert replace(caller, format="markdown").answer_format == "markdown"
    assert replace(caller, roles=roles[:1]).answer_format == "compact"
