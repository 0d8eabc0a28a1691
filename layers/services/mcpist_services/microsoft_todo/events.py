"""Microsoft To Do's events, polled: a subscription lasts three days at most, and its notifications have no content.

Reference: https://learn.microsoft.com/en-us/graph/api/todotasklist-list-tasks?view=graph-rest-1.0
"""

from typing import Any

from mcpist.events.event_type import Argument, Arguments, Occurrence, Polled, event_type
from mcpist.events.polled_rows import changed_rows
from mcpist.moments import utc_text
from mcpist.tools.declare.call import Call
from mcpist_services.microsoft_todo.module import list_path

MAX_TASKS = 100


def _call(arguments: Arguments, cursor: str, now: int) -> Call:
    query = {
        "$filter": f"lastModifiedDateTime ge {utc_text(int(cursor or now))}",
        "$orderby": "lastModifiedDateTime",
        "$top": MAX_TASKS,
    }
    return Call("GET", list_path(arguments["list_id"], "/tasks"), query)


def _read(answer: Any, cursor: str, now: int) -> tuple[list[Occurrence], str]:
    return changed_rows(answer["value"], cursor, now, moment="lastModifiedDateTime")


TYPES = (
    event_type(
        "microsoft_todo",
        "tasks",
        "A task of a list was created, changed or completed.",
        tool="list_tasks",
        arguments={
            "list_id": Argument("", "The id that list_lists shows", locates=True),
            "status": Argument("status", "Only in this status, e.g. completed"),
        },
        payload=(
            "id title status importance body.content dueDateTime:object completedDateTime:object createdDateTime "
            "lastModifiedDateTime categories:list"
        ),
        source=Polled(_call, _read),
    ),
)
