"""Tasks, their steps and their links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Required, TypedDict

from pydantic import Field, WrapValidator, with_config

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import Day, When, times_in_query
from mcpist.tools.declare.call import Call, Calls, changes, given, path
from mcpist.tools.declare.undo import ToolCall, ToolChange, restores, row_where, undone_by, unless
from mcpist_services.microsoft_todo.module import Id, ListId, TaskId, Timezone, list_path, microsoft_todo

TASK = ("id", "title", "status", "importance", "dueDateTime.dateTime as due")
STEP = ("id", "displayName as name", "isChecked as is_checked")
LINK = ("id", "displayName as name", "applicationName as application", "webUrl as url")
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
STEP_CHANGES = ({"is_checked": True},)
STEP_FIELDS: dict[str, Any] = {"display_name": "displayName", "is_checked": "isChecked"}
A_STEP = row_where("id", "arguments.checklist_item_id", rows="value")

StepId = Annotated[Id, "The id that list_checklist shows, e.g. 51d8a471-2e9d-4f53-9937-c33a8742d28f"]
StepName = Annotated[str, Field(min_length=1), "What is to be done, e.g. Ask for a quote"]
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
Weekday = Literal["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]


@with_config(extra="forbid")
class Repetition(TypedDict, total=False):
    """How a task repeats, by the names of Graph's recurrencePattern and recurrenceRange.

    An end by a date is refused for tasks: https://github.com/microsoftgraph/msgraph-sdk-dotnet/issues/2677
    """

    type: Required[Literal["daily", "weekly", "absoluteMonthly", "relativeMonthly", "absoluteYearly", "relativeYearly"]]
    interval: Required[Annotated[int, Field(ge=1)]]
    daysOfWeek: list[Weekday]
    firstDayOfWeek: Weekday
    dayOfMonth: Annotated[int, Field(ge=1, le=31)]
    month: Annotated[int, Field(ge=1, le=12)]
    index: Literal["first", "second", "third", "fourth", "last"]
    numberOfOccurrences: Annotated[int, Field(ge=1)]


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
    task = (yield Call("GET", _task_path(list_id, task_id), query, headers=timezone_header(timezone))).json
    return {**task, "text": _document(task)}


def _day(time: Mapping[str, str] | None) -> str | None:
    """Return the day of a due date in UTC: it is midnight where it was set, up to twelve hours away."""
    if not time:
        return None
    return f"{datetime.fromisoformat(time['dateTime'][:19]) + timedelta(hours=11, minutes=59):%Y-%m-%d}"


def _moment(time: Mapping[str, str] | None) -> str | None:
    return f"{time['dateTime'][:19]}Z" if time else None


def _repetition(recurrence: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return how a task repeats as its arguments say it: without what Graph fills in."""
    if not recurrence:
        return None
    kept = {
        name: value for name, value in recurrence["pattern"].items() if value and name in Repetition.__annotations__
    }
    times = recurrence.get("range", {}).get("numberOfOccurrences")
    return kept | ({"numberOfOccurrences": times} if times else {})


FIELDS: dict[str, Any] = {
    "title": lambda task: task["title"],
    "body": lambda task: (task.get("body") or {}).get("content") or "",
    "status": lambda task: task["status"],
    "importance": lambda task: task["importance"],
    "due": lambda task: _day(task.get("dueDateTime")),
    "reminder": lambda task: _moment(task.get("reminderDateTime")),
    "recurrence": lambda task: _repetition(task.get("recurrence")),
    "categories": lambda task: task.get("categories") or [],
}
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
    return Call("POST", list_path(list_id, "/tasks"), json=fields | _times(due, reminder, recurrence, timezone))


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
    fields |= _times(due, reminder, recurrence, timezone)
    if not fields:
        raise InvalidRequest(field="title", problem="give at least one field to change, this or another")
    return Call("PATCH", _task_path(list_id, task_id), json=fields)


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
    return Call("PATCH", _task_path(list_id, task_id), json={"status": "completed"})


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
    return Call("DELETE", _task_path(list_id, task_id))


