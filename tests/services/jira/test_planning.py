"""How fields, links, many issues, sprints and versions of Jira are read and changed."""

from functools import partial
from typing import Any

import pytest

from mcpist.errors import InvalidRequest
from mcpist.tools.declare.call import Call
from mcpist_services.jira.fields import MAX_ALLOWED_VALUES
from mcpist_services.jira.tools import jira
from tests.services.conversation import converse, work_of

work = partial(work_of, jira)

OPTION = {"key": "customfield_1", "name": "Team", "required": True, "schema": {"type": "option"}}
TYPES = {"issueTypes": [{"id": "10001", "name": "Bug"}, {"id": "10002", "name": "Story"}]}
TRANSITION = {"id": "31", "name": "Close", "to": {"name": "Done"}}
EDITED = {"fields": {"priority": {"allowedValues": [{"id": "2", "name": "High"}, {"id": "3", "name": "Low"}]}}}


def call(tool: str, **arguments: Any) -> Call:
    made = work(tool, **arguments)
    assert isinstance(made, Call)
    return made


# -- fields -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("issue_type", ["story", "10002"])
def test_the_fields_of_a_new_issue_are_found_by_the_name_or_id_of_its_type(issue_type: str) -> None:
    fields = {"fields": [{**OPTION, "fieldId": "customfield_1", "allowedValues": [{"id": "1", "value": "Web"}]}]}
    sent, rows = converse(work("list_create_fields", project="ENG", issue_type=issue_type), TYPES, fields)
    assert [one.path for one in sent] == [
        "/rest/api/3/issue/createmeta/ENG/issuetypes",
        "/rest/api/3/issue/createmeta/ENG/issuetypes/10002",
    ]
    assert [(row["id"], row["type"], row["allowed"]) for row in rows] == [("customfield_1", "option", ["Web"])]


def test_an_unknown_issue_type_is_answered_with_those_of_the_project() -> None:
    with pytest.raises(InvalidRequest) as refused:
        converse(work("list_create_fields", project="ENG", issue_type="Epic"), TYPES)
    assert "Bug, Story" in refused.value.details["problem"]


def test_the_fields_of_a_transition_are_those_of_the_status_that_it_leads_to() -> None:
    closing = TRANSITION | {"fields": {"resolution": {**OPTION, "name": "Resolution"}}}
    made = work("list_transition_fields", issue_key="ENG-42", transition="done")
    sent, rows = converse(made, {"transitions": [TRANSITION | {"id": "1", "name": "x", "to": {"name": "y"}}, closing]})
    assert sent[0].query == {"expand": "transitions.fields"}
    assert [(row["id"], row["name"], row["allowed"]) for row in rows] == [("resolution", "Resolution", None)]


def test_a_list_says_what_it_holds_and_many_values_are_cut() -> None:
    values = [{"name": f"1.{number}"} for number in range(MAX_ALLOWED_VALUES + 3)]
    versions = {"name": "Fix versions", "required": False, "schema": {"type": "array", "items": "version"}}
    answer = {"fields": {"fixVersions": versions | {"allowedValues": values}}}
    _, (row,) = converse(work("list_edit_fields", issue_key="ENG-42"), answer)
    assert row["type"] == "array of version"
    assert row["allowed"][-2:] == [f"1.{MAX_ALLOWED_VALUES - 1}", "... and 3 more"]


# -- links --------------------------------------------------------------------------------------------


def test_a_link_is_shown_with_its_own_id_and_the_words_of_its_direction() -> None:
    kind = {"inward": "is blocked by", "outward": "blocks"}
    links = [
        {"id": "1", "type": kind, "outwardIssue": {"id": "901", "key": "ENG-43"}},
        {"id": "2", "type": kind, "inwardIssue": {"id": "902", "key": "ENG-9"}},
    ]
    _, rows = converse(work("list_links", issue_key="ENG-42"), {"fields": {"issuelinks": links}})
    assert [(row["id"], row["relation"], row["key"]) for row in rows] == [
        ("1", "blocks", "ENG-43"),
        ("2", "is blocked by", "ENG-9"),
    ]


# -- people -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"project": "ENG", "issue_key": "ENG-42"}])
def test_people_are_assignable_in_a_project_or_to_an_issue(arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        work("list_assignable_users", **arguments)


# -- many issues --------------------------------------------------------------------------------------


def test_many_issues_are_changed_by_one_request() -> None:
    made = call("update_issues", issue_keys=["ENG-1", "ENG-2"], labels=["ui"], how="replace", assignee="none")
    assert made.json == {
        "selectedIssueIdsOrKeys": ["ENG-1", "ENG-2"],
        "selectedActions": ["labels", "assignee"],
        "editedFieldsInput": {
            "labelsFields": [
                {"fieldId": "labels", "bulkEditMultiSelectFieldOption": "REPLACE", "labels": [{"name": "ui"}]}
            ],
            "singleSelectClearableUserPickerFields": [{"fieldId": "assignee", "user": None}],
        },
        "sendBulkNotification": False,
    }


def test_a_priority_is_found_by_its_name() -> None:
    sent, _ = converse(work("update_issues", issue_keys=["ENG-1"], priority="low"), EDITED, {"taskId": "1"})
    assert sent[0].path == "/rest/api/3/issue/ENG-1/editmeta"
    assert sent[1].json["editedFieldsInput"] == {"priority": {"priorityId": "3"}}
    with pytest.raises(InvalidRequest) as refused:
        converse(work("update_issues", issue_keys=["ENG-1"], priority="Urgent"), EDITED)
    assert "High, Low" in refused.value.details["problem"]


def test_many_issues_are_moved_by_the_transition_of_the_first() -> None:
    made = work("transition_issues", issue_keys=["ENG-1", "ENG-2"], transition="Done")
    sent, _ = converse(made, {"transitions": [TRANSITION]}, {"taskId": "1"})
    assert sent[1].json["bulkTransitionInputs"] == [
        {"selectedIssueIdsOrKeys": ["ENG-1", "ENG-2"], "transitionId": "31"}
    ]


def test_a_change_of_nothing_is_refused() -> None:
    for tool, arguments in {"update_issues": {"issue_keys": ["ENG-1"]}, "update_sprint": {"sprint_id": 1}}.items():
        with pytest.raises(InvalidRequest):
            work(tool, **arguments)


# -- sprints and versions -----------------------------------------------------------------------------


def test_a_sprint_starts_now_with_the_end_that_it_has() -> None:
    made = call("start_sprint", sprint_id=37)
    assert made.path == "/rest/agile/1.0/sprint/37"
    assert set(made.json) == {"state", "startDate"}
    assert made.json["state"] == "active"
    assert call("close_sprint", sprint_id=37).json == {"state": "closed"}


def test_a_version_belongs_to_the_project_by_its_id() -> None:
    made = work("create_version", project="ENG", name="1.4", release_date="2026-03-31")
    sent, _ = converse(made, {"id": "10000", "key": "ENG"}, {"id": "1"})
    assert sent[1].json == {"projectId": 10000, "name": "1.4", "releaseDate": "2026-03-31"}


def test_a_version_is_released_and_taken_back() -> None:
    assert call("update_version", version_id="1", released=True).json == {"released": True}
    assert call("update_version", version_id="1", released=False).json == {"released": False}


@pytest.mark.parametrize(("project", "place"), [("ENG", "/projects/ENG/versions/10010"), ("10000", None)])
def test_a_versions_page_is_named_where_the_projects_key_is_known(project: str, place: str | None) -> None:
    page_path = jira.tools["list_versions"].page_path
    assert page_path
    assert page_path({"id": "10010"}, {"project": project}) == place
