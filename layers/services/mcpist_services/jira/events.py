"""Jira's events, polled: its webhooks need an administrator.

Reference: https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/
"""

from typing import Any

from mcpist.events.event_type import Argument, Arguments, Occurrence, Polled, event_type
from mcpist.events.polled_rows import changed_rows
from mcpist.tools.declare.call import Call

MAX_ISSUES = 100
FIELDS = (
    "summary",
    "status",
    "assignee",
    "reporter",
    "priority",
    "issuetype",
    "project",
    "labels",
    "created",
    "updated",
)


def _call(arguments: Arguments, cursor: str, now: int) -> Call:
    # JQL reads a date in the time zone of the account, but a number of minutes alike everywhere.
    minutes = (now - int(cursor or now)) // 60 + 2
    jql = f"({arguments['jql']}) AND updated >= -{minutes}m ORDER BY updated ASC"
    return Call("POST", "/rest/api/3/search/jql", json={"jql": jql, "fields": list(FIELDS), "maxResults": MAX_ISSUES})


def _read(answer: Any, cursor: str, now: int) -> tuple[list[Occurrence], str]:
    return changed_rows(answer["issues"], cursor, now, moment="fields.updated")


TYPES = (
    event_type(
        "jira",
        "issues",
        "An issue was created or changed.",
        tool="search",
        arguments={
            "jql": Argument(
                "",
                "Which issues, without ORDER BY, e.g. project = ENG AND priority = High",
                locates=True,
                schema={"type": "string", "minLength": 1, "maxLength": 1000},
            ),
            "status": Argument("status", "Only in this status, e.g. Done"),
            "assignee": Argument("assignee.accountId", "Only those of this account"),
        },
        payload=(
            "id key summary=fields.summary status=fields.status.name type=fields.issuetype.name "
            "priority=fields.priority.name project=fields.project.key labels:list=fields.labels "
            "assignee.accountId=fields.assignee.accountId assignee.displayName=fields.assignee.displayName "
            "reporter.accountId=fields.reporter.accountId created=fields.created updated=fields.updated"
        ),
        source=Polled(_call, _read),
    ),
)
