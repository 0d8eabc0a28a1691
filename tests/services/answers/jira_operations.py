"""What Jira's stored description leaves out, by its pages.

https://developer.atlassian.com/cloud/jira/platform/rest/v3/ (versions, bulk operations, links) and
https://developer.atlassian.com/cloud/jira/software/rest/ (sprints, the backlog).
"""

from typing import Any

from tests.services.answers.operations import FLAG, MULTIPART, NUMBER, TEXT, add, listed, nullable, record

SPRINT = {
    "id": 37,
    "self": "https://api.atlassian.com/ex/jira/1/rest/agile/1.0/sprint/37",
    "state": "future",
    "name": "Sprint 10",
    "startDate": "2026-01-26T00:00:00.000Z",
    "endDate": "2026-02-06T09:00:00.000Z",
    "originBoardId": 5,
    "goal": "Log in everywhere",
}
VERSION = {
    "id": "10010",
    "self": "https://api.atlassian.com/ex/jira/1/rest/api/3/version/10010",
    "name": "1.4",
    "description": "The spring release",
    "released": False,
    "archived": False,
    "startDate": "2026-01-31",
    "releaseDate": "2026-03-31",
    "projectId": 10000,
}
PROGRESS = {
    "taskId": "10779",
    "status": "COMPLETE",
    "progressPercent": 100,
    "submittedBy": {"accountId": "5b10a2844c20165700ede21g"},
    "totalIssueCount": 3,
    "processedAccessibleIssues": [10001, 10002],
    "failedAccessibleIssues": {"10003": ["You cannot edit it."]},
    "invalidOrInaccessibleIssueCount": 0,
}
ATTACHMENT = {
    "id": "10042",
    "filename": "screen.png",
    "mimeType": "image/png",
    "size": 4711,
    "created": "2026-01-17T12:34:00.000+0000",
    "author": {"accountId": "5b10a2844c20165700ede21g", "displayName": "Mia Krystof"},
}
DATES = {"startDate": TEXT, "endDate": TEXT}
VERSION_FIELDS = {"name": TEXT, "description": TEXT, "startDate": TEXT, "releaseDate": TEXT, "archived": FLAG}
CHOICE = {"type": "string", "enum": ["ADD", "REMOVE", "REPLACE", "REMOVE_ALL"]}
LABELS = {"fieldId": TEXT, "bulkEditMultiSelectFieldOption": CHOICE, "labels": listed(record(("name",), name=TEXT))}
VERSIONS = {"versions": listed(record(("versionId",), versionId=TEXT))}
USERS = {"fieldId": TEXT, "user": nullable(record(("accountId",), accountId=TEXT))}
READ = ("read:jira-work",)
SPRINTS, BOARDS = ("write:sprint:jira-software",), ("write:board-scope:jira-software",)
WORK, PROJECTS = ("write:jira-work",), ("manage:jira-project",)


REMOTE = {
    "id": 10007,
    "relationship": "documented by",
    "object": {"title": "Release plan", "url": "https://example.com/plan", "summary": "What we ship when"},
}
PAGES = {"start": NUMBER, "limit": NUMBER}


def _page(*values: Any) -> dict[str, Any]:
    return {"size": len(values), "start": 0, "limit": 50, "isLastPage": False, "values": list(values)}


def _add_everyday(document: dict[str, Any]) -> None:
    """Add watchers, links to pages elsewhere, and service projects."""
    issue, reads = "/rest/api/3/issue/{issueIdOrKey}", ("read:jira-work",)
    watchers = document["paths"][f"{issue}/watchers"]
    add(document, "removeWatcher", f"DELETE {issue}/watchers", scopes=WORK, query={"accountId": TEXT, "username": TEXT})
    watchers["post"]["requestBody"]["content"]["application/json"]["schema"] = TEXT
    links = f"{issue}/remotelink"
    add(document, "getRemoteIssueLinks", f"GET {links}", scopes=reads, answer=[REMOTE])
    linked = record(("url", "title"), url=TEXT, title=TEXT, summary=TEXT)
    body = record(("object",), object=linked, relationship=TEXT)
    made = {"id": 10007, "self": "https://example.com"}
    add(document, "createOrUpdateRemoteIssueLink", f"POST {links}", scopes=WORK, body=body, answer=made)
    add(document, "deleteRemoteIssueLinkById", f"DELETE {links}/{{linkId}}", scopes=WORK)
    desks, scopes = "/rest/servicedeskapi/servicedesk", ("read:servicedesk-request",)
    desk = {"id": "1", "projectKey": "HELP", "projectName": "Help"}
    add(document, "getServiceDesks", f"GET {desks}", scopes=scopes, query=PAGES, answer=_page(desk))
    queue = {"id": "20", "name": "Unassigned", "jql": "project = HELP AND assignee is EMPTY", "issueCount": 7}
    one = f"{desks}/{{serviceDeskId}}/queue"
    query = PAGES | {"includeCount": FLAG}
    add(document, "getQueues", f"GET {one}", scopes=scopes, query=query, answer=_page(queue))
    asked = {"summary": "Printer", "status": {"name": "Open"}, "created": "2026-01-17T12:34:00.000+0000"}
    issues = f"GET {one}/{{queueId}}/issue"
    asked |= {"priority": {"name": "High"}, "assignee": {"displayName": "Mia"}, "updated": asked["created"]}
    answer = _page({"key": "HELP-7", "fields": asked})
    add(document, "getIssuesInQueue", issues, scopes=scopes, query=PAGES, answer=answer)


