from typing import Annotated, Any, TypedDict, Unpack

import pytest
from pydantic import BaseModel, ConfigDict, Field

from mcpist.errors import InvalidArguments
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import Tool
from tests.core.sample.shop.tools import shop


class Point(BaseModel):
    """A place."""

    x: int


def declared() -> Module:
    module = Module("odd", "Odd names.", api_version="1", host="https://odd.example.com")

    @module.reads(shows("id"))
    def odd(
        schema: str,
        copy: Annotated[str | int | None, "What to copy"] = None,
        json: dict[str, Any] | None = None,
        points: list[Point] | None = None,
        names: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006
        empty: str = "",
    ) -> Call:
        """Take names that a model knows already."""
        return Call("GET", f"/{schema}", {"copy": copy, "json": json, "names": names, "points": points, "e": empty})

    return module


CREATE, LIST, ODD = shop.tools["create_item"], shop.tools["list_items"], declared().tools["odd"]


def refusal(tool: Tool, arguments: dict[str, Any]) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as refused:
        tool.validate(arguments)
    return refused.value


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        (LIST, "list_items(query?, limit?: integer = 50) -> id, name, price"),
        (shop.tools["get_item"], "get_item(item_id) -> id, name"),
        (shop.tools["get_key"], "get_key() -> value"),
        (
            CREATE,
            "create_item(name, price: number, size?: big|small = small, tags?: [string], new?: boolean = true) -> id",
        ),
        (
            ODD,
            "odd(schema, copy?: string|integer, json?: object, points?: [{x: integer}], names?: [string] = [], "
            'empty? = "") -> id',
        ),
    ],
)
def test_a_signature_is_one_line(tool: Tool, line: str) -> None:
    assert tool.signature == line


def test_a_schema_has_descriptions_bounds_and_no_noise() -> None:
    assert LIST.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "description": "Words in the name"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
        },
    }
    assert CREATE.input_schema["required"] == ["name", "price"]
    assert CREATE.input_schema["properties"]["size"] == {
        "type": "string",
        "enum": ["big", "small"],
        "default": "small",
    }
    assert CREATE.input_schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert ODD.input_schema["properties"]["copy"] == {
        "anyOf": [{"type": "string"}, {"type": "integer"}],
        "description": "What to copy",
    }


def test_a_tool_is_named_and_described_once() -> None:
    assert (LIST.module, LIST.name, LIST.description) == ("shop", "list_items", "List the items on sale.")
    assert LIST.output_schema == {"format": "rows", "fields": ["id", "name", "price"]}
    assert (LIST.reads, CREATE.reads) == (True, False)


def test_defaults_are_filled_in() -> None:
    assert LIST.validate({}) == {"query": None, "limit": 50}
    assert CREATE.validate({"name": "a", "price": 1})["size"] == "small"


def test_a_number_is_taken_where_a_text_is_wanted() -> None:
    assert CREATE.validate({"name": 42, "price": 1})["name"] == "42"


def test_names_that_a_model_knows_already_are_arguments_like_others() -> None:
    found = ODD.validate({"schema": "s", "copy": 1, "json": {}, "points": [{"x": 1}]})
    assert (found["schema"], found["copy"], found["json"], found["points"]) == ("s", 1, {}, [Point(x=1)])
    assert isinstance(ODD.describe_work(found), Call)


@pytest.mark.parametrize(
    ("arguments", "field", "problem"),
    [
        ({"price": 1}, "name", "Field required"),
        ({"name": "a", "price": 1, "colour": "red"}, "colour", "there is no such field"),
        ({"name": "a", "prize": 1, "price": 1}, "prize", "there is no such field: did you mean price?"),
        ({"name": "a", "price": "dear"}, "price", "Input should be a valid number"),
        ({"name": "a", "price": 1, "size": "huge"}, "size", "Input should be 'big' or 'small'"),
        ({"name": "a", "price": 1, "tags": [True]}, "tags.0", "Input should be a valid string"),
    ],
)
def test_wrong_arguments_are_refused_with_the_schema_of_their_field(
    arguments: dict[str, Any], field: str, problem: str
) -> None:
    details = refusal(CREATE, arguments).details
    assert details["field"] == field
    assert problem in details["problem"]
    fields = CREATE.input_schema["properties"]
    assert details["schema"] == fields.get(field.partition(".")[0], CREATE.input_schema)


def test_all_problems_are_told_at_once_and_a_field_of_several_types_once() -> None:
    details = refusal(CREATE, {"nam": "a", "price": "dear", "tags": ["a", True]}).details
    assert details["field"] == "name"
    assert [(one["field"], one["problem"].partition(",")[0]) for one in details["problems"]] == [
        ("price", "Input should be a valid number"),
        ("tags.1", "Input should be a valid string"),
        ("nam", "there is no such field: did you mean name?"),
    ]
    assert "problems" not in refusal(CREATE, {"name": "a"}).details
    odd = refusal(ODD, {"schema": "a", "copy": [], "points": [{"y": 1}]}).details
    assert [odd["field"], *(one["field"] for one in odd["problems"])] == ["copy", "points.0.x"]


def test_a_misspelt_field_deep_in_an_argument_is_answered_with_the_one_that_it_resembles() -> None:
    module = Module("maps", "Maps.", api_version="1", host="https://maps.example.com")

    class Place(BaseModel):
        model_config = ConfigDict(extra="forbid")
        latitude: int = 0

    @module.reads(shows("id"))
    def go(places: list[Place] | None = None) -> Call:
        """Go there."""
        return Call("GET", f"/{places}")

    details = refusal(module.tools["go"], {"places": [{"latitude": 1}, {"latitde": 1}]}).details
    assert (details["field"], details["problem"]) == (
        "places.1.latitde",
        "there is no such field: did you mean latitude?",
    )


def test_an_alias_is_no_second_name() -> None:
    assert refusal(LIST, {"field_0": "a"}).details["field"] == "field_0"


def test_what_is_not_known_yet_is_not_checked() -> None:
    CREATE.check({"name": "${a.items[0].name}", "price": "${a.raw.price}"}, {"name", "price"})
    CREATE.check({"name": "a", "price": 1, "tags": ["${a.raw.tag}"]}, {"tags"})


@pytest.mark.parametrize(
    ("arguments", "unresolved", "field"),
    [
        ({"name": "${a.raw.b}"}, {"name"}, "price"),
        ({"name": "${a.raw.b}", "price": "dear"}, {"name"}, "price"),
        ({"name": "a", "price": 1, "colour": "${a.raw.b}"}, {"colour"}, "colour"),
        ({"name": "${a.raw.b}", "price": 1, "colour": "red"}, {"name"}, "colour"),
    ],
)
def test_what_is_wrong_already_is_refused(arguments: dict[str, Any], unresolved: set[str], field: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        CREATE.check(arguments, unresolved)
    assert refused.value.details["field"] == field


class Options(TypedDict, total=False):
    colour: Annotated[str, "e.g. red"] | None
    wrapped: Annotated[bool, Field(default=False)]


def test_the_keys_of_an_unpacked_dict_are_parameters_with_their_defaults() -> None:
    module = Module("gifts", "Gifts.", api_version="1", host="https://gifts.example.com")

    @module.writes(shows("id"))
    def order(name: str, **options: Unpack[Options]) -> Call:
        """Order a gift."""
        return Call("POST", "/gifts", json={"name": name, **options})

    tool = module.tools["order"]
    assert tool.signature == "order(name, colour?, wrapped?: boolean = false) -> id"
    assert tool.describe_work(tool.validate({"name": "ball", "colour": "red"})) == order(
        "ball", colour="red", wrapped=False
    )
