"""Pruning: what carries no information, and declared noise, is left out, and nothing else."""

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpist.render.answer import compact, compact_json
from mcpist.render.pruning import Noise, prune
from mcpist.render.shows import shows
from tests.core.render.operations import count_calls
from tests.examples import examples

USER = {
    "login": "octocat",
    "id": 1,
    "node_id": "MDQ6",
    "url": "https://api/users/octocat",
    "html_url": "https://x/octocat",
}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": None, "b": "", "c": [], "d": {}, "e": 0, "f": False}, {"e": 0, "f": False}),
        ({"a": {"b": {"c": None}}, "d": {"e": {"f": 1}}}, {"d": {"e": {"f": 1}}}),
        ({"a": [None, {}, ""], "b": [None, 1]}, {"b": [None, 1]}),
        ([{"a": None}, {"a": 1}], [{}, {"a": 1}]),
        (5, 5),
    ],
)
def test_empty_values_are_left_out_at_any_depth_and_lists_keep_their_places(value: Any, kept: Any) -> None:
    assert prune(value) == kept


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["node_id"], {"login", "id", "url", "html_url"}),
        (["node_id", "*url"], {"login", "id"}),
        (["*_id", "*url", "!html_url"], {"login", "id", "html_url"}),
        (["owner.url"], {"login", "id", "node_id", "html_url"}),
        (["!url", "url"], {"login", "id", "node_id", "html_url"}),
        (["other.url", "ode_id", "log"], set(USER)),
    ],
)
def test_noise_is_left_out_by_the_end_of_its_path(patterns: list[str], kept: set[str]) -> None:
    assert prune({"items": [{"owner": USER}]}, Noise(patterns))["items"][0]["owner"].keys() == kept


def test_an_object_of_nothing_but_noise_is_kept() -> None:
    subject = {"title": "Fix", "subject": {"url": "https://api/issues/1", "node_id": "x"}}
    assert prune({"url": "https://api/threads/2", **subject}, Noise(["url", "node_id"])) == subject


PARTS = st.sampled_from(["a", "b", "url", "a_url", "*", "?", "[ab]", "[", "]", "", "."])
PATTERNS = st.lists(st.builds("{}{}".format, st.sampled_from(["", "!"]), st.lists(PARTS, min_size=1).map("".join)))


@settings(max_examples=examples(200))
@given(PATTERNS, st.lists(st.sampled_from(["a", "b", "url", "a_url", "[", "x"]), min_size=1).map(".".join))
def test_the_last_pattern_that_matches_the_end_of_a_path_counts(patterns: list[str], path: str) -> None:
    matching = [pattern for pattern in patterns if fnmatchcase(f".{path}", f"*.{pattern.removeprefix('!')}")]
    assert (f".{path}" in Noise(patterns)) == (bool(matching) and not matching[-1].startswith("!"))


def test_many_patterns_cost_no_operation_for_each_field() -> None:
    many = [*(f"name{n}" for n in range(20)), *(f"*_end{n}" for n in range(20)), *(f"a.*.b{n}" for n in range(10))]

    def calls(patterns: list[str], fields: int) -> int:
        value = {f"key{n}": {"id": n, "name": {"first": "a", "last": "b"}} for n in range(fields)}
        noise = Noise(patterns)
        return count_calls(lambda: prune(value, noise))

    assert len(many) == 50
    assert calls(many, 200) <= calls(["node_id"], 200) + 10
    assert calls(many, 400) <= 2 * calls(many, 200) + 10


def test_nested_objects_of_noise_alone_are_read_once() -> None:
    def nested(depth: int) -> Any:
        return {"in": nested(depth - 1), "node_id": None} if depth else {}

    def calls(depth: int) -> int:
        return count_calls(lambda: prune(nested(depth), Noise(["node_id"])))

    assert prune(nested(10), Noise(["node_id"])) == {}
    assert calls(16) < 3 * calls(8)


def test_declared_noise_is_left_out_of_an_answer_of_unknown_columns() -> None:
    raw = {"total": 2, "items": [USER, {**USER, "id": 2}]}
    quiet = compact(raw, shows("*", noise=["node_id", "*url", "!html_url"]))
    assert quiet == "total: 2\nitems*{login html_url}: octocat,https://x/octocat\nitems[2]{id}:\n  1\n  2"
    assert len(quiet) < 0.5 * len(compact(raw, shows("*"))) + 30 < len(compact_json(raw))
