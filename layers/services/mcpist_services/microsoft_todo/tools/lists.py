"""To-do lists."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.undo import restores, undone_by
from mcpist_services.microsoft_todo.module import ListId, list_path, microsoft_todo

LIST = ("id", "displayName as name", "wellknownListName as kind", "isOwner as is_owner", "isShared as is_shared")
NAMED = shows("id", "displayName as name")

ListName = Annotated[str, Field(min_length=1), "e.g. Groceries"]


@microsoft_todo.lists(shows(*LIST, rows="value"), "me.todo.lists.List")
def list_lists() -> Call:
    """List your to-do lists: your own, and those that others share with you."""
    return Call("GET", "/me/todo/lists")


@microsoft_todo.reads(shows(*LIST), "me.todo.lists.Get")
def get_list(list_id: ListId) -> Call:
    """Read one to-do list: its name, and whether it is yours or shared."""
    return Call("GET", list_path(list_id))


def _count(tasks: Any) -> int:
    return len(tasks.get("value", []))


@microsoft_todo.writes(
    NAMED,
    "me.todo.lists.Create",
    undo=undone_by("delete_list(list_id=answer.id)", read="list_tasks", creates=True, fields={"tasks": _count}),
)
def create_list(display_name: ListName) -> Call:
    """Create a to-do list."""
    return Call("POST", "/me/todo/lists", json={"displayName": display_name})


@microsoft_todo.writes(
    NAMED, "me.todo.lists.Update", idempotent=True, undo=restores("get_list", display_name="displayName")
)
def update_list(list_id: ListId, display_name: ListName) -> Call:
    """Rename a to-do list."""
    return Call("PATCH", list_path(list_id), json={"displayName": display_name})


@microsoft_todo.destroys(DONE, "me.todo.lists.Delete", idempotent=True, irreversible="To Do keeps no deleted list")
def delete_list(list_id: ListId) -> Call:
    """Delete a to-do list with all its tasks."""
    return Call("DELETE", list_path(list_id))
