from urllib.parse import unquote

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call, given, path, path_template


@examples(st.text() | st.sampled_from(["..", "a/../b", "%2e%2e", "a?b#c", ".\\..", "{x}", "https://x", "@x"]))
def test_no_part_can_leave_its_place(value: str) -> None:
    try:
        made = path("/items/{item_id}/parts", item_id=value)
    except InvalidRequest:
        assert not value or {".", ".."} & set(value.replace("\\", "/").split("/"))
        return
    before, part, after = made.split("/")[1:]
    assert (before, after) == ("items", "parts")
    assert part not in ("", ".", "..")
    assert not set(part) & set("?#\\ @:;&+")
    assert unquote(part) == value


@examples(st.lists(st.text()))
def test_a_list_is_as_many_segments_and_none_leads_up(segments: list[str]) -> None:
    try:
        made = path("/files/{file}", file=segments)
    except InvalidRequest:
        return
    assert made.count("/") == 1 + max(1, len(segments))
    assert [unquote(part) for part in made.removeprefix("/files/").split("/")] == (segments or [""])
    assert not {".", ".."} & set(unquote(made).split("/"))


@pytest.mark.parametrize("value", ["", ".", "..", "../x", "a/../b", "a\\..\\b", "a/.", ["a", "..", "b"], ["a/../b"]])
def test_an_empty_part_and_one_that_leads_up_are_refused_by_their_name(value: str | list[str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        path("/items/{item_id}", item_id=value)
    assert refused.value.details["field"] == "item_id"


def test_numbers_and_dots_in_names_stay() -> None:
    assert path("/r/{name}/{n}", name="a.b..c", n=7) == "/r/a.b..c/7"


def test_a_template_takes_its_parts_in_order_and_a_rest_with_parts_of_its_own() -> None:
    page = path_template("/{space}/pages/{page}")
    assert page("a b", 7) == "/a%20b/pages/7"
    assert page("x", 7, "/versions/{version}", version="2?") == "/x/pages/7/versions/2%3F"
    with pytest.raises(InvalidRequest) as refused:
        page("x", "..")
    assert refused.value.details["field"] == "page"
    with pytest.raises(ValueError, match="zip"):
        page("x")


def test_a_path_must_begin_with_a_slash_or_it_would_change_the_host() -> None:
    for bad in (".evil.example.com/", "@evil.example.com", ""):
        with pytest.raises(ValueError, match="slash"):
            Call("GET", bad)


def test_only_what_is_given_is_sent() -> None:
    assert given(a=None, b=0, c="", d=False, e=[]) == {"b": 0, "c": "", "d": False, "e": []}


def test_a_call_does_not_show_its_headers() -> None:
    assert "s3cret" not in repr(Call("GET", "/", headers={"apikey": "s3cret"}, origin="https://a.example"))
