from typing import Any

import mcp_types
import pytest

from mcpist.errors import InvalidArguments
from mcpist.tools.declare.call import ProxiedCall
from mcpist.tools.declare.schema import parameter_lines
from mcpist.tools.declare.schema_tool import UpstreamTool, effect_of
from mcpist.tools.search.index import ToolEntry
from tests.core.loopback import Reply, serving

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": ["integer", "null"], "minimum": 1},
        "mode": {"enum": ["head", "tail"], "default": "head"},
        "where": {"type": "object", "properties": {"depth": {"type": "integer"}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def given(schema: dict[str, Any] = SCHEMA, **told: Any) -> UpstreamTool:
    tool = mcp_types.Tool.model_validate({"name": "read_file", "inputSchema": schema, **told})
    return UpstreamTool(module="serena.fs", server="serena", effect=effect_of(tool), given=tool)


def refusal(arguments: dict[str, Any], tool: UpstreamTool | None = None) -> tuple[str, str]:
    with pytest.raises(InvalidArguments) as refused:
        (tool or given()).validate(arguments)
    return refused.value.details["field"], refused.value.details["problem"]


def test_a_number_is_taken_where_a_text_is_wanted() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "ids": {"type": "array", "items": {"type": ["string", "null"]}},
            "in": {"type": "object", "properties": {"name": {"type": "string"}, "any": {}}},
            "count": {"type": ["string", "integer"]},
            "is_open": {"type": "boolean"},
        },
    }
    arguments = {"id": 7, "ids": [1, "b", None], "in": {"name": 2.5, "any": 3}, "count": 4, "is_open": True}
    read = {"id": "7", "ids": ["1", "b", None], "in": {"name": "2.5", "any": 3}, "count": 4, "is_open": True}
    tool = given(schema)
    assert tool.validate(arguments) == read
    tool.check({"id": 7}, ("ids",))
    assert refusal({"id": True}, tool)[0] == "id"


def test_its_line_says_its_parameters_and_what_is_known_of_its_answer() -> None:
    assert given().signature == "read_file(path, lines?: integer, mode?: head|tail = head, where?: {depth?: integer})"
    answering = given(outputSchema={"type": "object", "properties": {"text": {}, "size": {}}})
    assert answering.signature.endswith(") -> text, size")
    line = ToolEntry.of(given(description=f"Read a file {'and more ' * 100}\nDetails"), {}).line()
    assert "!! Read a file and more" in line
    assert len(line) < 320
    assert line.endswith("…")


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        (None, "destroys"),
        ({}, "destroys"),
        ({"readOnlyHint": True}, "reads"),
        ({"readOnlyHint": True, "destructiveHint": True}, "reads"),
        ({"readOnlyHint": False}, "destroys"),
        ({"destructiveHint": False}, "writes"),
        ({"destructiveHint": True}, "destroys"),
    ],
)
def test_what_it_does_is_what_its_server_says_and_the_worst_where_it_says_nothing(
    annotations: dict[str, Any] | None, effect: str
) -> None:
    assert given(annotations=annotations).effect == effect


def test_right_arguments_are_sent_as_they_are() -> None:
    arguments = {"path": "a.md", "lines": None}
    assert given().validate(arguments) == arguments
    assert given().describe_work(arguments) == ProxiedCall("serena", "read_file", arguments)


@pytest.mark.parametrize(
    ("arguments", "field", "problem"),
    [
        ({}, "path", "Field required"),
        ({"path": True}, "path", "it must be of type string"),
        ({"path": "a", "lines": "3"}, "lines", "it must be of type integer or null"),
        ({"path": "a", "lines": 0}, "lines", 'it must satisfy {"minimum":1}'),
        ({"path": "a", "mode": "middle"}, "mode", 'it must be one of ["head","tail"]'),
        ({"path": "a", "where": {"depth": "deep"}}, "where.depth", "it must be of type integer"),
        ({"path": "a", "pth": "b"}, "pth", "there is no such field: did you mean path?"),
    ],
)
def test_wrong_arguments_are_refused_with_the_schema_and_without_their_values(
    arguments: dict[str, Any], field: str, problem: str
) -> None:
    assert refusal(arguments) == (field, problem)


def test_all_problems_of_a_given_schema_are_told_at_once() -> None:
    with pytest.raises(InvalidArguments) as refused:
        given().validate({"lines": "3", "mode": "middle", "pth": "a"})
    details = refused.value.details
    assert (details["field"], details["problem"]) == ("path", "Field required")
    assert sorted(one["field"] for one in details["problems"]) == ["lines", "mode", "pth"]


def test_a_batch_checks_what_is_known_already() -> None:
    tool = given()
    tool.check({"path": "${find.items[0].path}", "mode": "tail"}, {"path"})
    for arguments, unresolved in (
        ({"path": "${a.b}", "mode": "middle"}, {"path"}),
        ({"mode": "${a.b}"}, {"mode"}),
        ({"path": "a", "pth": "${a.b}"}, {"pth"}),
    ):
        with pytest.raises(InvalidArguments):
            tool.check(arguments, unresolved)
    either = given({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}})
    either.check({"a": "${x.y}"}, {"a"})


def test_a_servers_schema_makes_us_fetch_no_address() -> None:
    with serving() as service:
        service.reply_with(Reply(b'{"type": "integer"}', headers={"content-type": "application/json"}))
        tool = given({"properties": {"path": {"$ref": f"{service.url}/schema.json"}}})
        assert tool.validate({"path": "a"}) == {"path": "a"}
        assert service.received == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"type": "object", "properties": {"path": {"pattern": "("}}},
        {"$ref": "#/nowhere"},
        {"properties": None},
        {"allOf": [{"$ref": "#"}]},
    ],
)
def test_a_schema_that_is_broken_leaves_the_check_to_its_server(schema: dict[str, Any]) -> None:
    tool = given(schema)
    assert tool.validate({"path": "a"}) == {"path": "a"}
    assert tool.signature.startswith("read_file(")
    assert tool.words["name"] == "read_file"


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"properties": {"deep": False}}, "{deep?: any}"),
        ({"properties": {"deep": {"type": "string"}}, "required": 5}, "{deep?}"),
        ({"properties": [], "type": "object"}, "object"),
    ],
)
def test_odd_schemas_deep_in_an_argument_are_shown(schema: dict[str, Any], shown: str) -> None:
    (line,) = parameter_lines({"properties": {"where": schema}})
    assert line == f"where?: {shown}"
