"""The outline: all of a JSON value can be read from it, and it is short."""

import json
import time
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.render import outline as outline_module
from mcpist.render.outline import outline
from mcpist.render.outline_texts import quote
from mcpist.render.pruning import prune
from tests.core.render.operations import count_calls
from tests.core.render.reading import read
from tests.examples import examples

TEXT = st.text(max_size=6) | st.sampled_from(
    [
        "a,b",
        "a;b|c",
        "1",
        "-2.5e3",
        "true",
        "null",
        "a: b",
        "[0]",
        "{a}",
        "x}",
        '"',
        " x",
        "x\n",
        "\\",
        "{url}/x",
        "{a}",
        "x{y} z",
        "https://a.io/1",
        "https://a.io/v1/users/1",
        "https://a.io/v1/users/1/repos",
        "https://a.io/v1/users/1/repos{/id,page}",
        "https://a.io/v1/users/1.txt?a;b|c",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
WHO = {"login": "ada", "id": 1, "url": "https://a.io/v1/users/1"}
OBJECTS = st.sampled_from([WHO, WHO | {"id": True}, WHO | {"id": 2}])
NAMES = st.sampled_from(["id", "url", "a", "b", "a.b", "x y", "+1", "", "@type", "日付", "a,b", '"', "a=b", "c}", "[]"])
JSON = st.recursive(
    LEAVES | OBJECTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=30,
)
ROWS = st.lists(st.dictionaries(NAMES, JSON, max_size=4), min_size=2, max_size=4)
BASE = "https://api.example.com/users/1"


@settings(max_examples=examples(150), deadline=None)
@given(st.dictionaries(NAMES, JSON | ROWS, max_size=6) | ROWS | st.lists(JSON, max_size=5))
def test_every_value_and_its_path_can_be_read_from_an_outline(value: Any) -> None:
    kept = prune(value)
    if kept:
        assert _exact(read(outline(kept))) == _exact(kept)


def test_rows_become_a_table_with_objects_lists_and_shared_values_in_its_head() -> None:
    rows = [
        {
            "n": 7,
            "user": {"login": "hubot", "id": 1},
            "labels": [{"name": "bug", "color": "f00"}],
            "state": "in review",
        },
        {"n": 8, "user": {"login": "octocat", "id": 2}, "state": "in review", "tags": ["a", "b;c"]},
    ]
    assert outline({"total": 2, "page": 1, "size": 30, "items": rows}) == (
        "{total page size}: 2,1,30\n"
        'items[2]{n user{login id} labels[]{name color} state="in review" tags[]}:\n'
        " 7,hubot,1,bug|f00,\n"
        ' 8,octocat,2,,a;"b;c"'
    )


def test_a_list_of_one_object_is_its_row() -> None:
    row = {"id": "b1", "title": "Dune", "by": {"name": "Herbert"}}
    assert outline([row]) == "[0]{id title by{name}}: b1,Dune,Herbert"
    assert outline({"items": [row]}) == "items[0]{id title by{name}}: b1,Dune,Herbert"
    assert outline({"item": row}) == "item{id title by{name}}: b1,Dune,Herbert"


def test_objects_in_lists_of_lists_are_lines_and_not_json() -> None:
    value = {
        "blocks": [{"kind": "text", "parts": [{"kind": "line", "words": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}]}]
    }
    assert outline(value) == ("blocks[0]:\n kind: text\n parts[0]{kind words[]{a b}}: line,1|x;2|y")
    assert outline({"in": {"kinds": [], **value}}) == (
        "in:\n kinds[]: \n blocks[0]:\n  kind: text\n  parts[0]{kind words[]{a b}}: line,1|x;2|y"
    )


def test_lists_at_any_depth_become_tables() -> None:
    value = {"data": {"page": 1, "found": {"users": [{"id": n, "name": f"u{n}"} for n in range(3)], "size": 2}}}
    assert outline(value) == ("data:\n page: 1\n found:\n  users[3]{id name}:\n   0,u0\n   1,u1\n   2,u2\n  size: 2")


def test_the_modules_own_example_is_what_it_writes() -> None:
    assert outline_module.__doc__
    written = "\n".join(line[4:] for line in outline_module.__doc__.split("\n") if line.startswith("    "))
    assert outline(read(written)) == written


def test_short_fields_are_rows_before_the_longer_ones() -> None:
    names = [f"field{number}" for number in range(10)]
    value = {
        "notes": "x, y",
        "long": "z" * 100,
        **{name: number for number, name in enumerate(names)},
        "in full": "a b",
    }
    assert outline(value) == (
        f"{{{' '.join(names[:8])}}}: 0,1,2,3,4,5,6,7\n"
        f'notes: x, y\nlong: {"z" * 100}\nfield8: 8\nfield9: 9\n"in full": a b'
    )


@pytest.mark.parametrize("place", ["rows", "objects", "lists"])
def test_rows_without_anything_in_common_take_no_time_for_each_pair_of_them(place: str) -> None:
    def value(size: int) -> Any:
        rows = [{f"k{number}": number} for number in range(size)]
        return {
            "rows": rows,
            "objects": [{"in": row, "n": 1} for row in rows],
            "lists": [{"in": rows, "n": 1}, {"in": rows, "n": 2}],
        }[place]

    assert read(outline(value(1_000))) == value(1_000)
    assert count_calls(lambda: outline(value(2_000))) < 2.5 * count_calls(lambda: outline(value(1_000)))


@pytest.mark.parametrize("path", ["/{}", "/v1/{}/x.y?a#b", "/" * 2_000 + "{}"])
def test_addresses_and_objects_are_not_compared_with_each_other(path: str) -> None:
    def value(size: int) -> Any:
        numbers = range(size)
        urls = {f"u{number}": "https://example.com" + path.format(number) for number in numbers}
        return urls | {"in": {"url": "https://example.com", "all": [{"id": n, "b": n, "c": 1} for n in numbers]}}

    assert read(outline(value(500))) == value(500)
    assert count_calls(lambda: outline(value(1_000))) < 2.5 * count_calls(lambda: outline(value(500)))
    assert count_calls(lambda: outline(value(500))) < 50_000


def test_many_fields_with_the_same_value_share_a_line_in_no_time() -> None:
    value = dict.fromkeys((f"{'k' * 500}{number}" for number in range(20_000)), "same")
    began = time.process_time()
    assert outline(value) == f"{' '.join(value)}: same"
    assert time.process_time() - began < 1  # second, where copying the line for each name takes more


def test_what_is_nested_deeply_is_json_without_a_margin_for_each_line() -> None:
    rows: Any = {"rows": [{"id": number} for number in range(1_000)]}
    value = reduce(lambda inner, level: {"in": inner, "level": [level]}, range(60), rows)
    assert read(outline(value)) == value
    assert len(outline(value)) < 2 * len(json.dumps(value))


def test_rows_with_little_in_common_are_written_one_by_one() -> None:
    rows = [{f"{place}{number}": number for number in range(4)} for place in "abc"]
    assert outline({"x": rows}) == (
        "x[0]{a0 a1 a2 a3}: 0,1,2,3\nx[1]{b0 b1 b2 b3}: 0,1,2,3\nx[2]{c0 c1 c2 c3}: 0,1,2,3"
    )


@pytest.mark.parametrize("urls", [["https://a.io/{b", "}"], ["", "a{x", "[};", ""], [{"a": "x{", "b": "}"}] * 2])
def test_braces_of_two_elements_are_no_pair(urls: list[Any]) -> None:
    rows = [{"urls": urls, "id": number} for number in range(2)]
    assert read(outline(rows)) == rows


def test_fields_with_the_same_value_share_a_line() -> None:
    who = {"login": "octocat", "id": 1}
    assert outline({"draft": False, "user": who, "locked": False, "creator": who}) == (
        "draft locked: false\nuser creator{login id}: octocat,1"
    )
    assert outline({"a": {"id": 1, "n": 2}, "b": {"id": True, "n": 2}}) == "a{id n}: 1,2\nb{id n}: true,2"


@pytest.mark.parametrize(
    ("url", "written"),
    [
        (f"{BASE}/repos", "{url}/repos"),
        (f"{BASE}/gists{{/id}}", "{url}/gists{/id}"),
        (f"{BASE}.diff", "{url}.diff"),
        (f"{BASE}?page=2", "{url}?page=2"),
        (f"{BASE}7", f"{BASE}7"),
        (f"{BASE}/a,b", f'"{BASE}/a,b"'),
        ("https://example.com/1", "https://example.com/1"),
    ],
)
def test_a_url_that_another_field_begins_is_shortened(url: str, written: str) -> None:
    value = {"page": {"other": url, "url": BASE}}
    assert outline(value) == f"page{{other url}}: {written},{BASE}"
    assert read(outline(value)) == value


def test_a_url_begins_with_a_field_of_the_nearest_object_around_it() -> None:
    value = {"url": BASE, "self": {"a": {"url": f"{BASE}/a", "next": f"{BASE}/a/2"}, "b": f"{BASE}/b", "up": BASE}}
    assert outline(value) == f"url: {BASE}\nself{{a{{url next}} b up}}: {{up}}/a,{{url}}/2,{{up}}/b,{{url}}"
    assert read(outline(value)) == value


def test_the_rows_of_a_table_share_what_follows_in_their_urls() -> None:
    value = [{"url": f"{BASE}{number}", "all": f"{BASE}{number}/all{{/id}}"} for number in range(3)]
    assert outline(value) == f"[3]{{url all={{url}}/all{{/id}}}}:\n {BASE}0\n {BASE}1\n {BASE}2"
    assert read(outline(value)) == value


def test_an_object_that_a_field_around_it_is_has_the_name_of_that_field() -> None:
    who = {"login": "octocat", "id": 1, "admin": False}
    value = {"user": who, "milestone": {"number": 1, "creator": who}, "assignees": [who], "seen": [{"by": who, "n": 1}]}
    assert outline(value) == (
        "user{login id admin}: octocat,1,false\n"
        "milestone{number creator}: 1,{user}\n"
        "assignees[]: {user}\n"
        "seen[0]{by n}: {user},1"
    )
    assert read(outline(value)) == value


@pytest.mark.parametrize("line_end", ["\x0b", "\x1e", "\x85", "\u2028", "\u2029"])
def test_a_text_is_quoted_where_some_readers_take_a_character_for_the_end_of_its_line(line_end: str) -> None:
    text = f"hello{line_end}role: admin"
    written = quote(text)
    assert outline({"said": text}) == f"said: {written}"
    assert outline({"said": [text, 1]}) == f"said[]: {written},1"
    rows = [{"id": number, "said": [text]} for number in range(2)]
    assert outline(rows) == f"[2]{{id said[]}}:\n 0,{written}\n 1,{written}"


def test_a_text_that_looks_like_a_reference_or_a_number_is_quoted() -> None:
    value = {"url": BASE, "a": "{url}/x", "b": "12", "c": "true", "d": "a\nb", "e": "", "f": None, "g": "007"}
    assert outline(value) == f'{{url a b c d e f g}}: {BASE},"{{url}}/x","12","true","a\\nb","",null,007'


def _exact(value: Any) -> str:
    """Return JSON as a text, in which 1 and true differ, and that does not depend on the order of fields."""
    return json.dumps(prune(_without_null_rows(value)), sort_keys=True)


def _without_null_rows(value: Any) -> Any:
    """Return JSON in which a null among objects is an empty object, as a table has it."""
    if isinstance(value, dict):
        return {name: _without_null_rows(inner) for name, inner in value.items()}
    if isinstance(value, list):
        is_rows = {type(None), dict}.issuperset(map(type, value))
        return [{} if is_rows and inner is None else _without_null_rows(inner) for inner in value]
    return value
