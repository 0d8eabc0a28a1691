"""Microsoft To Do: lists, tasks, their steps and links.

Reference: https://learn.microsoft.com/en-us/graph/api/resources/todo-overview?view=graph-rest-1.0
"""

from typing import Annotated

from pydantic import Field

from mcpist.tools.declare.call import path_template
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import Paging, by_link
from mcpist.tools.declare.pasted import address_reader, from_url

list_path = path_template("/me/todo/lists/{list_id}")


# Without a number of items, Graph returns some lists and no link to the rest; paging always sends a number.
GRAPH = "https://graph.microsoft.com"

microsoft_todo = Module(
    "microsoft_todo",
    __doc__,
    api_version="v1.0",
    host="https://graph.microsoft.com/v1.0",
    labels={"*": ("internal",)},
    paging=Paging(
        size="$top",
        max_size=100,
        position_parameters=("$skip", "$skiptoken"),
        next_page=by_link(lambda answer: answer.json.get("@odata.nextLink"), "$skip", "$skiptoken"),
    ),
    # Granted scopes have short names or full URLs.
    scopes=Scopes(
        reads=("Tasks.Read",),
        writes=("Tasks.ReadWrite",),
        destroys=("Tasks.ReadWrite",),
        implied_by={
            "Tasks.Read": ("Tasks.ReadWrite", f"{GRAPH}/Tasks.Read", f"{GRAPH}/Tasks.ReadWrite"),
            "Tasks.ReadWrite": (f"{GRAPH}/Tasks.ReadWrite",),
        },
    ),
    category="productivity",
    tags=("tasks", "todo"),
)

Id = Annotated[str, Field(pattern=r"^[\w=+-]+$")]
ADDRESSES = address_reader(
    r"https://to-do\.(?:office|live|microsoft)\.com/tasks/(?:id/)?(?P<list_id>[\w=+%-]{20,})(?:[?#]|$)",
    r"https://to-do\.(?:office|live|microsoft)\.com/tasks/(?:[^?#]*/)?id/(?P<task_id>[\w=+%-]{20,})/details",
)
ListId = Annotated[Id, from_url(ADDRESSES, "list_id"), "The id that list_lists shows, e.g. AAMkADIyAAAAABrJAAA="]
TaskId = Annotated[Id, from_url(ADDRESSES, "task_id"), "The id that list_tasks shows, e.g. AlMKXwbQAAAJws6wcAAAA="]
Timezone = Annotated[str, Field(pattern=r"^[\w/+ .()-]+$")]
