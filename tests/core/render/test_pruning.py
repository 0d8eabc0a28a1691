"""Pruning: what carries no information, and declared noise, is left out, and nothing else."""

from typing import Any

import pytest

from mcpist.render.answer import compact, compact_json
from mcpist.render.pruning import Noise, prune
from mcpist.render.shows import shows

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


def test_many_paths_do_not_make_the_memory_of_noise_grow_without_end() -> None:
    noise = Noise(["*_url"])
    for number in range(10_500):
        assert f".key{number}.html_url" in noise
    assert len(noise._known) <= 10_000


def test_declared_noise_is_left_out_of_an_answer_of_unknown_columns() -> None:
    raw = {"total": 2, "items": [USER, {**USER, "id": 2}]}
    quiet = compact(raw, shows("*", noise=["node_id", "*url", "!html_url"]))
    assert quiet == "total: 2\nitems[2]{login=octocat,id,html_url=https://x/octocat}:\n 1\n 2"
    assert len(quiet) < 0.5 * len(compact(raw, shows("*"))) + 30 < len(compact_json(raw))