@microsoft_todo.lists(
    shows(*STEP, "createdDateTime as created", rows="value"), "me.todo.lists.tasks.checklistItems.List"
)
def list_checklist(list_id: ListId, task_id: TaskId) -> Call:
    """List the steps (sub-tasks) of a task."""
    return Call("GET", _task_path(list_id, task_id, "/checklistItems"))


@microsoft_todo.writes(
    shows(*STEP),
    "me.todo.lists.tasks.checklistItems.Create",
    undo=undone_by(
        "delete_checklist_item(list_id, task_id, checklist_item_id=answer.id)",
        read="list_checklist",
        select=row_where("id", "answer.id", rows="value"),
        creates=True,
        fields=STEP_FIELDS,
    ),
)
def add_checklist_item(
    list_id: ListId, task_id: TaskId, display_name: StepName, is_checked: Annotated[bool, "Already done"] = False
) -> Call:
    """Add a step (sub-task) to a task."""
    fields = {"displayName": display_name, "isChecked": is_checked}
    return Call("POST", _task_path(list_id, task_id, "/checklistItems"), json=fields)


@microsoft_todo.writes(
    shows(*STEP),
    "me.todo.lists.tasks.checklistItems.Update",
    idempotent=True,
    uses=STEP_CHANGES,
    undo=restores("list_checklist", select=A_STEP, **STEP_FIELDS),
)
def update_checklist_item(
    list_id: ListId,
    task_id: TaskId,
    checklist_item_id: StepId,
    display_name: StepName | None = None,
    is_checked: Annotated[bool | None, "Whether it is done"] = None,
) -> Call:
    """Rename a step of a task, or tick it."""
    fields = changes(displayName=display_name, isChecked=is_checked)
    return Call("PATCH", _step_path(list_id, task_id, checklist_item_id), json=fields)


@microsoft_todo.destroys(
    DONE,
    "me.todo.lists.tasks.checklistItems.Delete",
    idempotent=True,
    undo=undone_by(
        "add_checklist_item(list_id, task_id, display_name=before.displayName, is_checked=before.isChecked)",
        read="list_checklist",
        select=A_STEP,
    ),
)
def delete_checklist_item(list_id: ListId, task_id: TaskId, checklist_item_id: StepId) -> Call:
    """Delete a step of a task."""
    return Call("DELETE", _step_path(list_id, task_id, checklist_item_id))


@microsoft_todo.lists(shows(*LINK, rows="value"), "me.todo.lists.tasks.linkedResources.List")
def list_links(list_id: ListId, task_id: TaskId) -> Call:
    """List the links of a task: to an e-mail, an issue or a page."""
    return Call("GET", _task_path(list_id, task_id, "/linkedResources"))


@microsoft_todo.writes(
    shows("id", "webUrl as url"),
    "me.todo.lists.tasks.linkedResources.Create",
    undo=undone_by(
        "delete_link(list_id, task_id, link_id=answer.id)",
        read="list_links",
        select=row_where("id", "answer.id", rows="value"),
        creates=True,
        fields={"web_url": "webUrl"},
    ),
)
def add_link(
    list_id: ListId,
    task_id: TaskId,
    web_url: Annotated[str, Field(min_length=1), "e.g. https://example.atlassian.net/browse/ENG-42"],
    display_name: Annotated[str, Field(min_length=1), "The link's title, e.g. ENG-42: Login fails on Safari"],
    application_name: Annotated[str, Field(min_length=1), "The linked application, e.g. Jira"],
    external_id: Annotated[str | None, "Its id there, e.g. ENG-42"] = None,
) -> Call:
    """Link a task to something elsewhere: an issue, a page or an e-mail."""
    fields = given(webUrl=web_url, displayName=display_name, applicationName=application_name, externalId=external_id)
    return Call("POST", _task_path(list_id, task_id, "/linkedResources"), json=fields)