def add_operations(document: dict[str, Any]) -> None:
    """Add the operations that the tools use."""
    _add_everyday(document)
    _add_agile(document)
    _add_bulk(document)
    _add_files(document)
    link, ends = "/rest/api/3/issueLink/{linkId}", {"inwardIssue": {"key": "ENG-42"}, "outwardIssue": {"key": "ENG-43"}}
    add(
        document, "getIssueLink", f"GET {link}", scopes=READ, answer={"id": "10001", "type": {"name": "Blocks"}, **ends}
    )
    add(document, "deleteIssueLink", f"DELETE {link}", scopes=WORK)
    created = record(("name", "projectId"), **VERSION_FIELDS, projectId=NUMBER)
    add(document, "createVersion", "POST /rest/api/3/version", scopes=PROJECTS, body=created, answer=VERSION)
    updated = record(**VERSION_FIELDS, released=FLAG)
    add(document, "updateVersion", "PUT /rest/api/3/version/{id}", scopes=PROJECTS, body=updated, answer=VERSION)
    add(document, "getVersion", "GET /rest/api/3/version/{id}", scopes=READ, answer=VERSION)


def _add_agile(document: dict[str, Any]) -> None:
    sprint = record(("name", "originBoardId"), name=TEXT, goal=TEXT, originBoardId=NUMBER, **DATES)
    add(document, "createSprint", "POST /rest/agile/1.0/sprint", scopes=SPRINTS, body=sprint, answer=SPRINT)
    state = {"type": "string", "enum": ["future", "active", "closed"]}
    change, place = record(name=TEXT, goal=TEXT, state=state, **DATES), "POST /rest/agile/1.0/sprint/{sprintId}"
    gone = ("delete:sprint:jira-software",)
    add(document, "deleteSprint", "DELETE /rest/agile/1.0/sprint/{sprintId}", scopes=gone)
    add(document, "partiallyUpdateSprint", place, scopes=SPRINTS, body=change, answer=SPRINT)
    moved = record(("issues",), issues=listed(TEXT) | {"maxItems": 50})
    add(document, "moveIssuesToBacklog", "POST /rest/agile/1.0/backlog/issue", scopes=BOARDS, body=moved)


def _add_files(document: dict[str, Any]) -> None:
    place = "/rest/api/3/attachment"
    add(document, "getAttachmentContent", f"GET {place}/content/{{id}}", scopes=("read:jira-work",), answer={})
    add(document, "removeAttachment", f"DELETE {place}/{{id}}", scopes=WORK)
    upload = "POST /rest/api/3/issue/{issueIdOrKey}/attachments"
    add(document, "addAttachment", upload, scopes=WORK, body={}, answer=[ATTACHMENT], media=MULTIPART)


def _add_bulk(document: dict[str, Any]) -> None:
    issues = {"selectedIssueIdsOrKeys": listed(TEXT) | {"maxItems": 1000}}
    fields = record(
        labelsFields=listed(record(tuple(LABELS), **LABELS)),
        multipleVersionPickerFields=listed(
            record(("fieldId", "versions"), fieldId=TEXT, bulkEditMultiSelectFieldOption=CHOICE, **VERSIONS)
        ),
        singleSelectClearableUserPickerFields=listed(record(("fieldId",), **USERS)),
        priority=record(("priorityId",), priorityId=TEXT),
    )
    required = ("selectedIssueIdsOrKeys", "selectedActions", "editedFieldsInput")
    edit = record(required, **issues, selectedActions=listed(TEXT), editedFieldsInput=fields, sendBulkNotification=FLAG)
    task, queue = {"taskId": "10779"}, "GET /rest/api/3/bulk/queue/{taskId}"
    add(document, "submitBulkEdit", "POST /rest/api/3/bulk/issues/fields", scopes=WORK, body=edit, answer=task)
    move = record(("selectedIssueIdsOrKeys", "transitionId"), **issues, transitionId=TEXT)
    moves = record(("bulkTransitionInputs",), bulkTransitionInputs=listed(move), sendBulkNotification=FLAG)
    place = "POST /rest/api/3/bulk/issues/transition"
    add(document, "submitBulkTransition", place, scopes=WORK, body=moves, answer=task)
    add(document, "getBulkOperationProgress", queue, scopes=("read:jira-work",), answer=PROGRESS)
