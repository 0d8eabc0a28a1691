"""YAML from outside."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.bounded_yaml import load_yaml
from tests.core.files.test_values import json_values
from tests.faults import for_each


@for_each(
    ("text", "value"),
    [
        ("", None),
        ("a: yes", {"a": "yes"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: 010", {"a": 10}),
        ("[0x1F, 0o17, -3, 1.5, 1e3, .5]", [31, 15, -3, 1.5, 1000.0, 0.5]),
        ("[true, False, null, ~, '']", [True, False, None, None, ""]),
        ("{1: a, true: b, null: c, 0E0: d}", {"1": "a", "true": "b", "null": "c", "0E0": "d"}),
        ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        ("a: {<<: {x: 1, y: 2}, x: 3}", {"a": {"x": 3, "y": 2}}),
        ("a: {x: 3, <<: [{x: 1, y: 2}, {y: 4}]}", {"a": {"x": 3, "y": 2}}),
        ("&a 0x1F: 1\n*a : {*a : 2}".replace("*a :", "b:", 1), {"0x1F": 1, "b": {"0x1F": 2}}),
        ("a: .inf", {"a": ".inf"}),
        ("a: 1e999", {"a": "inf"}),
    ],
)
def test_yaml_is_read_to_values_of_json(text: str, value: Any) -> None:
    assert load_yaml(text) == value


@given(json_values(st.text("ab1.:-#&*%é\n")))
def test_json_is_yaml(value: Any) -> None:
    assert load_yaml(json.dumps(value)) == value


BOMB = "\n".join(["a0: &a0 [1, 1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40))])
MERGES = "\n".join(["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))])
CHAIN = "\n".join(["a0: &a0 1", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 1_100))])


@for_each(
    ("text", "problem"),
    [
        ("a: [", "line 2"),
        ("x: 1\nb: a: c", "line 2: mapping values"),
        ("a\0b", "a character that YAML does not allow"),
        ("a: &a [*a]", "line 1: the alias .a names nothing that ended"),
        (BOMB, "more than 1000000 values"),
        (MERGES, "more than 1000000 values"),
        (CHAIN, "line 101: it is nested more than 100 levels"),
        ("[" * 5_000, "nested more than 100 levels"),
        ("a: !!binary eA==", "line 1: binary has no place in JSON"),
        ("a: !!set {b}", "set has no place"),
        ("a: !!int x", "int has no place"),
        ("a: !!python/object:os.system x", "line 1: os.system has no place"),
        ("1: a\n'1': b", "line 2: the key 1 is there twice"),
        ("- a\n---\n- b", "line 2"),
        ("{[1]: a}", "line 1: a key is no text"),
    ],
)
def test_bad_yaml_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        load_yaml(text)


def test_the_limits_can_be_smaller() -> None:
    with pytest.raises(ValueError, match="more than 3 values"):
        load_yaml("[1, 2, 3]", max_values=3)
    with pytest.raises(ValueError, match="more than 1 levels"):
        load_yaml("[[1]]", max_depth=1)
