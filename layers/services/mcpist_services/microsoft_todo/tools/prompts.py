"""Resources and prompts of Microsoft To Do."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mcpist_services.microsoft_todo.module import ListId, TaskId, Timezone, microsoft_todo
from mcpist_services.microsoft_todo.tools.lists import list_lists
from mcpist_services.microsoft_todo.tools.tasks import get_task, list_checklist, list_tasks

OPEN = "status ne 'completed'"


@microsoft_todo.resource("microsoft-todo://lists/{list_id}", list_tasks)
def open_tasks(list_id: str) -> Mapping[str, Any]:
    """The tasks of a list that are not done."""
    return {"list_id": list_id, "filter": OPEN}


microsoft_todo.addresses(
    "microsoft-todo://lists/{list_id}/tasks/{task_id}", get_task, "task", "A task with its text and its steps."
)


@microsoft_todo.prompt(list_lists, list_tasks)
def plan_day(
    timezone: Annotated[Timezone, "Your time zone, e.g. Asia/Tokyo"],
    hours: Annotated[int, Field(ge=1, le=16), "How many hours you have"] = 6,
) -> str:
    """Plan your day from your to-do lists."""
    return (
        f"Plan my day: I have {hours} hours for tasks. List my to-do lists (microsoft_todo.list_lists), then in one "
        f"batch the open tasks of all of them (microsoft_todo.list_tasks with the filter {OPEN} and the timezone "
        f"{timezone}). Take what is overdue, due today or important first; guess how long each takes, and leave out "
        "what does not fit. Show the day in order with times, and what has to wait and why. Change nothing before I "
        "agree."
    )


@microsoft_todo.prompt(list_lists, list_tasks)
def tidy_up() -> str:
    """Go through your to-do lists and clear out what is stale."""
    return (
        "Help me to tidy up Microsoft To Do. List my to-do lists (microsoft_todo.list_lists), then in one batch the "
        f"open tasks of all of them (microsoft_todo.list_tasks with the filter {OPEN}). Show what is overdue, what "
        "is on two lists, what is more than one action, and what waits for others. Propose for each: do, reschedule, "
        "split, complete or delete. Change nothing before I agree."
    )


@microsoft_todo.prompt(get_task, list_checklist)
def break_down(list_id: ListId, task_id: TaskId) -> str:
    """Break a task down into steps."""
    return (
        f"Break the task {task_id} of the list {list_id} in Microsoft To Do down into steps. In one batch, read it "
        "(microsoft_todo.get_task) and the steps that it has (microsoft_todo.list_checklist). Propose steps that each "
        "take less than half an hour and begin with a verb, in their order, without those that are there. Add none "
        "before I agree."
    )


microsoft_todo.completes("list_id", list_lists, "id")
