"""What Notion's tools ask step by step, and what they refuse; blocks and properties are in notion/."""

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest
from mcpist.markdown.reader import read
from mcpist.render.answer import compact
from mcpist.tools.declare.call import Call, PartialList
from mcpist_services.notion.rich_text import comment, comment_markdown
from mcpist_services.notion.tools import notion
from tests.faults import for_each
from tests.services.answers.notion import (
    COMMENT,
    NEXT,
    PAGE,
    PAGE_ID,
    PROPERTIES,
    SOURCE,
    SOURCE_ID,
    USER_ID,
    block,
    listed,
    text,
)
from tests.services.conversation import converse, work_of

PAGE_PATH, SOURCE_PATH = f"/v1/pages/{PAGE_ID}", f"/v1/data_sources/{SOURCE_ID}"


EDITS = [{"old_str": "a", "new_str": "b"}]

work = partial(work_of, notion)


def row(tool: str, raw: Any) -> str:
    return compact(raw, notion.tools[tool].shows)


def test_every_request_has_the_version_header() -> None:
    assert notion.headers == {"notion-version": "2026-03-11"}


@pytest.mark.parametrize("page_id", [PAGE_ID, PAGE_ID.replace("-", ""), PAGE_ID.upper()])
def test_ids_are_accepted_with_and_without_dashes(page_id: str) -> None:
    assert work("trash_page", page_id=page_id) == Call("PATCH", f"/v1/pages/{page_id}", json={"in_trash": True})


@pytest.mark.parametrize("page_id", ["Roadmap", f"{PAGE_ID}/x", "", f"{PAGE_ID}\n", f"x{PAGE_ID}"])
def test_an_invalid_id_is_refused_before_any_request(page_id: str) -> None:
    with pytest.raises(InvalidArguments):
        work("trash_page", page_id=page_id)


# -- lists --------------------------------------------------------------------------------------------


def test_a_search_continues_by_the_cursor_in_the_body_and_is_shown_as_rows() -> None:
    sent, found = converse(
        work("search", query="Road", limit=150),
        listed(deepcopy(PAGE), following=NEXT),
        listed(deepcopy(SOURCE), {"object": "page", "id": PAGE_ID}),
    )
    assert [call.json for call in sent] == [
        {"query": "Road", "page_size": 75},
        {"query": "Road", "page_size": 75, "start_cursor": NEXT},
    ]
    assert [item["row"]["title"] for item in found["results"]] == ["Roadmap", "Tasks", ""]
    assert found["results"][0]["properties"] == PROPERTIES


def test_a_list_continues_by_the_cursor_in_the_query() -> None:
    sent, _ = converse(work("list_users", fetch_all=True), listed(following=NEXT), listed())
    assert [call.query for call in sent] == [{"page_size": 100}, {"page_size": 100, "start_cursor": NEXT}]


def test_a_list_ends_where_the_answer_says_that_there_is_no_more() -> None:
    sent, _ = converse(work("list_users"), {**listed(), "next_cursor": NEXT})
    assert len(sent) == 1


def test_a_cut_list_continues_at_its_cursor() -> None:
    _, found = converse(work("search", limit=1), listed(deepcopy(PAGE), following=NEXT))
    assert isinstance(found, PartialList)
    assert f"cursor=start_cursor={NEXT}" in found.more
    assert next(work("search", cursor=f"start_cursor={NEXT}")).json["start_cursor"] == NEXT  # type: ignore[arg-type]


def test_rows_of_a_data_source_read_as_flat_lines() -> None:
    answer = listed(*({**deepcopy(PAGE), "properties": dict(list(PROPERTIES.items())[:3])} for _ in range(3)))
    _, found = converse(work("query_data_source", data_source_id=SOURCE_ID), answer)
    shown = row("query_data_source", found)
    assert shown.startswith("items[3]{id,title,url,created,last_edited,properties{Notes,Price}}:\n")
    assert f'{PAGE_ID},Roadmap,"{PAGE["url"]}",' in shown


def test_a_comment_reads_as_markdown() -> None:
    _, found = converse(work("list_comments", block_id=PAGE_ID), listed(deepcopy(COMMENT)))
    assert "Looks **good**" in row("list_comments", found)


# -- pages --------------------------------------------------------------------------------------------


def test_a_page_reads_without_what_is_empty() -> None:
    sent, page = converse(work("get_page", page_id=PAGE_ID), PAGE)
    assert sent == [Call("GET", PAGE_PATH)]
    shown = row("get_page", page)
    assert "In progress" in shown
    assert "Phone" not in shown


