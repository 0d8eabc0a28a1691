"""Tasks, their steps and their links."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, WrapValidator

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import Day, When, times_in_query
from mcpist.tools.declare.call import Call, Calls, given, path_template
from mcpist.tools.declare.undo import ToolCall, ToolChange, restores, undone_by, unless
from mcpist_services.microsoft_todo.fields import FIELDS, Repetition, document, times
from mcpist_services.microsoft_todo.module import ListId, TaskId, Timezone, list_path, microsoft_todo

task_path = path_template("/me/todo/lists/{list_id}/tasks/{task_id}")
TASK = ("id", "title", "status", "importance", "dueDateTime.dateTime as due")
CHANGED = shows("id", "title", "status")
TASK_DETAILS = shows(
    *TASK,
    "dueDateTime.timeZone as timezone",
    "reminderDateTime.dateTime as reminder",
    "recurrence.pattern.type as repeats",
    "recurrence.pattern.interval as interval",
    "recurrence.pattern.daysOfWeek as days",
    "completedDateTime.dateTime as completed",
    "categories",
    "linkedResources[*].webUrl as links",
    "text",
    text="text",
)
TASK_CHANGES = ({"status": "inProgress", "importance": "high"},)

Title = Annotated[str, Field(min_length=1), "In one line, e.g. Send the offer"]
Body = Annotated[str, "Plain text, e.g. With the new prices"]
Status = Literal["notStarted", "inProgress", "completed", "waitingOnOthers", "deferred"]
Importance = Literal["low", "normal", "high"]
# A value to be cleared is no time.
_OR_NONE = WrapValidator(lambda value, validate: value if value == "none" else validate(value))
Due = Annotated[Day, "To Do ignores a time of day, e.g. 2026-01-31"]
NewDue = Annotated[Day, _OR_NONE, "Or none to clear it, e.g. 2026-01-31"]
Reminder = Annotated[When, "A moment, or a time in timezone, e.g. 2026-01-31T09:00:00+09:00"]
NewReminder = Annotated[When, _OR_NONE, "As in create_task; or none to clear it, e.g. 2026-01-31T09:00:00+09:00"]
GivenTimezone = Annotated[Timezone, "Of a reminder without an offset; an IANA or a Windows name, e.g. Asia/Tokyo"]
AnswerTimezone = Annotated[Timezone, "For the times in the answer; UTC if left out, e.g. Asia/Tokyo"]
Categories = Annotated[
    list[Annotated[str, Field(min_length=1)]], "Names of Outlook's categories, e.g. Work, Red category"
]


Recurrence = Annotated[
    Repetition,
    "Needs due, which is the first day; numberOfOccurrences ends it, "
    'e.g. {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]}',
]
NewRecurrence = Annotated[
    Repetition | Literal["none"],
    "As in create_task, together with due; or none to stop repeating, "
    'e.g. {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]}',
]
Filter = Annotated[
    str,
    times_in_query("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT00:00:00"),
    "OData, on status, importance, title or dueDateTime/dateTime lt 'now+7d', e.g. status ne 'completed'",
]


@microsoft_todo.lists(shows(*TASK, "createdDateTime as created", rows="value"), "me.todo.lists.tasks.List")
def list_tasks(
    list_id: ListId,
    filter: Filter | None = None,  # noqa: A002
    orderby: Annotated[str | None, "OData, e.g. dueDateTime/dateTime desc"] = None,
    timezone: AnswerTimezone | None = None,
) -> Call:
    """List the tasks of a to-do list, completed ones included."""
    query = given(**{"$filter": filter, "$orderby": orderby})
    return Call("GET", list_path(list_id, "/tasks"), query, headers=timezone_header(timezone))


@microsoft_todo.reads(TASK_DETAILS, "me.todo.lists.tasks.Get")
def get_task(list_id: ListId, task_id: TaskId, timezone: AnswerTimezone | None = None) -> Calls:
    """Read one task with its text, its steps and its links."""
    query = {"$expand": "checklistItems,linkedResources"}
    task = (yield Call("GET", task_path(list_id, task_id), query, headers=timezone_header(timezone))).json
    return {**task, "text": document(task)}


CLEARED = ("due", "reminder", "recurrence")  # by none, in update_task
CONTENT = FIELDS | {
    "steps": lambda task: len(task.get("checklistItems") or []),
    "links": lambda task: len(task.get("linkedResources") or []),
}
_CLEARED: dict[str, Any] = {name: lambda task, of=FIELDS[name]: of(task) or "none" for name in CLEARED}
RESTORED = restores('get_task(timezone="UTC")', timezone=lambda _: "UTC", **{**FIELDS, **_CLEARED})
CREATED_AGAIN: dict[str, Any] = {name: lambda change, of=of: of(change.before) for name, of in FIELDS.items()}
REPEATED = "a task that repeats has its next one already"


def _repeats(change: ToolChange) -> bool:
    """Whether a change completes a task that repeats."""
    completes = change.arguments.get("status", "completed") == "completed"
    return completes and bool(change.before and change.before.get("recurrence"))


def _has_parts(change: ToolChange) -> bool:
    task = change.before or {}
    return bool(task.get("checklistItems") or task.get("linkedResources") or task.get("hasAttachments"))


def _restored(change: ToolChange) -> Iterable[ToolCall]:
    """Return the update that restores a task; one that repeats again needs its due day as well."""
    for call in RESTORED.calls(change):
        again = isinstance(call.arguments.get("recurrence"), dict)
        yield replace(call, arguments={**({"due": FIELDS["due"](change.before)} if again else {}), **call.arguments})


@microsoft_todo.writes(
    CHANGED,
    "me.todo.lists.tasks.Create",
    undo=undone_by(
        "delete_task(list_id, task_id=answer.id)", read='get_task(timezone="UTC")', creates=True, fields=CONTENT
    ),
)
def create_task(
    list_id: ListId,
    title: Title,
    body: Body | None = None,
    status: Status | None = None,
    importance: Importance | None = None,
    due: Due | None = None,
    reminder: Reminder | None = None,
    recurrence: Recurrence | None = None,
    timezone: GivenTimezone | None = None,
    categories: Categories | None = None,
) -> Call:
    """Put a task on a to-do list."""
    fields = given(title=title, body=_text(body), status=status, importance=importance, categories=categories)
    return Call("POST", list_path(list_id, "/tasks"), json=fields | times(due, reminder, recurrence, timezone))


@microsoft_todo.writes(
    CHANGED,
    "me.todo.lists.tasks.Update",
    idempotent=True,
    uses=TASK_CHANGES,
    undo=unless(_repeats, REPEATED, replace(RESTORED, calls=_restored)),
)
def update_task(
    list_id: ListId,
    task_id: TaskId,
    title: Title | None = None,
    body: Annotated[Body | None, "Plain text; replaces the text, e.g. With the new prices"] = None,
    status: Status | None = None,
    importance: Importance | None = None,
    due: NewDue | None = None,
    reminder: NewReminder | None = None,
    recurrence: NewRecurrence | None = None,
    timezone: GivenTimezone | None = None,
    categories: Annotated[Categories | None, "Replaces all, e.g. Work, Red category"] = None,
) -> Call:
    """Change a task. Fields that you leave out stay as they are."""
    fields = given(title=title, body=_text(body), status=status, importance=importance, categories=categories)
    fields |= times(due, reminder, recurrence, timezone)
    if not fields:
        raise InvalidRequest(field="title", problem="give at least one field to change, this or another")
    return Call("PATCH", task_path(list_id, task_id), json=fields)


@microsoft_todo.writes(
    CHANGED,
    "me.todo.lists.tasks.Update",
    idempotent=True,
    undo=unless(
        _repeats,
        REPEATED,
        undone_by("update_task(list_id, task_id, status=before.status)", read="get_task", fields="status"),
    ),
)
def complete_task(list_id: ListId, task_id: TaskId) -> Call:
    """Mark a task as done. If it repeats, To Do creates the next one."""
    return Call("PATCH", task_path(list_id, task_id), json={"status": "completed"})


@microsoft_todo.destroys(
    DONE,
    "me.todo.lists.tasks.Delete",
    idempotent=True,
    undo=unless(
        _has_parts,
        "its steps, links and attachments cannot be created again",
        undone_by("create_task(list_id)", read='get_task(timezone="UTC")', **CREATED_AGAIN),
    ),
)
def delete_task(list_id: ListId, task_id: TaskId) -> Call:
    """Delete a task."""
    return Call("DELETE", task_path(list_id, task_id))


def timezone_header(timezone: str | None) -> dict[str, str]:
    """Return the header that requests times in a zone; in UTC, the default, a day can be the one before."""
    return {"prefer": f'outlook.timezone="{timezone}"'} if timezone else {}


def _text(body: str | None) -> dict[str, str] | None:
    return None if body is None else {"content": body, "contentType": "text"}
