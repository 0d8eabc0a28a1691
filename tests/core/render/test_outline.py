"""The outline: all of a JSON value can be read from it, and it is short."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.render.outline import outline
from mcpist.render.pruning import prune
from tests.core.render.reading import read

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
        "https://a.io/1",
        "\\",
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
NAMES = st.sampled_from(["id", "url", "a", "b", "a.b", "x y", "+1", "", "@type", "日付", "a,b", '"', "a=b", "c}", "[]"])
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=30,
)
ROWS = st.lists(st.dictionaries(NAMES, JSON, max_size=4), min_size=2, max_size=4)
BASE = "https://api.example.com/users/1"


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, JSON | ROWS, max_size=6) | ROWS | st.lists(JSON, max_size=5))
def test_every_value_and_its_path_can_be_read_from_an_outline(value: Any) -> None:
    kept = prune(value)
    if kept:
        assert prune(_without_null_rows(read(outline(kept)))) == prune(_without_null_rows(kept))


def test_rows_become_a_table_with_objects_lists_and_shared_values_in_its_head() -> None:
    rows = [
        {"n": 7, "user": {"login": "hubot", "id": 1}, "labels": [{"name": "bug", "color": "f00"}], "state": "open"},
        {"n": 8, "user": {"login": "octocat", "id": 2}, "state": "open", "tags": ["a", "b;c"]},
    ]
    assert outline({"total": 2, "items": rows}) == (
        "total: 2\n"
        "items[2]{n,user{login,id},labels[]{name,color},state=open,tags[]}:\n"
        " 7,hubot,1,bug|f00,\n"
        ' 8,octocat,2,,a;"b;c"'
    )


def test_a_list_of_one_row_is_a_table_of_one_row() -> None:
    row = {"id": "b1", "title": "Dune", "by": {"name": "Herbert"}}
    assert outline([row]) == "[1]{id,title,by{name}}:\n b1,Dune,Herbert"
    assert outline({"items": [row]}) == "items[1]{id,title,by{name}}:\n b1,Dune,Herbert"
    assert outline({"item": row}) == "item{id,title,by{name}}: b1,Dune,Herbert"


def test_lists_at_any_depth_become_tables() -> None:
    value = {"data": {"page": 1, "found": {"users": [{"id": n, "name": f"u{n}"} for n in range(3)], "size": 2}}}
    assert outline(value) == ("data:\n page: 1\n found:\n  users[3]{id,name}:\n   0,u0\n   1,u1\n   2,u2\n  size: 2")


class Text(str):
    """A text that counts how often its value is looked at."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Text.looks += 1
        return super().__hash__()

    def startswith(self, *given: Any) -> bool:
        Text.looks += 1
        return super().startswith(*given)


@pytest.mark.parametrize("place", ["rows", "objects", "lists"])
def test_rows_without_anything_in_common_take_no_time_for_each_pair_of_them(place: str) -> None:
    rows = [{Text(f"k{number}"): number} for number in range(1_000)]
    value: Any = {
        "rows": rows,
        "objects": [{"in": row, "n": 1} for row in rows],
        "lists": [{"in": rows, "n": 1}, {"in": rows, "n": 2}],
    }[place]
    Text.looks = 0
    written = outline(value)
    assert Text.looks < 50_000
    assert read(written) == value


def test_addresses_without_anything_in_common_are_not_all_compared() -> None:
    value = {f"u{number}": Text(f"https://{number}.example.com") for number in range(1_000)}
    Text.looks = 0
    written = outline(value)
    assert Text.looks < 100_000
    assert read(written) == value


def test_rows_with_little_in_common_are_written_one_by_one() -> None:
    rows = [{f"{place}{number}": number for number in range(4)} for place in "abc"]
    assert outline({"x": rows}) == (
        "x[0]{a0,a1,a2,a3}: 0,1,2,3\nx[1]{b0,b1,b2,b3}: 0,1,2,3\nx[2]{c0,c1,c2,c3}: 0,1,2,3"
    )


def test_fields_with_the_same_value_share_a_line() -> None:
    who = {"login": "octocat", "id": 1}
    assert outline({"draft": False, "user": who, "locked": False, "creator": who}) == (
        "draft,locked: false\nuser,creator{login,id}: octocat,1"
    )


@pytest.mark.parametrize(
    ("url", "written"),
    [
        (f"{BASE}/repos", "{url}/repos"),
        (f"{BASE}/gists{{/id}}", "{url}/gists{/id}"),
        (f"{BASE}.diff", "{url}.diff"),
        (f"{BASE}7", f"{BASE}7"),
        ("https://example.com/1", "https://example.com/1"),
    ],
)
def test_a_url_that_another_field_begins_is_shortened(url: str, written: str) -> None:
    value = {"url": BASE, "other": url}
    assert outline(value) == f"url: {BASE}\nother: {written}"
    assert read(outline(value)) == value


def test_a_text_that_looks_like_a_shortened_url_or_a_number_is_quoted() -> None:
    value = {"url": BASE, "a": "{url}/x", "b": "12", "c": "true", "d": "a\nb", "e": "", "f": None}
    assert outline(value) == f'url: {BASE}\na: "{{url}}/x"\nb: "12"\nc: "true"\nd: "a\\nb"\ne: ""\nf: null'


def _without_null_rows(value: Any) -> Any:
    """Return JSON in which a null among objects is an empty object, as a table has it."""
    if isinstance(value, dict):
        return {name: _without_null_rows(inner) for name, inner in value.items()}
    if isinstance(value, list):
        is_rows = {type(None), dict}.issuperset(map(type, value))
        return [{} if is_rows and inner is None else _without_null_rows(inner) for inner in value]
    return value