def test_a_property_is_requested_by_its_id_also_if_its_name_was_given() -> None:
    answer = {"object": "property_item", "id": "f%3A", "type": "status", "status": {"name": "Done"}}
    for said_as in ("Status", "f%3A"):
        sent, found = converse(work("get_page_property", page_id=PAGE_ID, property_id=said_as), PAGE, answer)
        assert sent[1] == Call("GET", f"{PAGE_PATH}/properties/f%3A")
        assert found == {"property": "Status", "type": "status", "value": "Done"}


def test_a_property_is_read_to_its_end() -> None:
    items = [{"type": "relation", "relation": {"id": id_}} for id_ in (PAGE_ID, SOURCE_ID)]
    kind = {"property_item": {"type": "relation", "relation": {}}}
    sent, found = converse(
        work("get_page_property", page_id=PAGE_ID, property_id="Tasks"),
        PAGE,
        listed(items[0], following="more", **kind),
        listed(items[1], **kind),
    )
    assert sent[2] == Call("GET", f"{PAGE_PATH}/properties/v%5C", {"start_cursor": "more"})
    assert found["value"] == [PAGE_ID, SOURCE_ID]


def test_simple_values_are_written_by_the_types_of_the_data_source() -> None:
    made = work("create_page", title="Plan", data_source_id=SOURCE_ID, properties={"Status": "Done", "Due": None})
    sent, _ = converse(made, SOURCE, PAGE)
    assert sent[0] == Call("GET", SOURCE_PATH)
    assert sent[1].json == {
        "parent": {"type": "data_source_id", "data_source_id": SOURCE_ID},
        "properties": {
            "Status": {"status": {"name": "Done"}},
            "Due": {"date": None},
            "title": {"title": [{"type": "text", "text": {"content": "Plan"}}]},
        },
    }


def test_values_in_notions_format_need_no_further_request() -> None:
    fields = {"Status": {"status": {"name": "Done"}}}
    changed = work("update_page", page_id=PAGE_ID, properties=fields, restore=True)
    assert changed == Call("PATCH", PAGE_PATH, json={"in_trash": False, "properties": fields})


def test_simple_values_of_a_page_are_written_by_its_own_types() -> None:
    sent, _ = converse(work("update_page", page_id=PAGE_ID, properties={"Open": True}, title="Plan"), PAGE, PAGE)
    assert sent[0] == Call("GET", PAGE_PATH)
    assert sent[1].json["properties"]["Open"] == {"checkbox": True}
    assert sent[1].json["properties"]["title"]["title"][0]["text"] == {"content": "Plan"}


