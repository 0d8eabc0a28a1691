"""Microsoft To Do's answers."""

from dataclasses import replace
from typing import Any

from mcpist.tools.declare.call import Call, ServiceResponse
from tests.services.answers.additions import add

ANSWERS: dict[str, Any] = {
    "me.todo.lists.List": {
        "value": [
            {
                "id": "AAMkADIyAAAAABrJAAA=",
                "displayName": "Work",
                "wellknownListName": "none",
                "isOwner": True,
                "isShared": False,
            }
        ]
    },
    "me.todo.lists.tasks.Get": {
        "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users('ada')/todo/lists('x')/tasks/$entity",
        "@odata.etag": 'W/"xzyPKP0BiUGgld+lMKXwbQAAnBoTIw=="',
        "id": "AlMKXwbQAAAJws6wcAAAA=",
        "title": "Send the offer",
        "status": "notStarted",
        "importance": "high",
        "isReminderOn": True,
        "createdDateTime": "2026-01-15T09:30:00.1234567Z",
        "lastModifiedDateTime": "2026-01-15T09:30:00.1234567Z",
        "hasAttachments": False,
        "categories": ["Work"],
        "body": {"content": "With the new prices", "contentType": "text"},
        "dueDateTime": {"dateTime": "2026-01-31T00:00:00.0000000", "timeZone": "UTC"},
        "reminderDateTime": {"dateTime": "2026-01-30T09:00:00.0000000", "timeZone": "UTC"},
        "recurrence": {
            "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"], "firstDayOfWeek": "sunday"},
            "range": {"type": "noEnd", "startDate": "2026-01-31", "recurrenceTimeZone": "UTC"},
        },
        "checklistItems": [
            {
                "id": "51d8a471-2e9d-4f53-9937-c33a8742d28f",
                "displayName": "Ask for a quote",
                "createdDateTime": "2026-01-15T09:30:00Z",
                "isChecked": False,
            }
        ],
        "linkedResources": [
            {
                "id": "f9cddce2-dce2-f9cd-e2dc-cdf9e2dccdf9",
                "webUrl": "https://example.atlassian.net/browse/ENG-42",
                "applicationName": "Jira",
                "displayName": "ENG-42: Login fails on Safari",
            }
        ],
    },
}


def amend(document: dict[str, Any]) -> None:
    """Add https://learn.microsoft.com/en-us/graph/api/todotask-delta, and that null clears a field of a task."""
    fields = document["components"]["schemas"]["microsoft.graph.todoTask-update"]["properties"]
    for name in ("recurrence", "reminderDateTime"):
        fields[name] = {"anyOf": [fields[name], {"type": "object", "nullable": True, "enum": [None]}]}
    task = {
        "id": "AlMKXwbQAAAJws6wcAAAA=",
        "title": "Send the offer",
        "status": "notStarted",
        "importance": "high",
        "dueDateTime": {"dateTime": "2026-01-31T00:00:00.0000000", "timeZone": "UTC"},
        "lastModifiedDateTime": "2026-01-15T09:30:00Z",
        "@removed": None,
    }
    link = "https://graph.microsoft.com/v1.0/me/todo/lists/x/tasks/delta?$deltatoken=aBc1"
    add(
        document,
        "GET /me/todo/lists/{todoTaskList-id}/tasks/delta",
        "me.todo.lists.tasks.delta",
        query={"$deltatoken": "string", "$skiptoken": "string", "$top": "integer"},
        answer={"value": [task], "@odata.deltaLink": link},
    )


def with_next_page(call: Call, response: ServiceResponse) -> ServiceResponse:
    """Add the link to the next page."""
    link = f"https://graph.microsoft.com/v1.0{call.path}?$skip=50"
    return replace(response, json=response.json | {"@odata.nextLink": link})
