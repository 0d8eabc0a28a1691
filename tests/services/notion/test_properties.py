"""Properties as people read and write them."""

from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.notion.properties import _BARE_TYPES, full_property, outline, row, schema, value, written
from tests.faults import for_each
from tests.services.answers.notion import ADA, PAGE, PAGE_ID, PROPERTIES, SOURCE, SOURCE_ID, TIME, USER_ID, text
from tests.services.contracts import Vendor, needs_descriptions


def test_a_page_reads_as_its_title_and_values() -> None:
    assert row(PAGE) == {
        "title": "Roadmap",
        "properties": {
            "Notes": "Ask Ada",
            "Price": 12.5,
            "Link": "https://example.com",
            "Stage": "Beta",
            "Tags": ["ui"],
            "Status": "In progress",
            "Due": "2026-01-31/2026-02-02",
            "Mail": "ada@example.com",
            "Open": False,
            "Files": ["plan.pdf"],
            "Author": "Ada",
            "Made": TIME,
            "Editor": USER_ID,
            "Edited": TIME,
            "Days": 3,
            "Key": "ENG-42",
            "Checked": "unverified",
            "Where": "Tokyo",
            "People": ["Ada", USER_ID],
            "Tasks": [PAGE_ID],
            "Sum": 7,
            "Owners": [["Ada"], None],
        },
    }


def test_a_page_that_is_not_shared_has_no_title() -> None:
    assert row({"object": "page", "id": PAGE_ID}) == {"title": "", "properties": {}}


@pytest.mark.parametrize(
    ("each", "read"),
    [
        ({"type": "formula", "formula": {"type": "date", "date": {"start": "2026-01-31", "end": None}}}, "2026-01-31"),
        ({"type": "formula", "formula": {"type": "boolean", "boolean": False}}, False),
        ({"type": "formula", "formula": {"type": "string", "string": None}}, None),
        ({"type": "rollup", "rollup": {"type": "incomplete", "incomplete": {}, "function": "sum"}}, None),
        ({"type": "rollup", "rollup": {"type": "date", "date": None, "function": "min"}}, None),
        (
            {"type": "date", "date": {"start": "2026-01-31T09:00", "time_zone": "Asia/Tokyo"}},
            "2026-01-31T09:00 Asia/Tokyo",
        ),
        ({"type": "unique_id", "unique_id": {"prefix": None, "number": 7}}, "7"),
        ({"type": "relation", "relation": [{"id": PAGE_ID}], "has_more": True}, [PAGE_ID, "..."]),
        ({"type": "place", "place": {"lat": 1.5, "lon": 2}}, "1.5, 2"),
        ({"type": "new kind", "new kind": "as it is"}, "as it is"),
    ],
)
def test_values_of_other_kinds(each: dict[str, Any], read: object) -> None:
    assert value(each) == read


def item(kind: str, own: Any) -> dict[str, Any]:
    return {"object": "property_item", "id": "a", "type": kind, kind: own}


def answers(kind: str, own: Any, *pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"object": "list", "results": results, "property_item": {"type": kind, kind: own}} for results in pages]


def test_a_property_of_several_pages_is_one_value() -> None:
    people = answers("people", {}, [item("people", ADA)], [item("people", {"id": USER_ID})])
    assert full_property(people) == {"type": "people", "value": ["Ada", USER_ID]}
    words = answers("rich_text", {}, [item("rich_text", text("a "))], [item("rich_text", text("b"))])
    assert full_property(words) == {"type": "rich_text", "value": "a b"}
    assert full_property([item("number", 2)]) == {"type": "number", "value": 2}


def test_a_complete_rollup_is_its_result_or_its_items() -> None:
    unfinished, finished = {"type": "incomplete", "incomplete": {}}, {"type": "number", "number": 9}
    [first], [last] = answers("rollup", unfinished, []), answers("rollup", finished, [])
    assert full_property([first, last]) == {"type": "rollup", "value": 9}
    shown = [item("title", text("A")), item("select", {"name": "B"}), item("people", ADA), item("multi_select", [])]
    array = answers("rollup", {"type": "array", "array": []}, shown)
    assert full_property(array) == {"type": "rollup", "value": ["A", "B", ["Ada"], []]}


