"""Tasks over several lists, and what has changed."""

from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import Day
from mcpist.tools.declare.call import Call, Calls, PartialList
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist_services.microsoft_todo.module import ListId, list_path, microsoft_todo
from mcpist_services.microsoft_todo.tools.tasks import TASK, AnswerTimezone, timezone_header

MAX_TASK_PAGES = 10
PAGE_TASKS = 100
POSITIONS = ("$deltatoken", "$skiptoken", "$skip")
FOUND = shows("list.id as list_id", "list.name as list", *TASK, "createdDateTime as created", rows="value")
CHANGES = shows(*TASK, "lastModifiedDateTime as updated", "@removed.reason as removed", rows="value")


@microsoft_todo.reads(FOUND, "me.todo.lists.tasks.List", uses=({}, {"text": "offer", "due_until": "2026-01-31"}))
def search_tasks(
    text: Annotated[
        str | None, Field(min_length=1), "Words in the title or the text; all tasks if left out, e.g. offer"
    ] = None,
    due_until: Annotated[Day | None, "Only those that are due, until this day, e.g. 2026-01-31"] = None,
    completed: Annotated[bool, "Completed tasks too"] = False,
    timezone: AnswerTimezone | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 50,
) -> Calls:
    """Search the tasks of all your lists: what is open, what is due, where something is."""
    query = {"$top": PAGE_TASKS} if completed else {"$top": PAGE_TASKS, "$filter": "status ne 'completed'"}
    words, found = (text or "").casefold().split(), []
    for one in (yield Call("GET", "/me/todo/lists", {"$top": PAGE_TASKS})).json["value"]:
        tasks = yield from _tasks(Call("GET", list_path(one["id"], "/tasks"), query, headers=timezone_header(timezone)))
        named = {"list": {"id": one["id"], "name": one.get("displayName")}}
        found += [task | named for task in tasks if _matches(task, words, due_until)]
        if len(found) > limit:
            return PartialList(
                {"value": found[:limit]}, f"There are more than {limit}: say more words, or raise limit."
            )
    return {"value": found}


@microsoft_todo.reads(CHANGES, "me.todo.lists.tasks.delta")
def list_changes(
    list_id: ListId,
    since: Annotated[str | None, "As the last answer named it; all tasks if left out, e.g. $deltatoken=aBc1"] = None,
) -> Calls:
    """List the tasks of a list that were added, changed or removed since an earlier answer."""
    position, found = _position(since or ""), []
    if since and not position:
        raise InvalidRequest(field="since", problem="it is none that an answer of this tool named")
    for _ in range(MAX_TASK_PAGES):
        page = (yield Call("GET", list_path(list_id, "/tasks/delta"), position)).json
        found += page["value"]
        position = _position(urlsplit(page.get("@odata.nextLink") or page["@odata.deltaLink"]).query)
        if "@odata.nextLink" not in page:
            break
    state = urlencode(position, safe="$")
    return PartialList({"value": found, "since": state}, f"For what changes after this: since={state}")


def _tasks(first: Call) -> Calls:
    """Read the tasks of a list."""
    call, tasks = first, []
    for _ in range(MAX_TASK_PAGES):
        page = (yield call).json
        tasks += page["value"]
        position = _position(urlsplit(page.get("@odata.nextLink") or "").query)
        if not position:
            break
        call = replace(first, query={**first.query, **position})
    return tasks


def _position(query: str) -> dict[str, str]:
    return {name: value for name, value in parse_qsl(query) if name in POSITIONS}


def _matches(task: dict[str, Any], words: list[str], due_until: str | None) -> bool:
    """Whether a task has all words, and is due until a day."""
    written = f"{task.get('title')} {(task.get('body') or {}).get('content')}".casefold()
    due = (task.get("dueDateTime") or {}).get("dateTime", "")[:10]
    return all(word in written for word in words) and (due_until is None or "" < due <= due_until)
