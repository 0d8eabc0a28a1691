"""The tools of Microsoft To Do in the order in which they are listed, then its resources and prompts."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mcpist_services.microsoft_todo.module import ListId, TaskId, Timezone, microsoft_todo

from mcpist_services.microsoft_todo.tools import lists, tasks, parts, finding  # isort: skip

OPEN = "status ne 'completed'"


@microsoft_todo.resource("microsoft-todo://lists/{list_id}", tasks.list_tasks)
def open_tasks(list_id: str) -> Mapping[str, Any]:
    """The tasks of a list that are not done."""
    return {"list_id": list_id, "filter": OPEN}


microsoft_todo.addresses(
    "microsoft-todo://lists/{list_id}/tasks/{task_id}", tasks.get_task, "task", "A task with its text and its steps."
)


@microsoft_todo.prompt(lists.list_lists, tasks.list_tasks)
def plan_day(
    timezone: Annotated[Timezone, "Your time zone, e.g. Asia/Tokyo"],
    hours: Annotated[int, Field(ge=1, le=16), "How many hours you have"] = 6,
) -> None:
    """Plan your day from your to-do lists."""


@microsoft_todo.prompt(lists.list_lists, tasks.list_tasks)
def tidy_up() -> None:
    """Go through your to-do lists and clear out what is stale."""


@microsoft_todo.prompt(tasks.get_task, parts.list_checklist)
def break_down(list_id: ListId, task_id: TaskId) -> None:
    """Break a task down into steps."""


microsoft_todo.completes("list_id", lists.list_lists, "id")
