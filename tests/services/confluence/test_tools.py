"""Confluence's tools: what is read before it is written, how lists go on, and what is refused."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import Conflict, InvalidArguments, InvalidRequest, ToolExecutionError
from mcpist.render.answer import compact
from mcpist.render.shows import project
from mcpist.running.run import add_page_urls
from mcpist.tools.declare.call import Call, PartialList, ServiceResponse
from mcpist_services.confluence.tools import confluence
from tests.services.answers.confluence import ANSWERS, FOUND, PAGE, SITE
from tests.services.conversation import converse, work_of

work = partial(work_of, confluence)


def page_of(results: list[dict[str, Any]], following: str = "") -> dict[str, Any]:
    return {"results": results, "_links": {"base": SITE} | ({"next": following} if following else {})}


# -- pages --------------------------------------------------------------------------------------------


def test_a_page_is_a_markdown_document_beside_the_vendors_own_json() -> None:
    (call,), page = converse(work("get_page", page_id="65551"), PAGE)
    assert call == Call("GET", "/wiki/api/v2/pages/65551", {"body-format": "storage"})
    assert {name: page[name] for name in PAGE} == PAGE
    assert compact(page, confluence.tools["get_page"].shows) == (
        "id: 65551\ntitle: Release plan\nstatus: current\nspace_id: 98306\nparent_id: 65549\n"
        "created: 2026-01-30T09:00:00.000Z\nupdated: 2026-01-31T09:00:00.000Z\nversion: 4\n"
        f"url: {SITE}/spaces/ENG/pages/65551/Release+plan\n\n## Goals\n\nWe ship on **Friday**."
    )


def test_a_page_without_text_is_an_empty_document() -> None:
    empty = PAGE | {"body": {"storage": {"representation": "storage", "value": ""}}}
    assert converse(work("get_page", page_id="65551"), empty)[1]["markdown"] == ""


def test_an_update_sends_the_next_version_and_keeps_fields_that_are_left_out() -> None:
    sent, made = converse(work("update_page", page_id="65551", title="Plan B"), PAGE, PAGE | {"title": "Plan B"})
    assert sent[0] == Call("GET", "/wiki/api/v2/pages/65551", {"body-format": "storage"})
    new = {"id": "65551", "status": "current", "title": "Plan B", "body": PAGE["body"]["storage"]}
    assert sent[1] == Call("PUT", "/wiki/api/v2/pages/65551", json=new | {"version": {"number": 5}})
    assert made["url"] == f"{SITE}/spaces/ENG/pages/65551/Release+plan"


def test_a_new_text_replaces_the_old_one() -> None:
    calls = work("update_page", page_id="65551", body="New *text*.", parent_id="7", message="Why not")
    (read, write), _ = converse(calls, PAGE, PAGE)
    assert read.query == {"body-format": "storage"}
    assert write.json == {
        "id": "65551",
        "status": "current",
        "title": "Release plan",
        "parentId": "7",
        "body": {"representation": "storage", "value": "<p>New <em>text</em>.</p>"},
        "version": {"number": 5, "message": "Why not"},
    }


@pytest.mark.parametrize(("status", "change"), [("draft", {"status": "current"}), ("current", {"status": "draft"})])
def test_a_draft_has_only_one_version(status: str, change: dict[str, str]) -> None:
    (_, write), _ = converse(work("update_page", page_id="65551", **change), PAGE | {"status": status}, PAGE)
    assert write.json["status"] == change["status"]
    assert write.json["version"] == {"number": 1}


def test_a_page_that_somebody_else_changed_meanwhile_is_not_overwritten() -> None:
    calls = work("update_page", page_id="65551", title="Plan B")
    next(calls)
    calls.send(ServiceResponse(200, {}, PAGE))
    conflict = ToolExecutionError(service="confluence", http_status=409, problem="Version must be incremented")
    with pytest.raises(Conflict):
        calls.throw(conflict)


def test_a_page_is_changed_only_if_its_version_is_the_one_that_was_read() -> None:
    change = {"page_id": "65551", "title": "Plan B"}
    with pytest.raises(Conflict):
        converse(work("update_page", **change, version=3), PAGE)
    sent, _ = converse(work("update_page", **change, version=4), PAGE, PAGE)
    assert sent[1].json["version"]["number"] == 5


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        work("update_page", page_id="65551", message="nothing")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("append_to_page", {"page_id": "65551"}),
        ("create_page", {"space_id": "98306", "title": "A"}),
        ("add_comment", {"page_id": "65551"}),
    ],
)
def test_a_text_that_would_delete_lost_parts_is_refused_before_any_request(
    tool: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        work(tool, **arguments, body="a\n\n<!-- not carried: toc macro -->")
    assert refused.value.details["field"] == "body"


def test_a_page_is_made_of_markdown() -> None:
    calls = work("create_page", space_id="98306", title="Plan", body="- [ ] a", parent_id="7", private=True)
    (call,), made = converse(calls, PAGE)
    assert (call.method, call.path, call.query) == ("POST", "/wiki/api/v2/pages", {"private": True})
    assert call.json["body"]["value"].startswith("<ac:task-list>")
    assert made["id"] == "65551"


@pytest.mark.parametrize("page_id", ["ENG", "65551/../1", "", "６５"])  # noqa: RUF001
def test_a_pages_id_is_a_number(page_id: str) -> None:
    with pytest.raises(InvalidArguments):
        work("get_page", page_id=page_id)


# -- lists --------------------------------------------------------------------------------------------


def test_pages_continue_at_the_cursor_of_the_next_link() -> None:
    following = "https://evil.example/wiki/api/v2/pages?limit=9&cursor=eyJpZCI6IjEifQ%3D%3D&title=x&space-id=2"
    calls = work("list_pages", space_id="98306", limit=300)
    sent, listed = converse(calls, page_of([{"id": "1"}] * 150, following), page_of([{"id": "2"}] * 150))
    assert len(listed["results"]) == 300
    assert sent[1] == Call(
        "GET", "/wiki/api/v2/pages", {"space-id": "98306", "limit": 150, "cursor": "eyJpZCI6IjEifQ=="}
    )


def test_a_cut_list_says_how_to_continue() -> None:
    calls = work("list_spaces", limit=1)
    _, cut = converse(calls, page_of([{"id": "1"}], "/wiki/api/v2/spaces?cursor=a+b%2Bc%3D&limit=1"))
    assert isinstance(cut, PartialList)
    assert "cursor=cursor=a%2Bb%2Bc%3D" in cut.more
    again = next(work("list_spaces", limit=1, cursor="cursor=a%2Bb%2Bc%3D"))
    assert again.query["cursor"] == "a+b+c="


def test_a_search_continues_at_its_cursor_with_the_same_query() -> None:
    calls = work("search", cql="type = page", limit=2)
    sent, found = converse(calls, ANSWERS["searchByCQL"], page_of([FOUND]))
    query = {"cql": "type = page", "expand": "content.space", "limit": 2}
    assert sent == [
        Call("GET", "/wiki/rest/api/search", query),
        Call("GET", "/wiki/rest/api/search", query | {"cursor": "_sa_Wyc=", "next": "true", "start": "1"}),
    ]
    assert len(found["results"]) == 2


def test_search_results_are_plain_text() -> None:
    shows = confluence.tools["search"].shows
    space = {"title": "R &amp; D", "entityType": "space", "url": "/spaces/RD", "excerpt": "", "lastModified": "2026"}
    _, found = converse(work("search", cql="text ~ release"), page_of([FOUND, space]))
    assert [list(row.values()) for row in project(found, shows)] == [
        [
            "65551",
            "Release plan",
            "page",
            "ENG",
            f"{SITE}/spaces/ENG/pages/65551/Release+plan",
            "We release R&D on Friday",
            "2026-01-31T09:00:00.000Z",
        ],
        [None, "R & D", "space", None, f"{SITE}/spaces/RD", "", "2026"],
    ]


def test_comments_and_tasks_are_markdown() -> None:
    (comment,) = ANSWERS["getPageInlineComments"]["results"]
    _, listed = converse(work("list_comments", page_id="65551", kind="inline"), page_of([comment]))
    assert listed["results"] == [comment | {"markdown": "Really?", "about": "Friday", "resolution": "open"}]
    _, tasks = converse(work("list_tasks"), page_of([{"id": "1", "body": {"storage": {"value": "a <b>b</b>"}}}, {}]))
    assert [task["markdown"] for task in tasks["results"]] == ["a **b**", ""]


def test_files_have_complete_urls() -> None:
    file = {"id": "att1", "title": "a.pdf", "downloadLink": "/download/attachments/65551/a.pdf?version=1"}
    _, listed = converse(work("list_attachments", page_id="65551"), page_of([file, {"id": "att2"}]))
    assert [each["url"] for each in listed["results"]] == [f"{SITE}/download/attachments/65551/a.pdf?version=1", None]


# -- comments, labels, tasks --------------------------------------------------------------------------


def test_replies_are_listed_by_the_comment() -> None:
    call = next(work("list_comments", comment_id="131073", kind="inline"))
    assert call.path == "/wiki/api/v2/inline-comments/131073/children"


@pytest.mark.parametrize("place", [{}, {"page_id": "1", "comment_id": "2"}])
def test_comments_are_listed_for_exactly_one_parent(place: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        work("list_comments", **place)


@pytest.mark.parametrize("place", [{}, {"page_id": "1", "parent_comment_id": "2"}, {"page_id": "1", "kind": "inline"}])
def test_a_comment_is_below_a_page_or_replies_to_one(place: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        work("add_comment", body="a", **place)


@pytest.mark.parametrize("label", ["a b", "", "a\n"])
def test_a_label_has_no_spaces(label: str) -> None:
    with pytest.raises(InvalidArguments):
        work("remove_label", page_id="1", label=label)


def test_a_label_stays_one_part_of_the_path() -> None:
    call = work("remove_label", page_id="1", label="a/b?c")
    assert call == Call("DELETE", "/wiki/rest/api/content/1/label/a%2Fb%3Fc")


def test_times_are_sent_in_milliseconds() -> None:
    call = next(work("list_tasks", due_at_from="1970-01-02T00:00:00Z"))
    assert call.query["due-at-from"] == 86_400_000


def test_a_day_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        work("list_tasks", due_at_to="2026-02-30T00:00:00Z")
    assert refused.value.details["field"] == "due_at_to"


def test_a_spaces_key_cannot_leave_its_place_in_a_query() -> None:
    with pytest.raises(InvalidRequest):
        confluence.prompts["find_stale_pages"].render({"space_key": 'A" OR space != "'})
    assert 'space = "~712020" AND lastmodified < now("-3M")' in confluence.prompts["find_stale_pages"].render(
        {"space_key": "~712020", "months": "3"}
    )


@pytest.mark.parametrize(
    ("tool", "item", "place"),
    [
        ("list_pages", {"id": "1", "_links": {"webui": "/spaces/ENG/pages/1/Plan"}}, "/spaces/ENG/pages/1/Plan"),
        ("list_pages", {"id": "2"}, None),
        ("list_spaces", {"id": "1", "_links": {"webui": "/spaces/ENG"}}, "/spaces/ENG"),
        ("list_comments", {"id": "7", "_links": {"webui": "/x?focusedCommentId=7"}}, "/x?focusedCommentId=7"),
        ("list_children", {"id": "3", "type": "page"}, "/pages/viewpage.action?pageId=3"),
        ("list_children", {"id": "3", "type": "folder"}, None),
        ("list_descendants", {"id": "3", "type": "page"}, "/pages/viewpage.action?pageId=3"),
        ("list_tasks", {"id": "9", "pageId": "3"}, "/pages/viewpage.action?pageId=3"),
    ],
)
def test_what_is_listed_has_the_address_that_people_open(tool: str, item: dict[str, Any], place: str | None) -> None:
    listed = {"results": [item]}
    add_page_urls(listed, confluence.tools[tool], {}, "https://acme.atlassian.net")
    (row,) = project(listed, confluence.tools[tool].shows)
    assert row["url"] == (place and f"https://acme.atlassian.net/wiki{place}")


def restricted(*operations: str) -> dict[str, Any]:
    people = {"results": [{"accountId": "a1", "displayName": "Aiko"}]}
    groups = {"results": [{"id": "g1", "name": "designers"}]}
    return {"results": [{"operation": one, "restrictions": {"user": people, "group": groups}} for one in operations]}


def test_a_restriction_of_one_operation_keeps_the_others() -> None:
    asked = work("set_restriction", page_id="65551", operation="update", account_ids=["a2"])
    sent, rows = converse(asked, restricted("read", "update"), restricted("read"))
    kept = {"user": [{"type": "known", "accountId": "a1"}], "group": [{"type": "group", "id": "g1"}]}
    new = {"user": [{"type": "known", "accountId": "a2"}], "group": []}
    assert sent[1].json == [
        {"operation": "read", "restrictions": kept},
        {"operation": "update", "restrictions": new},
    ]
    assert rows[0] == {"operation": "read", "kind": "user", "id": "a1", "name": "Aiko"}


def test_two_versions_are_compared_by_their_markdown() -> None:
    def version(number: int, text: str) -> dict[str, Any]:
        return {"id": "1", "title": "Plan", "version": {"number": number}, "body": {"storage": {"value": text}}}

    asked = work("compare_versions", page_id="65551", from_version=2)
    sent, found = converse(asked, version(2, "<p>a</p><p>b</p>"), version(4, "<p>a</p><p>c</p>"))
    assert [call.query.get("version") for call in sent] == [2, None]
    assert (found["from"], found["to"]) == (2, 4)
    assert "-b\n+c\n" in found["diff"]


def test_a_changed_comment_has_the_next_version() -> None:
    asked = work("update_comment", comment_id="131073", body="Done", kind="inline")
    sent, _ = converse(asked, {"version": {"number": 3}}, {"id": "131073", "version": {"number": 4}})
    assert (sent[1].method, sent[1].path) == ("PUT", "/wiki/api/v2/inline-comments/131073")
    assert sent[1].json["version"] == {"number": 4}
