"""The other forms of arguments that are taken, and those that are not since they may mean something else."""

from typing import Any

import pytest

from mcpist.errors import InvalidArguments
from mcpist.tools.declare.correction import correcting
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tolerance import tolerant
from mcpist_services.catalogue import CATALOGUE
from tests.core.sample.shop.tools import shop
from tests.faults import for_each

TAGS = {"type": "array", "items": {"type": "string"}}
NULLABLE: tuple[Any, ...] = (
    {"type": ["string", "null"]},
    {"type": "string", "nullable": True},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"enum": ["a", None]},
    {"$ref": "#/$defs/other"},
    {},
    True,
)
BROKEN: tuple[Any, ...] = ({"type": 7}, {"anyOf": 7}, {"enum": "a", "type": {}}, {"type": "array", "items": 7})


def of(spec: Any, *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": spec}, "required": list(required)}


@for_each(
    ("schema", "given", "read"),
    [
        (of({"type": "integer"}), {"x": None}, {}),
        (of({"type": "integer"}, "x"), {"x": None}, {"x": None}),
        (of({"type": "integer"}), {"y": None}, {"y": None}),
        (of({"enum": ["a", "b"]}), {"x": None}, {}),
        *((of(spec), {"x": None}, {"x": None}) for spec in NULLABLE),
        (of(of({"type": "string"})), {"x": {"x": None}}, {"x": {}}),
        (of({"type": "array", "items": of(TAGS)}), {"x": [{"x": None}, {"x": "a"}]}, {"x": [{}, {"x": ["a"]}]}),
        (of(TAGS), {"x": "plan"}, {"x": ["plan"]}),
        (of(TAGS), {"x": '["a, b", "c"]'}, {"x": ["a, b", "c"]}),
        (of(TAGS), {"x": "[]"}, {"x": []}),
        (of(TAGS), {"x": "a, b"}, {"x": "a, b"}),
        (of(TAGS), {"x": "${a.items}"}, {"x": "${a.items}"}),
        (of(TAGS), {"x": "tag-${a.raw.id}"}, {"x": ["tag-${a.raw.id}"]}),
        (of({"type": "array", "items": {"type": "integer"}}), {"x": "1"}, {"x": "1"}),
        (of({"anyOf": [TAGS, {"type": "null"}]}), {"x": "plan"}, {"x": ["plan"]}),
        (of(TAGS) | {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, {"x": "plan"}, {"x": ["plan"]}),
        (of({"anyOf": [TAGS, {"type": "string"}]}), {"x": "plan"}, {"x": "plan"}),
        (of({"type": "string", "format": "day"}), {"x": "Tomorrow Asia/Tokyo"}, {"x": "now+1d Asia/Tokyo"}),
        (of({"type": "string", "format": "day"}), {"x": "today"}, {"x": "today"}),
        (of({"type": "string", "format": "moment"}), {"x": "today Asia/Tokyo"}, {"x": "today Asia/Tokyo"}),
        (of({"type": "string"}), {"x": "today Asia/Tokyo"}, {"x": "today Asia/Tokyo"}),
        ({"type": "object", "properties": 7, "required": "x"}, {"x": None}, {"x": None}),
    ],
)
def test_a_form_is_read_where_it_can_mean_nothing_else(schema: Any, given: Any, read: Any) -> None:
    assert tolerant(schema, given) == read


@for_each("spec", BROKEN)
def test_the_schemas_of_others_may_be_broken(spec: Any) -> None:
    assert set(tolerant(of(spec), {"x": "a", "y": None})) == {"x", "y"}
    tolerant(of(spec), {"x": None})


def module(name: str) -> Module:
    return CATALOGUE.module(name)


@for_each(
    ("tool", "given", "params"),
    [
        (shop.tools["create_item"], {"nam": "a", "price": 1}, {"name": "a", "price": 1}),
        (
            shop.tools["create_item"],
            {"nam": "a", "price": 1, "tags": "x, y"},
            {"name": "a", "price": 1, "tags": ["x", "y"]},
        ),
        (module("rag").tools["list_docs_by_date"], {"until": "today"}, {"until": "now UTC"}),
        (module("github").tools["list_notifications"], {"before": "Yesterday"}, {"before": "now-1d/d+1d UTC"}),
        (module("github").tools["list_notifications"], {"since": "today Asia/Tokyo"}, {"since": "now/d Asia/Tokyo"}),
        (shop.tools["create_item"], {"nam": "a", "price": "dear"}, None),
        (shop.tools["create_item"], {"nam": "a", "nme": "b", "price": 1}, None),
        (shop.tools["create_item"], {"xyzzy": "a", "price": 1}, None),
    ],
)
def test_an_error_has_the_whole_call_as_the_tool_takes_it(tool: Any, given: Any, params: Any) -> None:
    with pytest.raises(InvalidArguments) as refused, correcting(tool, given):
        tool.check(given, ())
    call = {"module": tool.module, "tool": tool.name, "params": params}
    assert refused.value.details.get("corrected") == (call if params else None)
    if params:
        tool.validate(params)


def test_a_field_whose_value_is_not_known_yet_is_corrected_by_its_name() -> None:
    tool, given = shop.tools["create_item"], {"nam": "${a.raw}", "prise": "${b.raw}"}
    with pytest.raises(InvalidArguments) as refused, correcting(tool, given, given.keys()):
        tool.check(given, given.keys())
    assert refused.value.details["corrected"]["params"] == {"name": "${a.raw}", "price": "${b.raw}"}
