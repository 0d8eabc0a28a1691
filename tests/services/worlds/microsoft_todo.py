"""Microsoft To Do: a task has its steps and links in it."""

from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

TASK = {
    "id": "AlMKXwbQAAAJws6wcAAAA=",
    "title": "Send the offer",
    "status": "inProgress",
    "importance": "high",
    "body": {"content": "With the new prices", "contentType": "text"},
    "dueDateTime": {"dateTime": "2026-02-26T15:00:00.0000000", "timeZone": "UTC"},
    "categories": ["Work"],
}
_PARTS = "/me/todo/lists/{list_id}/tasks/{task_id}"


def _task(world: World, _: DescribedCall, place: str) -> Any:
    task = world.item(place)
    parts = {name: world.within(f"{place}/{name}") for name in ("checklistItems", "linkedResources")}
    return task and {**task, **parts}


class MicrosoftTodo(Rules):
    """Its rules."""

    volatile = frozenset({"id", "dateTime", "timeZone", "isReminderOn", "range"})
    fresh = {"tasks": {"status": "notStarted", "importance": "normal", "categories": [], "dueDateTime": None}}
    seeds = {
        "update_checklist_item": f"{_PARTS}/checklistItems/{{checklist_item_id}}",
        "delete_checklist_item": f"{_PARTS}/checklistItems/{{checklist_item_id}}",
        "delete_link": f"{_PARTS}/linkedResources/{{link_id}}",
    }
    examples = {"me.todo.lists.tasks.Get": TASK}
    answers = {"me.todo.lists.tasks.Get": _task}
