"""Compact answers: all of a JSON value can be read from them, they are TOON, and they are short."""

import json
import re
import time
from functools import reduce
from typing import Any

import pytest
import toon_format
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.render import toon as toon_module
from mcpist.render.pruning import prune
from mcpist.render.read import read
from mcpist.render.toon import compact_toon, toon
from mcpist.render.toon_texts import quote
from tests.core.render.operations import count_calls
from tests.examples import examples

TEXT = st.text(max_size=6) | st.sampled_from(
    [
        "a,b",
        "a;b|c",
        "1",
        "-0",
        "05",
        "- x",
        "# x",
        "a|b",
        "\x08\x0c\x7f",
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
NAMES = st.sampled_from(
    [
        "id",
        "url",
        "a",
        "b",
        "a.b",
        "x y",
        "+1",
        "",
        "@type",
        "日付",
        "a,b",
        '"',
        "a=b",
        "c}",
        "[]",
        "16x16",
        "items",
        "a*",
        "a{b}",
        "a()",
        "-",
    ]
)
JSON = st.recursive(
    LEAVES | OBJECTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=30,
)
ROWS = st.lists(st.dictionaries(NAMES, JSON, max_size=4), min_size=2, max_size=4)
BASE = "https://api.example.com/users/1"


DOCUMENTS = st.dictionaries(NAMES, JSON | ROWS, max_size=6) | ROWS | st.lists(JSON, max_size=5)
# What some readers take for the end of a line, or take away from both ends, is in quotes here, not where others write.
IN_QUOTES = re.compile(r"[\x7f-\x9f\u2028\u2029]|^[^\S ]|[^\S ]$")
PLAIN_LEAVES = LEAVES.filter(lambda leaf: leaf is not None and not IN_QUOTES.search(str(leaf)))
PLAIN_ROWS = st.lists(NAMES, min_size=1, max_size=6, unique=True).flatmap(
    lambda names: st.lists(
        st.fixed_dictionaries(dict.fromkeys(names, PLAIN_LEAVES)),
        min_size=1,
        max_size=4,
    )
)


@settings(max_examples=examples(150), deadline=None)
@given(DOCUMENTS)
def test_every_value_can_be_read_and_toon_reads_the_additions_as_names_and_texts(value: Any) -> None:
    kept = prune(value)
    if kept:
        text = compact_toon(kept)
        assert _exact(read(text)) == _exact(_document(kept)), text
        assert isinstance(toon_format.loads(text), dict), text


@settings(max_examples=examples(100), deadline=None)
@given(DOCUMENTS)
def test_toon_without_additions_is_what_others_read(value: Any) -> None:
    kept = prune(value)
    if kept:
        text = toon(kept)
        assert _exact(toon_format.loads(text)) == _exact(read(text)) == _exact(_document(kept)), text


@settings(max_examples=examples(100), deadline=None)
@given(PLAIN_ROWS)
def test_a_plain_table_is_toon_to_the_letter(rows: list[dict[str, Any]]) -> None:
    assert toon(rows) == toon_format.dumps({"items": rows})
    text = compact_toon(rows)
    read_by_others = toon_format.loads(text)
    has_additions = list(read_by_others) != ["items"] or read_by_others["items"][0].keys() != rows[0].keys()
    if not has_additions and "{" not in text.partition("\n")[2]:
        assert [prune(row) for row in read_by_others["items"]] == [prune(row) for row in rows]


def test_rows_become_a_table_with_objects_lists_and_shared_values() -> None:
    labels = [{"name": "bug", "color": "f00"}]
    rows = [
        {"n": 7, "user": {"login": "hubot", "id": 1}, "labels": labels, "state": "in review, again"},
        {"n": 8, "user": {"login": "octocat", "id": 2}, "state": "in review, again", "tags": ["a", "b;c"]},
    ]
    text = compact_toon({"total": 2, "page": 1, "size": 30, "items": rows})
    assert text == (
        "{total page size}: 2,1,30\n"
        'items*{state}: "in review, again"\n'
        "items[2]{n,user{login,id},labels(name color),tags()}:\n"
        "  7,hubot,1,bug|f00,\n"
        '  8,octocat,2,,"a;\\"b;c\\""'
    )
    assert toon_format.loads(text) == {
        "{total page size}": "2,1,30",
        "items*{state}": "in review, again",
        "items": [
            {"n": 7, "user": {"login": "hubot", "id": 1}, "labels(name color)": "bug|f00", "tags()": ""},
            {"n": 8, "user": {"login": "octocat", "id": 2}, "labels(name color)": "", "tags()": 'a;"b;c"'},
        ],
    }


def test_a_plain_list_is_the_table_that_references_name() -> None:
    row = {"number": 7, "title": "Dune", "state": "open"}
    assert compact_toon([row, row | {"number": 8}]) == "items[2]{number,title,state}:\n  7,Dune,open\n  8,Dune,open"
    assert compact_toon([row]) == compact_toon({"items": [row]}) == "items[1]{number,title,state}:\n  7,Dune,open"
    assert compact_toon({"item": row}) == "item{number title state}: 7,Dune,open"


def test_objects_in_lists_of_lists_are_lines_and_not_json() -> None:
    value = {
        "blocks": [{"kind": "text", "parts": [{"kind": "line", "words": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}]}]
    }
    assert compact_toon(value) == "blocks[1]:\n  - kind: text\n    parts[1]:\n      - {kind words(a b)}: line,1|x;2|y"
    assert compact_toon({"in": [[1, 2], [{"a": 1}]], "n": 1}) == 'n: 1\n{}: {"in":[[1,2],[{"a":1}]]}'


def test_the_modules_own_example_is_what_it_writes() -> None:
    assert toon_module.__doc__
    written = "\n".join(line[4:] for line in toon_module.__doc__.split("\n") if line.startswith("    "))
    assert compact_toon(read(written)) == written
    assert toon_format.loads(written)


@pytest.mark.parametrize(
    "text",
    ["items[2]{a}:\n  1", "items[1]{a}:\n  1,2", "{a b}: 1", "a: 1\n\nb: 2", "x[1]:\n  y", "a: 1\n    b: 2", "{x}y"],
)
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)


def test_short_fields_are_rows_before_the_longer_ones() -> None:
    names = [f"field{number}" for number in range(10)]
    value = {"notes": "x, y", "long": "z" * 130, **{name: number for number, name in enumerate(names)}, "in full": "a"}
    assert compact_toon(value) == (
        f'{{{" ".join(names[:9])} notes}}: 0,1,2,3,4,5,6,7,8,"x, y"\nlong: {"z" * 130}\nfield9: 9\n"in full": a'
    )


def test_short_lists_stand_in_the_row_but_a_table_stays_one() -> None:
    flat = [{"id": 1, "name": "a"}]
    value = {"id": 7, "tags": ["x", "y"], "rows": flat, "in": {"id": 8, "tags": ["z"], "rows": flat, "n": [1, 2, 3]}}
    assert compact_toon(value) == (
        "{id tags()}: 7,x;y\nrows[1]{id,name}:\n  1,a\nin{id tags() rows(id name) n()}: 8,z,1|a,1;2;3"
    )
    deep = {"in": {**{f"f{number}": -number for number in range(6)}, **value["in"]}}
    assert compact_toon(deep) == (
        "in:\n  {f0 f1 f2 f3 f4 f5 id tags() rows(id name)}: 0,-1,-2,-3,-4,-5,8,z,1|a\n  n[3]: 1,2,3"
    )
    assert read(compact_toon(value)) == value
    assert read(compact_toon(deep)) == deep


@pytest.mark.parametrize("place", ["rows", "objects", "lists"])
def test_rows_without_anything_in_common_take_no_time_for_each_pair_of_them(place: str) -> None:
    def value(size: int) -> Any:
        rows = [{f"k{number}": number} for number in range(size)]
        return {
            "rows": rows,
            "objects": [{"in": row, "n": 1} for row in rows],
            "lists": [{"in": rows, "n": 1}, {"in": rows, "n": 2}],
        }[place]

    assert read(compact_toon(value(1_000))) == _document(value(1_000))
    assert count_calls(lambda: compact_toon(value(2_000))) < 2.5 * count_calls(lambda: compact_toon(value(1_000)))


@pytest.mark.parametrize("path", ["/{}", "/v1/{}/x.y?a#b", "/" * 2_000 + "{}"])
def test_addresses_and_objects_are_not_compared_with_each_other(path: str) -> None:
    def value(size: int) -> Any:
        numbers = range(size)
        urls = {f"u{number}": "https://example.com" + path.format(number) for number in numbers}
        return urls | {"in": {"url": "https://example.com", "all": [{"id": n, "b": n, "c": 1} for n in numbers]}}

    assert read(compact_toon(value(500))) == value(500)
    assert count_calls(lambda: compact_toon(value(1_000))) < 2.5 * count_calls(lambda: compact_toon(value(500)))
    assert count_calls(lambda: compact_toon(value(500))) < 50_000


def test_many_fields_with_the_same_value_share_a_line_in_no_time() -> None:
    value = dict.fromkeys((f"{'k' * 500}{number}" for number in range(20_000)), "same")
    began = time.process_time()
    assert compact_toon(value) == f"{' '.join(value)}: same"
    assert time.process_time() - began < 1  # second, where copying the line for each name takes more


def test_what_is_nested_deeply_is_json_without_a_margin_for_each_line() -> None:
    rows: Any = {"rows": [{"id": number} for number in range(1_000)]}
    value = reduce(lambda inner, level: {"in": inner, "level": [level]}, range(60), rows)
    assert read(compact_toon(value)) == value
    assert len(compact_toon(value)) < 2 * len(json.dumps(value))


def test_rows_with_little_in_common_are_written_one_by_one() -> None:
    rows = [{f"{place}{number}": number for number in range(4)} for place in "abc"]
    assert compact_toon({"x": rows}) == (
        "x[3]:\n  - {a0 a1 a2 a3}: 0,1,2,3\n  - {b0 b1 b2 b3}: 0,1,2,3\n  - {c0 c1 c2 c3}: 0,1,2,3"
    )


@pytest.mark.parametrize("urls", [["https://a.io/{b", "}"], ["", "a{x", "[};", ""], [{"a": "x{", "b": "}"}] * 2])
def test_braces_of_two_elements_are_no_pair(urls: list[Any]) -> None:
    rows = [{"urls": urls, "id": number} for number in range(2)]
    assert read(compact_toon(rows)) == {"items": rows}


def test_fields_with_the_same_value_share_a_line() -> None:
    who = {"login": "octocat", "id": 1}
    assert compact_toon({"draft": False, "user": who, "locked": False, "creator": who}) == (
        "draft locked: false\nuser creator{login id}: octocat,1"
    )
    assert compact_toon({"a": {"id": 1, "n": 2}, "b": {"id": True, "n": 2}}) == "a{id n}: 1,2\nb{id n}: true,2"


def test_a_long_text_that_a_field_of_the_same_object_has_is_written_once() -> None:
    when = "2026-11-27T09:30:00Z"
    value = {"mark": {"made": when, "at": {"seen": when}, "read": when, "n": 1, "m": 1}, "made": when, "read": when}
    text = compact_toon(value)
    assert text == f"mark{{made at{{seen}} read n m}}: {when},{when},{{made}},1,1\nmade read: {when}"
    assert read(text) == value
    assert toon_format.loads(text)["made read"] == when


def test_names_with_dots_stand_in_rows_but_not_in_the_heads_of_lists() -> None:
    value = {"id": 7, "tasks@odata.count": 1, "in": {"a.b": 2, "c": "x"}, "list": [{"d.e": {"f.g": 3}, "h": {"i": 4}}]}
    text = compact_toon(value)
    assert text == ("{id tasks@odata.count}: 7,1\nin{a.b c}: 2,x\nlist[1]:\n  - {d.e{f.g} h{i}}: 3,4")
    assert read(text) == value


@pytest.mark.parametrize(
    ("url", "written"),
    [
        (f"{BASE}/repos", "{url}/repos"),
        (f"{BASE}/gists{{/id}}", "{url}/gists{/id}"),
        (f"{BASE}?page=2", f"{BASE}?page=2"),
        (f"{BASE}7", f"{BASE}7"),
        (f"{BASE}/a,b", f'"{BASE}/a,b"'),
        ("https://example.com/1", "https://example.com/1"),
    ],
)
def test_a_url_that_another_field_begins_is_shortened(url: str, written: str) -> None:
    value = {"page": {"other": url, "url": BASE}}
    assert compact_toon(value) in {f"page{{other url}}: {written},{BASE}", f"page{{url other}}: {BASE},{written}"}
    assert read(compact_toon(value)) == value


def test_a_url_begins_with_a_field_of_the_nearest_object_around_it() -> None:
    value = {"url": BASE, "self": {"a": {"url": f"{BASE}/a", "next": f"{BASE}/a/2"}, "b": f"{BASE}/b", "up": BASE}}
    assert compact_toon(value) == f'url: "{BASE}"\nself{{a{{url next}} b up}}: {{up}}/a,{{url}}/2,{{up}}/b,{{url}}'
    assert read(compact_toon(value)) == value


def test_the_rows_of_a_table_share_what_follows_in_their_urls() -> None:
    value = [{"url": f"{BASE}{number}", "all": f"{BASE}{number}/all{{/id}}"} for number in range(3)]
    rows = "".join(f'\n  "{BASE}{number}"' for number in range(3))
    assert compact_toon(value) == f"items*{{all}}: {{url}}/all{{/id}}\nitems[3]{{url}}:{rows}"
    assert read(compact_toon(value)) == {"items": value}


def test_an_object_that_a_field_around_it_is_has_the_name_of_that_field() -> None:
    who = {"login": "octocat", "id": 1, "admin": False}
    value = {"user": who, "milestone": {"number": 1, "creator": who}, "assignees": [who], "seen": [{"by": who, "n": 1}]}
    assert compact_toon(value) == (
        "user{login id admin}: octocat,1,false\n"
        "milestone{number creator}: 1,{user}\n"
        "assignees[1]: {user}\n"
        "seen[1]:\n  - {by n}: {user},1"
    )
    assert read(compact_toon(value)) == value


@pytest.mark.parametrize("line_end", ["\x0b", "\x1e", "\x85", "\u2028", "\u2029"])
def test_a_text_is_quoted_where_some_readers_take_a_character_for_the_end_of_its_line(line_end: str) -> None:
    # Without the colon, for which it would be in quotes anyway.
    text = f"hello{line_end}admin"
    written = quote(text)
    assert compact_toon({"said": text}) == f"said: {written}"
    assert compact_toon({"said": [text, 1]}) == f"said[2]: {written},1"
    assert compact_toon({"a": 1, "b": 2, "said": text}) == f"{{a b said}}: 1,2,{written}"
    rows = [{"id": number, "said": [text, number]} for number in range(2)]
    cells = [quote(f"{written};{number}") for number in range(2)]
    assert compact_toon(rows) == f"items[2]{{id,said()}}:\n  0,{cells[0]}\n  1,{cells[1]}"


def test_a_text_that_looks_like_a_reference_or_a_number_is_quoted() -> None:
    value = {"url": BASE, "a": "{url}/x", "b": "12", "c": "true", "d": "a\nb", "e": "", "f": None, "g": "007"}
    assert compact_toon(value) == f'{{url a b c d e f g}}: {BASE},"{{url}}/x","12","true","a\\nb","",null,"007"'


def _document(value: Any) -> Any:
    """Return a value as it is read: a list is the field `items`."""
    return {"items": value} if isinstance(value, list) else value


def _exact(value: Any) -> str:
    """Return JSON as a text, in which 1 and true differ, but not 1 and 1.0, and that has its fields in any order."""
    return json.dumps(prune(_plain(value)), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value
