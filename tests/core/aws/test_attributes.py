from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpist.aws.attributes import INLINE, Attribute, decode, encode, pack, unpack

type Colour = Literal["red", "blue"]
type Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    height: float = 1.5


@dataclass(frozen=True, slots=True)
class Paint:
    colour: Colour
    ends_at: Annotated[int | None, Attribute("paint_ends_at")] = None


@dataclass(frozen=True, slots=True)
class Lid:
    size: Size | None


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    paint: Annotated[Paint, INLINE]
    is_open: bool = False
    seal: bytes | None = None
    size: Size | None = None
    labels: tuple[str, ...] = ()
    parts: tuple[Size, ...] = ()
    needs: tuple[frozenset[int], ...] = ()
    counts: Mapping[int, int] = field(default_factory=dict)
    params: Json = field(default_factory=dict)
    rows: list[Any] | None = None


BOX = Box(
    name="a",
    paint=Paint("red", 7),
    size=Size(2),
    labels=("x",),
    parts=(Size(1), Size(3, 4.0)),
    needs=(frozenset(), frozenset({2, 0})),
    counts={3: 4},
    params={"deep": [1, None, {"é": 1.5}]},
)
ITEM = {
    "name": "a",
    "colour": "red",
    "paint_ends_at": 7,
    "is_open": False,
    "size": {"width": 2},
    "labels": ["x"],
    "parts": [{"width": 1}, {"width": 3, "height": 4.0}],
    "needs": [[], [0, 2]],
    "counts": {"3": 4},
    "params": pack(BOX.params),
}

texts = st.text(st.characters(exclude_categories=["Cs"]))
sizes = st.builds(Size, st.integers(), st.floats(allow_nan=False))
json_values = st.recursive(
    st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)
boxes = st.builds(
    Box,
    name=texts,
    paint=st.builds(Paint, st.sampled_from(["red", "blue"]), st.none() | st.integers()),
    seal=st.none() | st.binary(),
    size=st.none() | sizes,
    labels=st.lists(texts).map(tuple),
    parts=st.lists(sizes).map(tuple),
    needs=st.lists(st.frozensets(st.integers(0, 9))).map(tuple),
    counts=st.dictionaries(st.integers(0, 99), st.integers()),
    params=st.dictionaries(texts, json_values),
    rows=st.none() | st.lists(json_values),
)


def test_an_item_has_an_attribute_for_each_field_that_is_not_none_and_maps_leave_out_defaults() -> None:
    assert encode(BOX) == ITEM
    assert decode(Box, ITEM) == BOX


@given(boxes)
def test_a_value_is_read_as_it_was_written(box: Box) -> None:
    assert decode(Box, encode(box)) == box


def test_a_missing_attribute_is_read_as_the_default_of_its_field() -> None:
    assert decode(Box, {"name": "a", "colour": "blue"}) == Box("a", Paint("blue"))


def test_a_missing_attribute_without_a_default_is_none_where_the_type_allows_it() -> None:
    assert decode(Lid, {}) == Lid(None)


def test_a_missing_attribute_that_the_value_needs_is_an_error() -> None:
    with pytest.raises(KeyError, match="width"):
        decode(Size, {"height": 1.0})


def test_attributes_that_no_field_has_are_ignored() -> None:
    assert decode(Size, {"width": 1, "pk": "acme"}) == Size(1)


def test_known_fields_are_not_read_from_the_item() -> None:
    assert decode(Size, {"width": 1, "height": 2.0}, width=9) == Size(9, 2.0)


@pytest.mark.parametrize("value", [None, 1, "é", [1, {"a": None}], {}])
def test_packed_json_unpacks_to_itself(value: Any) -> None:
    assert unpack(pack(value)) == value


def test_a_text_that_is_no_unicode_is_packed_with_a_question_mark() -> None:
    assert unpack(pack("a\ud800")) == "a?"
