"""Jira's answers, and corrections of its description."""

from typing import Any

from tests.services.answers.amendments import confine
from tests.services.answers.jira_operations import ATTACHMENT, add_operations

PERSON = {"accountId": "5b10a2844c20165700ede21g", "displayName": "Mia Krystof", "active": True}


RESOLUTION = {
    "key": "resolution",
    "name": "Resolution",
    "required": True,
    "operations": ["set"],
    "schema": {"type": "resolution", "system": "resolution"},
    "allowedValues": [{"id": "10000", "name": "Done"}, {"id": "10001", "name": "Duplicate"}],
}
PRIORITY = {
    "key": "priority",
    "name": "Priority",
    "required": False,
    "operations": ["set"],
    "schema": {"type": "priority", "system": "priority"},
    "allowedValues": [{"id": "2", "name": "High"}, {"id": "3", "name": "Medium"}],
}
LABELS = {
    "key": "labels",
    "name": "Labels",
    "required": False,
    "operations": ["add", "set", "remove"],
    "schema": {"type": "array", "items": "string", "system": "labels"},
}


def paragraph(text: str) -> dict[str, Any]:
    return {
        "type": "doc",
        "version": 1,
        "content": [{"type": "paragraph", "content": [{"type": "text", "text": text}]}],
    }


def issue(key: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": "10002",
        "key": key,
        "self": "https://api.atlassian.com/ex/jira/1/rest/api/3/issue/10002",
        "fields": {
            "summary": "Login fails on Safari",
            "status": {"name": "In Progress", "statusCategory": {"key": "indeterminate"}},
            "priority": {"name": "High"},
            "assignee": PERSON,
            "updated": "2026-01-18T23:45:00.000+0000",
            **fields,
        },
    }


LINKED = {
    "key": "ENG-43",
    "fields": {"summary": "Cookies", "status": {"name": "Done"}, "priority": {"name": "Low"}},
}


def found(call: Any) -> dict[str, Any]:
    """Two pages, each with what was asked for."""
    fields = {"customfield_10016": 3.0} if "customfield_10016" in call.json["fields"] else {}
    if "nextPageToken" in call.json:
        return {"isLast": True, "issues": [issue("ENG-43", **fields)]}
    return {"isLast": False, "nextPageToken": "Q2h8+/==", "issues": [issue("ENG-42", **fields)]}


ANSWERS: dict[str, Any] = {
    "getProject": {
        "id": "10000",
        "key": "ENG",
        "name": "Engineering",
        "projectTypeKey": "software",
        "lead": PERSON,
        "description": "All that runs",
        "issueTypes": [{"id": "10001", "name": "Bug"}],
        "components": [{"id": "1", "name": "Web"}],
        "versions": [{"id": "10010", "name": "1.4"}],
    },
    "getEditIssueMeta": {"fields": {"priority": PRIORITY, "labels": LABELS}},
    "getCreateIssueMetaIssueTypes": {
        "issueTypes": [{"id": "10001", "name": "Bug", "subtask": False, "description": "A defect"}],
        "total": 1,
    },
    "getCreateIssueMetaIssueTypeId": {
        "fields": [PRIORITY | {"fieldId": "priority"}, LABELS | {"fieldId": "labels"}],
        "maxResults": 50,
        "startAt": 0,
        "total": 2,
    },
    "getIssuesForBacklog": {"maxResults": 50, "startAt": 0, "total": 1, "issues": [issue("ENG-42")]},
    "findUsers": [PERSON | {"accountType": "atlassian", "emailAddress": "mia@example.com"}],
    "searchAndReconsileIssuesUsingJqlPost": found,
    "getIssue": issue(
        "ENG-42",
        issuetype={"name": "Bug"},
        resolution=None,
        reporter=PERSON,
        labels=["ui", "safari"],
        components=[{"name": "Web"}],
        fixVersions=[],
        duedate="2026-01-31",
        created="2026-01-17T12:34:00.000+0000",
        subtasks=[{"key": "ENG-44"}],
        issuelinks=[
            {"id": "10001", "type": {"inward": "is blocked by", "outward": "blocks"}, "outwardIssue": LINKED},
            {"id": "10002", "type": {"inward": "is cloned by", "outward": "clones"}, "inwardIssue": LINKED},
        ],
        attachment=[ATTACHMENT],
        environment=paragraph("Safari 19"),
        description=paragraph("Steps: ..."),
        parent={"key": "ENG-7"},
        customfield_10016=3.0,
    ),
    "getTransitions": {
        "transitions": [
            {
                "id": "21",
                "name": "Start",
                "hasScreen": False,
                "to": {"name": "In Progress", "statusCategory": {"name": "In Progress"}},
            },
            {
                "id": "31",
                "name": "Close",
                "hasScreen": True,
                "to": {"name": "Done", "statusCategory": {"name": "Done"}},
                "fields": {"resolution": RESOLUTION},
            },
        ]
    },
    "getAllSprints": {
        "maxResults": 50,
        "startAt": 0,
        "isLast": True,
        "values": [
            {
                "id": 37,
                "state": "active",
                "name": "Sprint 9",
                "startDate": "2026-01-11T15:22:00.000Z",
                "endDate": "2026-01-25T15:22:00.000Z",
                "goal": "Log in everywhere",
            }
        ],
    },
}


def amend(document: dict[str, Any]) -> None:
    """State what the description gives in its text alone: values, and that a transition is named by its id."""
    confine(document, "/rest/api/3/project/search", "typeKey", ("business", "service_desk", "software"), several=True)
    document["components"]["schemas"]["IssueTransition"]["required"] = ["id"]
    # https://developer.atlassian.com/cloud/jira/software/rest/api-group-board/#api-rest-agile-1-0-board-get
    boards = document["paths"]["/rest/agile/1.0/board"]["get"]
    boards["security"] = [{"OAuth2": ["read:board-scope:jira-software", "read:project:jira"]}]
    confine(document, "/rest/agile/1.0/board", "type", ("scrum", "kanban", "simple"), several=True)
    confine(document, "/rest/agile/1.0/board/{boardId}/sprint", "state", ("future", "active", "closed"), several=True)
    add_operations(document)
    backlog = document["paths"]["/rest/agile/1.0/board/{boardId}/backlog"]["get"]
    (fields,) = (each for each in backlog["parameters"] if each["name"] == "fields")
    fields["schema"]["items"] = {"type": "string"}
