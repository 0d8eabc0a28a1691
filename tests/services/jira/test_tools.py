"""How Jira pages, what stands beside its JSON, transitions step by step, and what is refused."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidArguments, InvalidRequest, UpstreamUnavailable
from mcpist.render.answer import compact
from mcpist.render.shows import project
from mcpist.running.run import add_page_urls
from mcpist.tools.declare.call import Call, PartialList
from mcpist_services.jira.tools import jira
from tests.services.answers.jira import issue, paragraph
from tests.services.conversation import converse, work_of

KEY = {"issue_key": "ENG-42"}
CLOSE = {"id": "31", "name": "Close", "hasScreen": True, "to": {"name": "Done"}}
START = {"id": "21", "name": "Start", "hasScreen": False, "to": {"name": "In Progress"}}


work = partial(work_of, jira)


def show(tool: str, raw: Any) -> str:
    return compact(raw, jira.tools[tool].shows)


# -- pages --------------------------------------------------------------------------------------------


def test_a_search_follows_the_token_and_asks_for_the_same_fields() -> None:
    calls = work("search", jql="project = ENG", limit=150, fields=["customfield_10016"])
    sent, found = converse(
        calls,
        {"isLast": False, "nextPageToken": "a+/==", "issues": [issue(f"ENG-{n}") for n in range(75)]},
        {"isLast": True, "issues": [issue(f"ENG-{n}") for n in range(75, 150)]},
    )
    assert [one["key"] for one in found["issues"]] == [f"ENG-{n}" for n in range(150)]
    assert [call.json.get("nextPageToken") for call in sent] == [None, "a+/=="]
    assert {tuple(call.json["fields"]) for call in sent} == {
        ("summary", "status", "priority", "assignee", "created", "updated", "customfield_10016")
    }
    assert {call.json["maxResults"] for call in sent} == {75}


def test_the_last_page_of_a_search_ends_it_even_if_it_has_a_token() -> None:
    _, found = converse(work("search", jql="a = 1"), {"isLast": True, "nextPageToken": "a", "issues": []})
    assert not isinstance(found, PartialList)


def test_a_search_that_repeats_a_page_is_stopped() -> None:
    page = {"nextPageToken": "a", "issues": [issue("ENG-1")]}
    with pytest.raises(UpstreamUnavailable):
        converse(work("search", jql="a = 1", fetch_all=True), page, dict(page))


def test_a_cut_search_continues_at_its_cursor() -> None:
    _, found = converse(
        work("search", jql="a = 1", limit=1), {"isLast": False, "nextPageToken": "a+/==", "issues": [issue("ENG-1")]}
    )
    assert isinstance(found, PartialList)
    cursor = found.more.partition("cursor=")[2].rstrip(".")
    call = next(work("search", jql="a = 1", limit=1, cursor=cursor))
    assert call.json["nextPageToken"] == "a+/=="


@pytest.mark.parametrize(
    ("tool", "arguments", "rows", "first", "last"),
    [
        ("list_projects", {}, "values", {"isLast": False}, {"isLast": True}),
        ("list_comments", KEY, "comments", {"total": 3}, {"total": 3}),
        ("list_worklogs", KEY, "worklogs", {"total": 3}, {"total": 3}),
        ("get_changelog", KEY, "values", {"isLast": False, "total": 9}, {"isLast": True, "total": 9}),
        ("list_boards", {}, "values", {"isLast": False}, {"isLast": True}),
        ("list_sprints", {"board_id": 5}, "values", {"isLast": False}, {"isLast": True}),
    ],
)
def test_a_list_continues_after_the_items_read(tool: str, arguments: Any, rows: str, first: Any, last: Any) -> None:
    sent, found = converse(
        work(tool, **arguments), {**first, rows: [{"id": 1}, {"id": 2}]}, {**last, rows: [{"id": 3}]}
    )
    assert [call.query.get("startAt") for call in sent] == [None, 2]
    assert [item["id"] for item in found[rows]] == [1, 2, 3]


def test_a_list_that_does_not_mark_its_end_is_one_page() -> None:
    sent, _ = converse(work("list_comments", **KEY), {"comments": [{"id": "1"}]})
    assert len(sent) == 1


def test_boards_are_read_fifty_at_a_time() -> None:
    assert next(work("list_boards", limit=500)).query["maxResults"] == 50


def test_people_are_read_until_a_page_is_not_full() -> None:
    people = [{"accountId": str(number)} for number in range(150)]
    sent, found = converse(work("search_users", query="m", limit=200), people[:100], people[100:])
    assert found == people
    assert [call.query.get("startAt") for call in sent] == [None, 100]


# -- what stands beside ------------------------------------------------------------------------------


def test_issues_show_the_additional_fields_that_were_requested() -> None:
    fields = {
        "customfield_10016": 3.0,
        "customfield_10020": [{"id": 37, "name": "Sprint 9"}],
        "customfield_10021": None,
        "customfield_10050": paragraph("Why"),
        "customfield_10051": {"self": "https://a.b", "value": "red"},
        "customfield_10052": {"hours": 2},
    }
    _, found = converse(work("search", jql="a = 1"), {"issues": [issue("ENG-42", **fields)]})
    assert found["issues"][0]["more"] == {
        "customfield_10016": 3.0,
        "customfield_10020": ["Sprint 9"],
        "customfield_10050": "Why",
        "customfield_10051": "red",
        "customfield_10052": {"hours": 2},
    }
    assert found["issues"][0]["fields"]["customfield_10050"] == paragraph("Why")


def test_an_issue_is_a_document_followed_by_its_comments() -> None:
    comments = [
        {"author": {"displayName": "Mia"}, "created": "2026-01-18", "body": paragraph("*Fixed*")},
        {"author": {"displayName": "Bo"}, "created": "2026-01-17", "body": paragraph("Mine.")},
    ]
    links = [
        {"type": {"inward": "is blocked by", "outward": "blocks"}, "outwardIssue": {"key": "ENG-43"}},
        {"type": {"inward": "is cloned by", "outward": "clones"}, "inwardIssue": {"key": "ENG-9"}},
    ]
    found = issue(
        "ENG-42", description=paragraph("Steps"), issuelinks=links, labels=["ui"], customfield_1={"name": "X"}
    )
    calls = work("get_issue", **KEY, comments=True, fields=["customfield_1", "customfield_2"])
    sent, raw = converse(calls, found, {"comments": comments})
    assert sent[1] == Call("GET", "/rest/api/3/issue/ENG-42/comment", {"orderBy": "-created", "maxResults": 20})
    assert raw["fields"]["description"] == paragraph("Steps")
    assert show("get_issue", raw).splitlines() == [
        "key: ENG-42",
        "summary: Login fails on Safari",
        "status: In Progress",
        "priority: High",
        "assignee: Mia Krystof",
        "updated: 2026-01-18T23:45:00.000+0000",
        "labels: ui",
        "links: blocks ENG-43, is cloned by ENG-9",
        'more: {"customfield_1":"X"}',
        "",
        "Steps",
        "",
        "## Comments",
        "",
        "**Mia**, 2026-01-18:",
        "",
        r"\*Fixed\*",
        "",
        "**Bo**, 2026-01-17:",
        "",
        "Mine.",
    ]


def test_an_issue_without_a_description_shows_its_fields() -> None:
    _, raw = converse(work("get_issue", **KEY), issue("ENG-42", description=None))
    assert show("get_issue", raw).endswith("updated: 2026-01-18T23:45:00.000+0000")


def test_comments_and_worklogs_are_read_as_markdown_beside_their_own_json() -> None:
    _, comments = converse(work("list_comments", **KEY), {"total": 1, "comments": [{"body": paragraph("A")}]})
    assert comments["comments"] == [{"body": paragraph("A"), "markdown": "A"}]
    _, logs = converse(work("list_worklogs", **KEY), {"total": 2, "worklogs": [{"comment": paragraph("B")}, {}]})
    assert [log["markdown"] for log in logs["worklogs"]] == ["B", ""]


def test_a_change_is_one_text_for_each_field() -> None:
    items = [
        {"field": "status", "fromString": "To Do", "toString": "Done"},
        {"field": "assignee", "fromString": None, "toString": "Mia"},
        {"field": "description", "fromString": "a" * 300, "toString": ""},
    ]
    _, found = converse(work("get_changelog", **KEY), {"isLast": True, "values": [{"id": "1", "items": items}]})
    assert found["values"][0]["changes"] == [
        "status: To Do -> Done",
        "assignee: nothing -> Mia",
        f"description: {'a' * 200}... -> nothing",
    ]


def test_fields_are_found_by_a_part_of_their_name_or_id() -> None:
    fields = [{"id": "customfield_10016", "name": "Story Points"}, {"id": "summary", "name": "Summary"}]
    assert converse(work("list_fields", query="story p"), fields)[1] == fields[:1]
    assert converse(work("list_fields", query="10016"), fields)[1] == fields[:1]
    assert converse(work("list_fields"), fields)[1] == fields


def test_the_issue_types_of_a_project_are_those_that_can_be_created_there() -> None:
    sent, types = converse(work("list_issue_types", project="ENG"), {"issueTypes": [{"id": "1"}], "total": 1})
    assert sent == [Call("GET", "/rest/api/3/issue/createmeta/ENG/issuetypes", {"maxResults": 200})]
    assert types == [{"id": "1"}]


# -- transitions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", ["31", "close", "Close", "DONE"])
def test_a_transition_is_found_by_its_id_its_name_or_its_status(wanted: str) -> None:
    sent, moved = converse(work("transition_issue", **KEY, transition=wanted), {"transitions": [START, CLOSE]}, None)
    place = "/rest/api/3/issue/ENG-42/transitions"
    assert sent == [Call("GET", place), Call("POST", place, json={"transition": {"id": "31"}})]
    assert moved == {"status": "Done", "comment": None}


@pytest.mark.parametrize("known", [[START], [CLOSE, CLOSE | {"id": "32"}], []])
def test_a_missing_or_ambiguous_transition_is_refused_with_the_choices(known: list[Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        converse(work("transition_issue", **KEY, transition="Done"), {"transitions": known})
    assert refused.value.details["field"] == "transition"
    assert all(found["id"] in refused.value.details["problem"] for found in known)


def test_a_comment_is_part_of_a_transition_that_has_a_screen() -> None:
    calls = work("transition_issue", **KEY, transition="31", comment="A", fields={"resolution": {"name": "Done"}})
    sent, moved = converse(calls, {"transitions": [CLOSE]}, None)
    assert sent[1].json == {
        "transition": {"id": "31"},
        "fields": {"resolution": {"name": "Done"}},
        "update": {"comment": [{"add": {"body": paragraph("A")}}]},
    }
    assert moved == {"status": "Done", "comment": None}


def test_a_comment_follows_a_transition_without_a_screen_which_would_drop_it() -> None:
    calls = work("transition_issue", **KEY, transition="21", comment="A")
    sent, moved = converse(calls, {"transitions": [START]}, None, {"id": "10050"})
    assert sent[1].json == {"transition": {"id": "21"}}
    assert sent[2] == Call("POST", "/rest/api/3/issue/ENG-42/comment", json={"body": paragraph("A")})
    assert moved == {"status": "In Progress", "comment": None}


def test_a_comment_that_cannot_be_written_is_refused_before_any_request() -> None:
    with pytest.raises(InvalidRequest) as refused:
        next(work("transition_issue", **KEY, transition="21", comment="<!-- not carried: expand -->"))
    assert refused.value.details["field"] == "comment"


def test_a_comment_that_fails_after_the_transition_does_not_hide_that_it_happened() -> None:
    failure = UpstreamUnavailable(service="jira", problem="it answered 503")
    calls = work("transition_issue", **KEY, transition="21", comment="A")
    _, moved = converse(calls, {"transitions": [START]}, None, failure)
    assert moved["status"] == "In Progress"
    assert moved["comment"].startswith("not added: ")
    assert "503" in moved["comment"]


# -- writing ------------------------------------------------------------------------------------------


def test_ids_and_names_are_distinguished() -> None:
    call = work("create_issue", project="10000", issue_type="10001", summary="A", priority="2", parent="10002")
    fields = call.json["fields"]
    assert [fields[name] for name in ("project", "issuetype", "priority", "parent")] == [
        {"id": "10000"},
        {"id": "10001"},
        {"id": "2"},
        {"id": "10002"},
    ]


def test_a_custom_field_is_sent_as_it_is_except_for_markdown() -> None:
    fields = {"customfield_1": {"markdown": "A"}, "customfield_2": {"value": "red"}, "duedate": None}
    call = work("update_issue", **KEY, fields=fields)
    assert call.json == {
        "fields": {"customfield_1": paragraph("A"), "customfield_2": {"value": "red"}, "duedate": None}
    }


def test_an_empty_description_clears_it() -> None:
    call = work("update_issue", **KEY, description="")
    assert call.json == {"fields": {"description": {"type": "doc", "version": 1, "content": []}}}


def test_labels_are_replaced_or_added_and_removed_but_not_both() -> None:
    with pytest.raises(InvalidRequest) as refused:
        work("update_issue", **KEY, labels=["a"], add_labels=["b"])
    assert refused.value.details["field"] == "labels"


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        work("update_issue", **KEY)


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("create_issue", {"project": "ENG", "issue_type": "Bug", "summary": "A", "description": "X"}, "description"),
        ("create_issue", {"project": "ENG", "issue_type": "Bug", "summary": "A", "environment": "X"}, "environment"),
        ("update_issue", KEY | {"fields": {"customfield_1": {"markdown": "X"}}}, "fields.customfield_1"),
        ("add_comment", KEY | {"body": "X"}, "body"),
        ("update_comment", KEY | {"comment_id": "1", "body": "X"}, "body"),
        ("add_worklog", KEY | {"time_spent": "1h", "comment": "X"}, "comment"),
        (
            "link_issues",
            {"link_type": "Blocks", "inward_issue": "A-1", "outward_issue": "A-2", "comment": "X"},
            "comment",
        ),
    ],
)
def test_a_refusal_of_content_that_was_not_carried_names_the_field(tool: str, arguments: Any, field: str) -> None:
    def lost(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: lost(inner) for name, inner in value.items()}
        return "<!-- not carried: warning panel -->" if value == "X" else value

    with pytest.raises(InvalidRequest) as refused:
        work(tool, **lost(arguments))
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(("account", "sent"), [("5b10", "5b10"), ("-1", "-1"), ("none", None), (None, None)])
def test_an_issue_is_assigned_to_a_person_to_the_default_or_to_nobody(account: str | None, sent: str | None) -> None:
    assert work("assign_issue", **KEY, account_id=account) == Call(
        "PUT", "/rest/api/3/issue/ENG-42/assignee", json={"accountId": sent}
    )


@pytest.mark.parametrize(
    "found",
    [
        [{"accountId": "a1", "emailAddress": "Aiko@example.com"}, {"accountId": "a2", "emailAddress": "x@example.com"}],
        [{"accountId": "a1"}, {"accountId": "a2", "active": False}],
    ],
    ids=["shown", "hidden"],
)
def test_an_assignee_may_be_named_by_an_address(found: list[dict[str, Any]]) -> None:
    sent, _ = converse(work("assign_issue", **KEY, account_id="aiko@example.com"), found, None)
    assert sent[0].query == {"query": "aiko@example.com"}
    assert sent[1].json == {"accountId": "a1"}
    opened = work("create_issue", project="ENG", issue_type="Bug", summary="x", assignee="aiko@example.com")
    assert converse(opened, found, {})[0][1].json["fields"]["assignee"] == {"id": "a1"}


@pytest.mark.parametrize("found", [[], [{"accountId": "a1"}, {"accountId": "a2"}]], ids=["nobody", "several"])
def test_an_address_that_is_not_one_persons_is_refused(found: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidRequest, match="search_users"):
        converse(work("assign_issue", **KEY, account_id="aiko@example.com"), found, None)


def test_a_forgotten_argument_does_not_unassign_an_issue() -> None:
    with pytest.raises(InvalidArguments):
        work("assign_issue", **KEY)


def test_an_internal_comment_is_hidden_from_customers() -> None:
    call = work("add_comment", **KEY, body="A", internal=True)
    assert call.json["properties"] == [{"key": "sd.public.comment", "value": {"internal": True}}]


@pytest.mark.parametrize(
    ("time", "started"),
    [
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000+0000"),
        ("2026-01-31T09:00+09:00", "2026-01-31T09:00:00.000+0900"),
        ("2026-01-31T09:00:00.25-0330", "2026-01-31T09:00:00.250-0330"),
    ],
)
def test_the_time_of_a_worklog_is_in_jiras_format(time: str, started: str) -> None:
    assert work("add_worklog", **KEY, time_spent="1h", started=time).json["started"] == started


@pytest.mark.parametrize("time", ["2026-01-31", "2026-01-31T09:00:00", "2026-13-31T09:00:00Z"])
def test_a_time_that_has_no_offset_or_does_not_exist_is_refused(time: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        work("list_worklogs", **KEY, started_after=time)
    assert refused.value.details["field"] == "started_after"


@pytest.mark.parametrize("duration", ["3h 20m", "1.5d", "2w 1d", "30m"])
def test_a_duration_is_in_weeks_days_hours_and_minutes(duration: str) -> None:
    assert work("add_worklog", **KEY, time_spent=duration).json == {"timeSpent": duration}


@pytest.mark.parametrize("duration", ["", "3", "3 hours", "h"])
def test_another_duration_is_refused(duration: str) -> None:
    with pytest.raises(InvalidArguments):
        work("add_worklog", **KEY, time_spent=duration)


@pytest.mark.parametrize("key", ["ENG-42", "eng-42", "A2_B-1", "10002"])
def test_an_issue_is_named_by_its_key_or_its_id(key: str) -> None:
    assert next(work("get_issue", issue_key=key)).path == f"/rest/api/3/issue/{key}"


@pytest.mark.parametrize("key", ["", "ENG", "ENG-", "ENG-42/comment", "../myself", "ENG-42\n"])
def test_an_invalid_key_is_refused_before_any_request(key: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        work("get_issue", issue_key=key)
    assert refused.value.details["field"] == "issue_key"


def test_a_sprint_takes_at_most_fifty_issues_at_once() -> None:
    with pytest.raises(InvalidArguments):
        work("move_to_sprint", sprint_id=1, issues=[f"ENG-{number}" for number in range(1, 52)])


def test_several_states_of_sprints_are_one_parameter() -> None:
    assert next(work("list_sprints", board_id=5, state=["active", "future"])).query["state"] == "active,future"


def test_resource_addresses_with_numbers_call_their_tools() -> None:
    assert jira.resources["sprint"].arguments("jira://sprints/37") == {"sprint_id": "37"}
    assert next(work("list_sprint_issues", sprint_id="37")).json["jql"] == "sprint = 37 ORDER BY rank"


KEYED = {"issue_key": "ENG-42"}


@pytest.mark.parametrize(
    ("tool", "item", "arguments", "place"),
    [
        ("get_issue", {"key": "ENG-42"}, {"issue_key": "10002"}, "/browse/ENG-42"),
        ("search", {"key": "ENG-42"}, {}, "/browse/ENG-42"),
        ("list_projects", {"key": "ENG"}, {}, "/browse/ENG"),
        ("update_issue", {"done": True}, KEYED, "/browse/ENG-42"),
        ("update_issue", {"done": True}, {"issue_key": "10002"}, None),
        ("transition_issue", {"status": "Done"}, KEYED, "/browse/ENG-42"),
        ("list_comments", {"id": "10050"}, KEYED, "/browse/ENG-42?focusedCommentId=10050"),
        ("add_comment", {"id": "10050"}, KEYED, "/browse/ENG-42?focusedCommentId=10050"),
        ("list_worklogs", {"id": "7"}, KEYED, "/browse/ENG-42?focusedWorklogId=7"),
        ("list_boards", {"id": 5}, {}, "/secure/RapidBoard.jspa?rapidView=5"),
        ("list_sprints", {"id": 37}, {"board_id": 5}, "/secure/RapidBoard.jspa?rapidView=5"),
    ],
)
def test_what_is_shown_has_the_address_that_people_open(
    tool: str, item: dict[str, Any], arguments: dict[str, Any], place: str | None
) -> None:
    declared = jira.tools[tool]
    answer = {declared.shows.rows: [item]} if declared.shows.rows else item
    add_page_urls(answer, declared, arguments, "https://acme.atlassian.net")
    (row,) = project(answer, declared.shows)
    assert row["url"] == (place and f"https://acme.atlassian.net{place}")


def test_a_watcher_is_named_by_an_id_or_an_address() -> None:
    added = work("add_watcher", **KEY, account_id="a1")
    assert (added.method, added.path, added.json) == ("POST", "/rest/api/3/issue/ENG-42/watchers", "a1")
    sent, _ = converse(work("remove_watcher", **KEY, account_id="aiko@example.com"), [{"accountId": "a1"}], None)
    assert (sent[1].method, sent[1].query) == ("DELETE", {"accountId": "a1"})
