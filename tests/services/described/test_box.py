from functools import cache
from pathlib import Path

import pytest

from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from mcpist_services.described.description import parse
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay, load_overlay
from mcpist_services.described.proposal import propose
from tests.services.conversation import converse, work_of

FILE = Path(__file__).parents[4] / "shared/api-specs/box.openapi.json"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"Box's description is not in {FILE.parent}")


@cache
def overlay() -> Overlay:
    return propose(parse(FILE.read_bytes()), "box", source=FILE.name)


@cache
def box() -> Module:
    return module(overlay())


def test_nearly_all_of_a_real_description_is_imported_and_the_rest_says_why() -> None:
    found = overlay()
    assert len(found.tools) >= 0.93 * (len(found.tools) + len(found.left_out))
    assert all(found.left_out.values())
    assert load_overlay(found.dump()) == found


@pytest.mark.parametrize(
    ("tool", "arguments", "call"),
    [
        ("get_file", {"file_id": "1", "fields": ["name", "size"]}, Call("GET", "/files/1", {"fields": "name,size"})),
        (
            "create_folder",
            {"name": "A", "parent": {"id": "0"}},
            Call("POST", "/folders", json={"name": "A", "parent": {"id": "0"}}),
        ),
        ("delete_folder", {"folder_id": "1", "recursive": True}, Call("DELETE", "/folders/1", {"recursive": "true"})),
        (
            "copy_file",
            {"file_id": "1", "parent": {"id": "0"}},
            Call("POST", "/files/1/copy", json={"parent": {"id": "0"}}),
        ),
        (
            "update_web_shared_link",
            {"web_link_id": "1", "fields": "shared_link"},
            Call("PUT", "/web_links/1", {"fields": "shared_link"}, json={}),
        ),
    ],
)
def test_a_request_is_the_one_that_box_documents(tool: str, arguments: dict[str, object], call: Call) -> None:
    assert work_of(box(), tool, **arguments) == call


def test_a_list_goes_on_with_boxs_markers() -> None:
    pages = [{"entries": [{"id": "1"}], "next_marker": "m"}, {"entries": [{"id": "2"}], "next_marker": ""}]
    sent, found = converse(work_of(box(), "list_file_collaborations", file_id="9", limit=100), *pages)
    assert [call.query for call in sent] == [{"limit": 100}, {"limit": 100, "marker": "m"}]
    assert found["entries"] == [{"id": "1"}, {"id": "2"}]


def test_effects_and_columns_are_those_of_a_careful_person() -> None:
    tools = box().tools
    assert tools["get_file"].effect == "reads"
    assert tools["create_folder"].effect == "writes"
    assert tools["delete_file"].effect == "destroys"
    assert {"id", "name"} <= set(tools["list_folder_items"].shows.fields)
    assert tools["list_folder_items"].shows.rows == "entries"
    assert all(tool.effect == "destroys" for tool in tools.values() if tool.operation.startswith("DELETE"))
