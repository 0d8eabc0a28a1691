"""The parts of tasks: the steps of their checklists, and their links."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, changes, given, path_template
from mcpist.tools.declare.undo import restores, row_where, undone_by
from mcpist_services.microsoft_todo.module import Id, ListId, TaskId, microsoft_todo
from mcpist_services.microsoft_todo.tools.tasks import task_path

_step_path = path_template("/me/todo/lists/{list_id}/tasks/{task_id}/checklistItems/{step}")
STEP = ("id", "displayName as name", "isChecked as is_checked")


LINK = ("id", "displayName as name", "applicationName as application", "webUrl as url")


STEP_CHANGES = ({"is_checked": True},)


STEP_FIELDS: dict[str, Any] = {"display_name": "displayName", "is_checked": "isChecked"}


A_STEP = row_where("id", "arguments.checklist_item_id", rows="value")


StepId = Annotated[Id, "The id that list_checklist shows, e.g. 51d8a471-2e9d-4f53-9937-c33a8742d28f"]


StepName = Annotated[str, Field(min_length=1), "What is to be done, e.g. Ask for a quote"]


@microsoft_todo.lists(
    shows(*STEP, "createdDateTime as created", rows="value"), "me.todo.lists.tasks.checklistItems.List"
)
def list_checklist(list_id: ListId, task_id: TaskId) -> Call:
    """List the steps (sub-tasks) of a task."""
    return Call("GET", task_path(list_id, task_id, "/checklistItems"))


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
    return Call("POST", task_path(list_id, task_id, "/checklistItems"), json=fields)


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
    return Call("GET", task_path(list_id, task_id, "/linkedResources"))


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
    return Call("POST", task_path(list_id, task_id, "/linkedResources"), json=fields)


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
    return Call("DELETE", task_path(list_id, task_id, "/linkedResources/{link}", link=link_id))
