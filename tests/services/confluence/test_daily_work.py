"""Confluence: copies, blog posts, comments on words, people."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import Conflict, InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.confluence.tools import confluence
from tests.services.answers.confluence import PAGE
from tests.services.conversation import converse, work_of

work = partial(work_of, confluence)

POST = {name: value for name, value in PAGE.items() if not name.startswith("parent")}


def with_text(source: str) -> dict[str, Any]:
    return PAGE | {"body": {"storage": {"representation": "storage", "value": source}}}


# -- copies -------------------------------------------------------------------------------------------


def test_a_copy_is_put_beside_its_original() -> None:
    sent, copied = converse(work("copy_page", page_id="65551", title="Plan B"), PAGE, {"id": "7", "_links": {}})
    assert sent[0] == Call("GET", "/wiki/api/v2/pages/65551")
    assert sent[1].path == "/wiki/rest/api/content/65551/copy"
    assert sent[1].json == {
        "pageTitle": "Plan B",
        "copyAttachments": True,
        "copyLabels": True,
        "destination": {"type": "parent_page", "value": PAGE["parentId"]},
    }
    assert copied["id"] == "7"


@pytest.mark.parametrize(
    ("place", "destination"),
    [
        ({"parent_id": "9"}, {"type": "parent_page", "value": "9"}),
        ({"space_key": "OPS"}, {"type": "space", "value": "OPS"}),
    ],
)
def test_a_copy_is_put_where_it_is_wanted(place: dict[str, str], destination: dict[str, str]) -> None:
    (call,), _ = converse(work("copy_page", page_id="65551", title="Plan B", **place), {"id": "7"})
    assert call.json["destination"] == destination


def test_a_copy_of_a_page_under_no_other_needs_a_place() -> None:
    with pytest.raises(InvalidRequest):
        converse(work("copy_page", page_id="65551", title="Plan B"), PAGE | {"parentId": None})
    with pytest.raises(InvalidRequest):
        work("copy_page", page_id="65551", title="Plan B", parent_id="9", space_key="OPS")


# -- blog posts ---------------------------------------------------------------------------------------


def test_a_blog_post_is_changed_whole_as_its_next_version() -> None:
    made = work("update_blog_post", blog_post_id="65551", body="New.", version=4, message="Shorter")
    sent, _ = converse(made, POST, POST)
    assert [one.path for one in sent] == ["/wiki/api/v2/blogposts/65551"] * 2
    assert sent[1].json == {
        "id": "65551",
        "status": "current",
        "title": "Release plan",
        "body": {"representation": "storage", "value": "<p>New.</p>"},
        "version": {"number": 5, "message": "Shorter"},
    }
    with pytest.raises(Conflict):
        converse(work("update_blog_post", blog_post_id="65551", body="New.", version=3), POST)


# -- comments on words --------------------------------------------------------------------------------


def test_a_comment_marks_the_words_that_it_is_about() -> None:
    page = with_text("<p>Friday, or <em>Friday</em>?</p>")
    made = work("add_inline_comment", page_id="65551", text="Friday", body="Sure?", place=2)
    sent, _ = converse(made, page, {"id": "1"})
    assert sent[1].json == {
        "pageId": "65551",
        "body": {"representation": "storage", "value": "<p>Sure?</p>"},
        "inlineCommentProperties": {
            "textSelection": "Friday",
            "textSelectionMatchCount": 2,
            "textSelectionMatchIndex": 1,
        },
    }


@pytest.mark.parametrize(
    ("text", "place", "field"),
    [("Monday", None, "text"), ("Friday", None, "place"), ("Friday", 3, "place")],
    ids=["words that are not there", "words that are there twice", "a place that is not there"],
)
def test_words_that_are_not_clear_are_refused(text: str, place: int | None, field: str) -> None:
    made = work("add_inline_comment", page_id="65551", text=text, body="Sure?", **({"place": place} if place else {}))
    with pytest.raises(InvalidRequest) as refused:
        converse(made, with_text("<p>Friday, or Friday?</p>"))
    assert refused.value.details["field"] == field


@pytest.mark.parametrize("resolved", [True, False])
def test_a_comment_is_resolved_with_the_text_that_it_has(resolved: bool) -> None:
    comment = with_text("<p>Really?</p>") | {"version": {"number": 2}}
    sent, _ = converse(work("resolve_comment", comment_id="131074", resolved=resolved), comment, {"id": "131074"})
    assert sent[1].json == {
        "version": {"number": 3},
        "body": {"representation": "storage", "value": "<p>Really?</p>"},
        "resolved": resolved,
    }


# -- people -------------------------------------------------------------------------------------------


def test_a_name_cannot_leave_its_place_in_a_query() -> None:
    call = next(work("search_users", name='Aiko" OR type = "page\\'))
    assert call.query["cql"] == 'user.fullname ~ "Aiko\\" OR type = \\"page\\\\"'


def test_people_are_listed_to_the_last() -> None:
    person = {"user": {"accountId": "1"}}
    made = work("search_users", name="Aiko", limit=2, page_size=1)
    sent, found = converse(made, {"results": [person], "totalSize": 2}, {"results": [person], "totalSize": 2})
    assert [one.query.get("start") for one in sent] == [None, 1]
    assert len(found["results"]) == 2