@microsoft_todo.destroys(
    DONE,
    "me.todo.lists.tasks.linkedResources.Delete",
    idempotent=True,
    undo=undone_by(
        "add_link(list_id, task_id, web_url=before.webUrl, display_name=before.displayName, "
        "application_name=before.applicationName, external_id=before.externalId)",
        read="list_links",
        select=row_where("id", "arguments.link_id", rows="value"),
    ),
)
def delete_link(
    list_id: ListId, task_id: TaskId, link_id: Annotated[Id, "The id that list_links shows, e.g. 51d8a471-2e9d-4f53"]
) -> Call:
    """Remove a link of a task."""
    return Call("DELETE", _task_path(list_id, task_id, "/linkedResources/{link}", link=link_id))


def _task_path(list_id: str, task_id: str, rest: str = "", **parts: str) -> str:
    return path(f"/me/todo/lists/{{list_id}}/tasks/{{task_id}}{rest}", list_id=list_id, task_id=task_id, **parts)


def _step_path(list_id: str, task_id: str, step: str) -> str:
    return _task_path(list_id, task_id, "/checklistItems/{step}", step=step)


def timezone_header(timezone: str | None) -> dict[str, str]:
    """Return the header that requests times in a zone; in UTC, the default, a day can be the one before."""
    return {"prefer": f'outlook.timezone="{timezone}"'} if timezone else {}


def _text(body: str | None) -> dict[str, str] | None:
    return None if body is None else {"content": body, "contentType": "text"}


def _times(
    due: str | None, reminder: str | None, recurrence: Repetition | Literal["none"] | None, timezone: str | None
) -> dict[str, Any]:
    """Return the due date, the reminder and the recurrence of a task; null clears one of them."""
    if isinstance(recurrence, dict) and due in {None, "none"}:
        raise InvalidRequest(field="due", problem="a task that repeats needs a day when it is first due")
    fields: dict[str, Any] = {}
    if due is not None:
        day = {"dateTime": f"{due}T00:00:00", "timeZone": timezone or "UTC"}
        fields["dueDateTime"] = None if due == "none" else day
    if reminder == "none":
        fields["reminderDateTime"] = None
    elif reminder is not None:
        fields |= {"reminderDateTime": _reminder_time(reminder, timezone), "isReminderOn": True}
    if recurrence is not None:
        fields["recurrence"] = None if recurrence == "none" else _recurrence(recurrence)
    return fields


def _recurrence(repetition: Repetition) -> dict[str, Any]:
    """Return a recurrence whose range has no dates: Graph refuses them for a task, and begins on its due date."""
    pattern: dict[str, Any] = {**repetition}
    times = pattern.pop("numberOfOccurrences", None)
    end = {"type": "numbered", "numberOfOccurrences": times} if times else {"type": "noEnd"}
    return {"pattern": pattern, "range": end}


def _reminder_time(text: str, timezone: str | None) -> dict[str, str]:
    """Return a reminder as Graph takes it: a moment in UTC, and a time without an offset only with its zone."""
    if "T" not in text:
        raise InvalidRequest(field="reminder", problem="it needs a time of day, e.g. 2026-01-31T09:00 Asia/Tokyo")
    time = datetime.fromisoformat(text)
    if time.tzinfo:
        return {"dateTime": f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"}
    if timezone is None:
        raise InvalidRequest(field="timezone", problem="without it a reminder that has no offset rings hours too late")
    return {"dateTime": text, "timeZone": timezone}


def _document(task: Mapping[str, Any]) -> str:
    """Return a task's text, then its steps as a task list."""
    steps: Sequence[Mapping[str, Any]] = task.get("checklistItems", [])
    step_list = "\n".join(f"- [{'x' if step['isChecked'] else ' '}] {step['displayName']}" for step in steps)
    text = ((task.get("body") or {}).get("content") or "").strip()
    return "\n\n".join(part for part in (text, step_list) if part)
