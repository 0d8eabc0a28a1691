"""Each item of a hostile server's lists is checked alone."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool

from mcpist.errors import InvalidArguments, SchemaFetchError, ToolExecutionError
from mcpist.tools.declare.schema_tool import UpstreamTool, effect_of
from mcpist_services.upstream import checked_items
from mcpist_services.upstream.checked_items import BrokenItem, check_item
from mcpist_services.upstream.configuration import UpstreamServer
from tests.faults import for_each
from tests.upstreams.configured import SCRIPTED
from tests.upstreams.connected import call, connected_to, deadline_in
from tests.upstreams.fake_upstream import ABOUT, ECHO, FakeUpstream, RawResponse

GOOD = {"name": "good", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def with_field(schema: Any) -> dict[str, Any]:
    return {"name": "bad", "inputSchema": {"type": "object", "properties": {"field": schema}}}


BROKEN = [
    ("items", with_field({"type": "array", "items": 5})),
    ("type", with_field({"type": "strange"})),
    ("type", with_field({"type": {"of": 1}})),
    ("required", {"name": "bad", "inputSchema": {"type": "object", "required": "path"}}),
    ("properties", {"name": "bad", "inputSchema": {"type": "object", "properties": [1]}}),
    ("enum", with_field({"enum": 5})),
    ("enum", with_field({"enum": []})),
    ("anyOf", with_field({"anyOf": [3]})),
    ("minimum", with_field({"minimum": float("inf")})),
    ("pattern", with_field({"pattern": 5})),
    ("nested", with_field(nested(60))),
    ("larger", with_field({"description": "x" * 200_000})),
    ("inputSchema", {"name": "bad", "inputSchema": []}),
    ("inputSchema", {"name": "bad"}),
    ("annotations", {**GOOD, "name": "bad", "annotations": 7}),
    ("name", {**GOOD, "name": 7}),
    ("object", "bad"),
]


@for_each(("place", "item"), list(BROKEN))
def test_a_broken_tool_is_refused_with_the_place(place: str, item: Any) -> None:
    with pytest.raises(BrokenItem, match=place):
        check_item("tools", item)


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(("place", "item"), BROKEN)
def test_a_broken_tool_is_withheld_and_nothing_else(fake: FakeUpstream, place: str, item: Any) -> None:
    fake.says["tools/list"] = {"tools": [item, GOOD]}
    with connected_to(one=fake.server()) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert [tool.name for tool in listing.tools] == ["good"]
    (rejected,) = listing.rejected
    assert place in rejected.problem


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize("levels", [200, 800])
@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_that_no_parser_reads_is_withheld_alone(fake: FakeUpstream, levels: int, streams: bool) -> None:
    listed = {"tools": [with_field(nested(levels)), {**GOOD, "description": 'a "[{" b'}]}
    fake.says["tools/list"] = streamed(listed) if streams else listed
    with connected_to(one=fake.server()) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert [(tool.name, tool.description) for tool in listing.tools] == [("good", 'a "[{" b')]
    (rejected,) = listing.rejected
    assert (rejected.name, rejected.problem) == ("bad", "it is nested deeper than 40 levels")


def test_a_child_that_lists_a_tool_that_no_parser_reads_lists_the_others(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"tools": [with_field(nested(200)), GOOD]}), "utf-8")
    server = UpstreamServer(description="Scripted", command=sys.executable, args=(str(SCRIPTED), str(script)))
    with connected_to(one=server) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert ([tool.name for tool in listing.tools], [one.name for one in listing.rejected]) == (["good"], ["bad"])


def streamed(result: dict[str, Any]) -> Callable[[dict[str, Any]], RawResponse]:
    """Answer by a stream of events, as servers of the newer SDKs do."""

    def answer(message: dict[str, Any]) -> RawResponse:
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return RawResponse(f"event: message\ndata: {text}\n\n".encode(), headers={"content-type": "text/event-stream"})

    return answer


@pytest.mark.usefixtures("embedded")
def test_an_answer_that_no_parser_reads_is_an_error_and_never_cut(fake: FakeUpstream) -> None:
    fake.says["tools/call"] = {**ECHO, "structuredContent": {"value": nested(250)}}
    with (
        connected_to(one=fake.server()) as upstreams,
        pytest.raises(ToolExecutionError, match="deeper than 180 levels"),
    ):
        call(upstreams, "echo")


@pytest.mark.usefixtures("embedded")
def test_broken_resources_and_prompts_are_left_out_alone(fake: FakeUpstream) -> None:
    fake.says["initialize"] = {**ABOUT, "capabilities": {"tools": {}, "resources": {}, "prompts": {}}}
    fake.says["resources/list"] = {"resources": [{"name": "r", "uri": 5}, {"name": "r", "uri": "file:///r"}]}
    fake.says["resources/templates/list"] = {"resourceTemplates": [{"name": "t"}]}
    fake.says["prompts/list"] = {"prompts": [{"name": ["p"]}, {"name": "p"}]}
    with connected_to(one=fake.server()) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert [str(resource.uri) for resource in listing.resources] == ["file:///r"]
    assert [prompt.name for prompt in listing.prompts] == ["p"]
    assert sorted(item.kind for item in listing.rejected) == ["prompts", "resourceTemplates", "resources"]


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(("limit", "amount"), [("MAX_LISTED_ITEMS", 25), ("MAX_LISTED_BYTES", 2_000)])
def test_pages_together_have_a_limit(
    fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch, limit: str, amount: int
) -> None:
    monkeypatch.setattr(checked_items, limit, amount)
    pages = iter(range(1_000))

    def page(_: Any) -> dict[str, Any]:
        number = next(pages)
        tools = [{**GOOD, "name": f"tool{number}_{each}"} for each in range(10)]
        return {"tools": tools, "nextCursor": str(number + 1)}

    fake.says["tools/list"] = page
    with connected_to(one=fake.server()) as upstreams, pytest.raises(SchemaFetchError, match="tools are"):
        upstreams.list_tools("one", deadline=deadline_in())
    assert next(pages) < 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(sorted(checked_items._KIND_OF_KEYWORD))
SCHEMAS = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYWORDS | st.text(max_size=5), inner | JSON, max_size=4), max_leaves=12
)


@given(st.dictionaries(KEYWORDS, SCHEMAS, max_size=4), JSON)
def test_what_passes_the_check_can_be_shown_and_called(schema: dict[str, Any], argument: Any) -> None:
    item = {"name": "any", "inputSchema": {"type": "object", **schema, "properties": {"field": schema}}}
    try:
        check_item("tools", item)
    except BrokenItem:
        return
    given_tool = Tool.model_validate(item)
    tool = UpstreamTool(module="m", effect=effect_of(given_tool), given=given_tool, server="s", service=None)
    assert tool.signature.startswith("any(")
    assert tool.words
    try:
        tool.validate({"field": argument})
    except InvalidArguments:
        return