def test_a_data_source_shows_its_types_and_options() -> None:
    assert outline(SOURCE["properties"]) == {
        "Name": "title",
        "Status": "status: In progress, Done",
        "Due": "date",
        "Tasks": f"relation to data source {SOURCE_ID}",
    }


@for_each(
    ("name", "said", "sent"),
    [
        ("Name", "Plan", {"title": [{"type": "text", "text": {"content": "Plan"}}]}),
        ("Notes", "a", {"rich_text": [{"type": "text", "text": {"content": "a"}}]}),
        ("Price", 3, {"number": 3}),
        ("Stage", "Beta", {"select": {"name": "Beta"}}),
        ("Status", "Done", {"status": {"name": "Done"}}),
        ("Tags", ["ui", "api"], {"multi_select": [{"name": "ui"}, {"name": "api"}]}),
        ("Tags", "ui", {"multi_select": [{"name": "ui"}]}),
        ("Due", "2026-01-31", {"date": {"start": "2026-01-31"}}),
        ("Due", "2026-01-31/2026-02-02", {"date": {"start": "2026-01-31", "end": "2026-02-02"}}),
        ("Due", None, {"date": None}),
        ("Tags", None, {"multi_select": []}),
        ("Open", True, {"checkbox": True}),
        ("People", [USER_ID], {"people": [{"id": USER_ID}]}),
        ("Tasks", PAGE_ID, {"relation": [{"id": PAGE_ID}]}),
        (
            "Files",
            ["https://a.b/c.pdf"],
            {"files": [{"name": "c.pdf", "type": "external", "external": {"url": "https://a.b/c.pdf"}}]},
        ),
        ("f%3A", "Done", {"status": {"name": "Done"}}),
        ("Stage", {"select": {"name": "Beta"}}, {"select": {"name": "Beta"}}),
    ],
)
def test_a_value_is_written_by_its_propertys_type(name: str, said: object, sent: dict[str, Any]) -> None:
    assert written({name: said}, PROPERTIES) == {name: sent}


@pytest.mark.parametrize(("name", "problem"), [("Statsu", "there are: Name, Notes"), ("Days", "computes")])
def test_a_value_that_cannot_be_written_is_refused_with_the_reason(name: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        written({name: "Done"}, PROPERTIES)


@needs_descriptions
def test_notions_description_allows_every_value_and_every_type() -> None:
    values = {
        "Name": "Plan",
        "Notes": "a",
        "Price": 3,
        "Link": "https://a.b",
        "Stage": "Beta",
        "Tags": ["ui"],
        "Status": "Done",
        "Due": "2026-01-31/2026-02-02",
        "Mail": "ada@example.com",
        "Phone": "1",
        "Open": True,
        "Files": ["https://a.b/c.pdf"],
        "People": [USER_ID],
        "Tasks": [PAGE_ID],
    }
    vendor = Vendor("notion")
    for said in (values, dict.fromkeys(set(values) - {"Open"})):
        vendor.send(Call("PATCH", f"/v1/pages/{PAGE_ID}", json={"properties": written(said, PROPERTIES)}))
    kinds = {kind: kind for kind in _BARE_TYPES}
    place = {"type": "page_id", "page_id": PAGE_ID}
    body = {"parent": place, "initial_data_source": {"properties": schema(kinds | {"Stage": ["A"]})}}
    vendor.send(Call("POST", "/v1/databases", json=body))


def test_a_schema_is_given_by_types_and_options() -> None:
    assert schema({}) == {"Name": {"title": {}}}
    assert schema({"Task": "title", "Stage": ["A"]}) == {
        "Task": {"title": {}},
        "Stage": {"select": {"options": [{"name": "A"}]}},
    }
    assert schema({"Sum": {"formula": {"expression": "1"}}})["Sum"] == {"formula": {"expression": "1"}}
    with pytest.raises(InvalidRequest, match="a type"):
        schema({"Sum": "formula"})
