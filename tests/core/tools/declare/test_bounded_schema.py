"""No schema of a stranger holds a sandbox, and an ordinary one means what JSON Schema says."""

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.tools.declare.bounded_schema import OverBudget, all_errors, is_schema, schema_errors

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def doubling(levels: int) -> dict[str, Any]:
    """A schema of which each level refers twice to the next one."""
    definitions: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(40), {}),
        ({**doubling(40), "unevaluatedProperties": False}, {"a": 1}),
        ({"items": {"allOf": [{"minimum": 1}] * 1_000}}, [0] * 10_000),
        ({"items": {"$schema": DIALECT, "allOf": [{"minimum": 1}] * 1_000}}, [0] * 10_000),
    ],
)
def test_a_schema_that_multiplies_its_work_ends_at_the_budget(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(OverBudget):
        all_errors(schema, value)


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|aa)+$", r"(.*a){25}$", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties", "additionalProperties"])
def test_no_pattern_hangs(pattern: str, keyword: str) -> None:
    text = "a" * 50_000 + "!"
    schema: dict[str, Any] = {"pattern": pattern} if keyword == "pattern" else {"patternProperties": {pattern: False}}
    value: Any = text if keyword == "pattern" else {text: 1}
    started = time.process_time()
    all_errors({**schema, "additionalProperties": False} if keyword == "additionalProperties" else schema, value)
    assert time.process_time() - started < 5  # seconds, where backtracking takes years


def test_long_lists_are_compared_with_themselves_in_linear_time() -> None:
    items = [{"number": number} for number in range(30_000)]
    assert all_errors({"uniqueItems": True}, items) == []
    (error,) = all_errors({"uniqueItems": True}, [*items, {"number": 7}])
    assert error.validator == "uniqueItems"


def test_a_pattern_that_our_engine_does_not_know_is_left_to_the_service() -> None:
    lookahead = {"pattern": "^(?!private)", "patternProperties": {"^(?=a)": False}, "additionalProperties": False}
    assert all_errors(lookahead, "private") == []
    assert all_errors(lookahead, {"a": 1}) == []


def test_a_schema_is_checked_by_its_dialect_within_the_budget() -> None:
    long = {"required": [name for number in range(20_000) for name in (number, str(number))]}
    assert not is_schema(long)  # two kinds of values cannot be sorted: in squares this takes a minute
    with pytest.raises(OverBudget):
        schema_errors({"properties": {str(number): {"type": "string"} for number in range(10_000)}})


def test_a_schema_that_is_none_by_its_dialect_is_known() -> None:
    assert is_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    assert not is_schema({"type": "object", "properties": {"a": {"type": "text"}}})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "b1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "x1"]), inner, max_size=3),
    max_leaves=6,
)
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array", ["string", "null"]]),
        "minimum": st.integers(-2, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$", "[0-9]+"]),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    },
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^x", "1$"]), inner, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_an_ordinary_schema_accepts_what_json_schema_accepts(schema: dict[str, Any], value: Any) -> None:
    valid = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (all_errors(schema, value) == []) == valid
