"""The undos that an import proposes: a POST is undone by the DELETE of its path, and compared by its GET."""

import json
from typing import Any

from mcpist.tools.declare.undo import ToolCall, ToolChange
from mcpist_services.described import description
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.proposal import propose, reviews

WIDGET = {"type": "object", "properties": {name: {"type": "string"} for name in ("id", "name", "color")}}
RECORD = {"200": {"description": "", "content": {"application/json": {"schema": WIDGET}}}}
GONE = {"204": {"description": ""}}
BODY = {
    "content": {"application/json": {"schema": {"type": "object", "properties": {"name": {"type": "string"}}}}},
}


def parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def overlay_of(*left_out: str, earlier: Overlay | None = None) -> Overlay:
    """Import an API of widgets without some operations."""
    one, all_of = "/shops/{shop}/widgets/{widget_id}", "/shops/{shop}/widgets"
    operations: dict[str, tuple[str, str, Any]] = {
        "createWidget": (all_of, "post", {"requestBody": BODY, "responses": RECORD}),
        "getWidget": (one, "get", {"responses": RECORD}),
        "deleteWidget": (one, "delete", {"responses": GONE}),
        "sendMail": ("/mails", "post", {"requestBody": BODY, "responses": RECORD}),
    }
    paths: dict[str, Any] = {}
    for name, (path, method, stated) in operations.items():
        if name not in left_out:
            given = [parameter(part) for part in ("shop", "widget_id") if f"{{{part}}}" in path]
            paths.setdefault(path, {})[method] = {"operationId": name, "parameters": given, **stated}
    root = {"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "paths": paths}
    found = description.parse(json.dumps(root).encode())
    return propose(found, "shop", server="https://api.shop.example", earlier=earlier)


def test_what_a_post_makes_is_undone_by_the_delete_of_its_path_once_a_person_has_looked() -> None:
    overlay = overlay_of()
    assert {name for name, rule in overlay.tools.items() if rule.undo} == {"create_widget"}
    assert dict(reviews(overlay))["create_widget"] == ("`delete_widget` is proposed as its undo",)
    tools = module(overlay).tools
    undo, made = tools["create_widget"].undo, {"id": "w7", "name": "Bolt", "color": "red"}
    assert undo is not None
    change = ToolChange("create_widget", {"shop": "s1", "name": "Bolt"}, made)
    assert list(undo.calls(change)) == [ToolCall("delete_widget", {"shop": "s1", "widget_id": "w7"})]
    assert undo.target_of(change, tools["get_widget"].input_schema["properties"]) == {"shop": "s1", "widget_id": "w7"}
    assert undo.written_by(change) == undo.fields_of(made, change) == {"name": "Bolt"}
    assert undo.fields_of({**made, "name": "Theirs"}, change) != undo.written_by(change)


def test_nothing_is_proposed_where_no_answer_could_be_compared_or_nothing_removes_it() -> None:
    for missing in ("getWidget", "deleteWidget"):
        assert not any(rule.undo for rule in overlay_of(missing).tools.values())


def test_an_undo_that_a_person_takes_out_stays_out_and_one_without_its_tool_is_none() -> None:
    values = overlay_of().dump()
    kept = {name: rule for name, rule in values["tools"].items() if name != "delete_widget"}
    assert module(Overlay.model_validate({**values, "tools": kept})).tools["create_widget"].undo is None
    del values["tools"]["create_widget"]["undo"]
    assert overlay_of(earlier=Overlay.model_validate(values)).tools["create_widget"].undo is None
