"""Notion: text inside pages, changes of a database's properties, templates, views."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidRequest, UpstreamUnavailable
from mcpist.tools.declare.call import Call, PartialList
from mcpist_services.notion.tools import notion
from tests.services.answers.notion import PAGE, PAGE_ID, SOURCE, SOURCE_ID, listed
from tests.services.answers.notion_operations import VIEW, VIEW_ID
from tests.services.conversation import converse, work_of

work = partial(work_of, notion)

PICKED = {"type": "select", "select": {"options": [{"id": "1", "name": "To do", "color": "red"}]}}


def content(text: str) -> dict[str, Any]:
    return {"markdown": text}


def columns(known: dict[str, Any], **arguments: Any) -> Any:
    """The properties of the change that is sent to a data source with the known ones."""
    made = work("update_data_source", data_source_id=SOURCE_ID, **arguments)
    (_, change), _ = converse(made, {"properties": known}, SOURCE)
    return change.json.get("properties")


# -- text inside pages --------------------------------------------------------------------------------


def test_the_text_inside_pages_is_read_page_by_page() -> None:
    other = PAGE | {"id": "7cab1e9f-4f0c-4d0b-93a4-5d1b7f3f5a11"}
    found = listed(PAGE, other)
    made = work("search_text", text="deadline", title="Road", max_pages=5)
    sent, rows = converse(made, found, content("# Plan\nThe Deadline is Friday."), content("Nothing."))
    assert sent[0].json["query"] == "Road"
    assert sent[0].json["page_size"] == 5
    assert [one.path for one in sent[1:]] == [f"/v1/pages/{PAGE_ID}/markdown", f"/v1/pages/{other['id']}/markdown"]
    assert [(row["id"], row["title"], row["matches"]) for row in rows] == [
        (PAGE_ID, "Roadmap", ["The Deadline is Friday."])
    ]


def test_a_long_line_is_cut_around_the_text() -> None:
    line = "a" * 500 + " deadline " + "b" * 500
    _, (row,) = converse(work("search_text", text="deadline"), listed(PAGE), content(line))
    (match,) = row["matches"]
    assert "deadline" in match
    assert len(match) == 200


def test_a_search_of_text_says_when_it_has_not_read_everything() -> None:
    _, cut = converse(work("search_text", text="plan"), listed(PAGE, following=PAGE_ID), content("plan"))
    assert isinstance(cut, PartialList)
    assert len(cut.json) == 1
    broken = UpstreamUnavailable(service="notion", problem="it is down")
    _, cut = converse(work("search_text", text="plan"), listed(PAGE, PAGE), content("plan"), broken)
    assert isinstance(cut, PartialList)
    assert "1 of 2 pages" in cut.more
    with pytest.raises(UpstreamUnavailable):
        converse(work("search_text", text="plan"), listed(PAGE), broken)


def test_the_rows_of_a_data_source_are_searched_instead() -> None:
    sent, _ = converse(work("search_text", text="plan", data_source_id=SOURCE_ID), listed())
    assert sent[0].path == f"/v1/data_sources/{SOURCE_ID}/query"
    with pytest.raises(InvalidRequest):
        work("search_text", text="plan", title="Road", data_source_id=SOURCE_ID)


# -- properties ---------------------------------------------------------------------------------------


def test_more_options_keep_those_that_a_property_has() -> None:
    assert columns({"Stage": PICKED}, properties={"Stage": ["To do", "Done"]}) == {
        "Stage": {"select": {"options": [{"id": "1", "name": "To do"}, {"name": "Done"}]}}
    }


def test_properties_are_added_and_renamed_at_once() -> None:
    changed = columns({"Stage": PICKED}, properties={"Price": "number"}, rename={"Stage": "State"})
    assert changed == {"Price": {"number": {}}, "Stage": {"name": "State"}}
    both = columns({"Stage": PICKED}, properties={"Stage": ["Done"]}, rename={"Stage": "State"})
    assert both["Stage"]["name"] == "State"
    assert both["Stage"]["select"]["options"][-1] == {"name": "Done"}


@pytest.mark.parametrize("given", ["number", ["Done"]])
def test_another_type_for_a_property_is_refused(given: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        columns({"Due": {"type": "date", "date": {}}}, properties={"Due": given})
    assert refused.value.details["field"] == "properties"


def test_an_unknown_property_is_not_renamed() -> None:
    with pytest.raises(InvalidRequest) as refused:
        columns({"Stage": PICKED}, rename={"Due": "Deadline"})
    assert "Stage" in refused.value.details["problem"]


def test_a_title_alone_changes_no_property() -> None:
    assert columns({"Stage": PICKED}, title="Tasks") is None
    with pytest.raises(InvalidRequest):
        work("update_data_source", data_source_id=SOURCE_ID)


def test_a_property_is_deleted_by_null() -> None:
    (call,), _ = converse(work("delete_property", data_source_id=SOURCE_ID, name="Price"), SOURCE)
    assert call.json == {"properties": {"Price": None}}


# -- templates and views ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "sent"),
    [("default", {"type": "default"}), (PAGE_ID, {"type": "template_id", "template_id": PAGE_ID})],
)
def test_a_row_is_made_from_a_template(template: str, sent: dict[str, str]) -> None:
    made = work("create_page", title="Crash", data_source_id=SOURCE_ID, template=template)
    assert isinstance(made, Call)
    assert made.json["template"] == sent


@pytest.mark.parametrize("wrong", [{"parent_page_id": PAGE_ID}, {"data_source_id": SOURCE_ID, "markdown": "# A"}])
def test_a_template_is_for_a_row_without_text(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        work("create_page", title="Crash", template="default", **wrong)


def test_the_rows_of_a_view_are_filtered_and_sorted_as_it_is() -> None:
    sent, rows = converse(work("query_view", view_id=VIEW_ID, limit=5), VIEW, listed(PAGE))
    assert sent[1].path == f"/v1/data_sources/{SOURCE_ID}/query"
    assert sent[1].json == {"filter": VIEW["filter"], "sorts": VIEW["sorts"], "page_size": 5}
    assert rows["results"][0]["id"] == PAGE_ID


def test_a_view_without_rows_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        converse(work("query_view", view_id=VIEW_ID), VIEW | {"data_source_id": None, "type": "dashboard"})