@for_each(
    ("tool", "arguments"),
    [
        ("create_page", {"title": "a"}),
        ("create_page", {"title": "a", "parent_page_id": PAGE_ID, "data_source_id": SOURCE_ID}),
        ("create_page", {"title": "a", "parent_page_id": PAGE_ID, "properties": {"Status": "Done"}}),
        ("create_page", {"title": "a", "parent_page_id": PAGE_ID, "markdown": "<!-- not carried: callout -->"}),
        ("update_page", {"page_id": PAGE_ID}),
        ("update_page", {"page_id": PAGE_ID, "properties": {}}),
        ("move_page", {"page_id": PAGE_ID}),
        ("move_page", {"page_id": PAGE_ID, "parent_page_id": PAGE_ID, "data_source_id": SOURCE_ID}),
        ("update_page_content", {"page_id": PAGE_ID}),
        ("update_page_content", {"page_id": PAGE_ID, "content_updates": EDITS, "replace_with": "a"}),
        ("update_page_content", {"page_id": PAGE_ID, "replace_with": "a <!-- not carried: equation -->"}),
        ("append_blocks", {"block_id": PAGE_ID, "markdown": "a", "position": "start", "after_block": PAGE_ID}),
        ("append_blocks", {"block_id": PAGE_ID, "markdown": " \n"}),
        ("append_blocks", {"block_id": PAGE_ID, "markdown": "<!-- not carried: callout -->\n\n> a"}),
        ("update_block", {"block_id": PAGE_ID, "markdown": "a\n\nb"}),
        ("add_comment", {"markdown": "a"}),
        ("add_comment", {"markdown": "a", "page_id": PAGE_ID, "discussion_id": SOURCE_ID}),
        ("create_database", {"parent_page_id": PAGE_ID, "title": "a", "properties": {"Sum": "formula"}}),
    ],
)
def test_ambiguous_arguments_are_refused_before_any_request(tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        work(tool, **arguments)


def test_a_mention_is_in_notions_dialect_where_notion_reads_the_markdown() -> None:
    call = work("create_page", title="a", parent_page_id=PAGE_ID, markdown=f"Ask [@Ada](mention:{USER_ID}).")
    assert isinstance(call, Call)
    assert call.json["markdown"] == f'Ask <mention-user url="user://{USER_ID}"/>.'


@pytest.mark.parametrize("change", [{"content_updates": EDITS}, {"replace_with": "a"}])
def test_child_pages_are_deleted_only_if_that_is_allowed(change: dict[str, Any]) -> None:
    for said_so in (True, False):
        call = work("update_page_content", page_id=PAGE_ID, **change, allow_deleting_content=said_so)
        assert isinstance(call, Call)
        assert call.json[call.json["type"]].get("allow_deleting_content", False) is said_so


# -- databases ----------------------------------------------------------------------------------------


def test_a_data_source_is_shown_as_its_properties() -> None:
    _, source = converse(work("get_data_source", data_source_id=SOURCE_ID), SOURCE)
    assert "status: In progress, Done" in row("get_data_source", source)


def test_a_database_reads_with_its_data_sources() -> None:
    answer = {**SOURCE, "object": "database", "data_sources": [{"id": SOURCE_ID, "name": "Tasks"}]}
    _, database = converse(work("get_database", database_id=PAGE_ID), answer)
    shown = row("get_database", database)
    assert "Tasks" in shown
    assert SOURCE_ID in shown


# -- blocks -------------------------------------------------------------------------------------------


def test_the_answer_to_appended_markdown_has_the_number_of_blocks_and_the_last_id() -> None:
    results = [{"id": "a"}, {"id": "b"}]
    _, made = converse(work("append_blocks", block_id=PAGE_ID, markdown="# a\n\nb"), {"results": results})
    assert made == {"id": PAGE_ID, "appended": 2, "last_id": "b", "ids": ["a", "b"]}


def test_a_block_is_read_before_its_text_is_replaced() -> None:
    old = block("to_do", 1, rich_text=[text("a")], checked=False, color="default")
    sent, _ = converse(work("update_block", block_id=PAGE_ID, markdown="**b**"), old, old)
    assert [call.method for call in sent] == ["GET", "PATCH"]
    words = [{"type": "text", "text": {"content": "b"}, "annotations": {"bold": True}}]
    assert sent[1].json == {"to_do": {"rich_text": words}}


# -- comments -----------------------------------------------------------------------------------------


def test_a_comment_keeps_its_lines_and_mentions() -> None:
    made = comment(f"Hello [@Ada](mention:{USER_ID}):\n\n- one\n  - two\n- [x] three\n\n1. a\n2. b\n\n> said\n\n`x`")
    words = "".join(each["text"]["content"] if each["type"] == "text" else "@" for each in made)
    assert words == "Hello @:\n\n- one\n  - two\n- [x] three\n\n1. a\n2. b\n\n> said\n\nx"
    assert made[-1]["annotations"] == {"code": True}


def test_a_comment_is_stable_after_it_was_in_notion_once() -> None:
    source = "# Plan\n\n- one **two**\n\n| a |\n|---|\n| b |\n\n---"
    once = comment_markdown([text(each["text"]["content"], **each.get("annotations", {})) for each in comment(source)])
    again = comment_markdown([text(each["text"]["content"], **each.get("annotations", {})) for each in comment(once)])
    assert once == again
    assert len(read(once)) == 1


@pytest.mark.parametrize("source", ["<!-- not carried: date -->", "- <!-- not carried: date -->", "a" + "*b*c" * 60])
def test_a_comment_that_notion_cannot_hold_is_refused(source: str) -> None:
    with pytest.raises(InvalidRequest):
        comment(source)


def test_the_pages_inside_a_page_are_rows() -> None:
    block = {"id": "59833787-2cf9-4fdf-8782-e53db20768a5", "type": "child_page", "child_page": {"title": "Plan"}}
    text = {"id": "x", "type": "paragraph", "paragraph": {}}
    first = {"results": [text, block], "has_more": True, "next_cursor": "c2"}
    sent, rows = converse(work("list_child_pages", page_id=block["id"]), first, {"results": [], "has_more": False})
    assert sent[1].query == {"page_size": 100, "start_cursor": "c2"}
    assert [(row["kind"], row["title"], row["url"]) for row in rows] == [
        ("page", "Plan", "https://www.notion.so/598337872cf94fdf8782e53db20768a5")
    ]
