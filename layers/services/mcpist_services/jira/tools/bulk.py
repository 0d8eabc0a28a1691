"""Many issues at once, changed by Jira in the background."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, Work, changes, given, path
from mcpist.tools.declare.undo import Undo
from mcpist_services.jira.module import IssueKey, Name, for_account, issue_path, jira
from mcpist_services.jira.tools.issues import Assignee, Label
from mcpist_services.jira.tools.workflow import find_transition
from mcpist_services.jira.undoing import bulk_fields, bulk_written, former_bulk, former_statuses, issues_of, statuses

TASK = shows("taskId as task_id")
PROGRESS = shows(
    "taskId as task_id",
    "status",
    "progressPercent as percent",
    "totalIssueCount as total",
    "processedAccessibleIssues as processed",
    "failedAccessibleIssues as failed",
    "invalidOrInaccessibleIssueCount as inaccessible",
)
BOTH = ("read:jira-work", "write:jira-work")
CHANGED: tuple[dict[str, Any], ...] = (
    {"labels": ["ui"]},
    {"priority": "2", "assignee": "none", "notify_users": False},
    {"priority": "High", "fix_versions": ["10010"], "how": "remove"},
)

Issues = Annotated[list[IssueKey], Field(min_length=1, max_length=1000), "Keys or ids, e.g. ENG-42, ENG-43"]
Notify = Annotated[bool, "Whether watchers get an e-mail"]


@jira.writes(
    TASK,
    "submitBulkEdit",
    scopes=BOTH,
    uses=CHANGED,
    undo=Undo(
        calls=former_bulk,
        read="search",
        target=issues_of("issue_keys", "labels", "fixVersions"),
        state=bulk_fields,
        after=bulk_written,
    ),
    tells={"watchers": "arguments.notify_users"},
)
def update_issues(
    issue_keys: Issues,
    labels: Annotated[list[Label] | None, "e.g. ui, safari"] = None,
    fix_versions: Annotated[list[Name] | None, "The ids that list_versions shows, e.g. 10010"] = None,
    how: Annotated[Literal["add", "replace", "remove"], "What happens with labels and fix_versions"] = "add",
    priority: Annotated[Name | None, "Its name or id, e.g. High"] = None,
    assignee: Assignee | None = None,
    notify_users: Notify = False,
) -> Work:
    """Change up to 1,000 issues in the same way. It goes on in the background: see get_bulk_progress."""
    wanted = changes(labels=labels, fixVersions=fix_versions, priority=priority, assignee=assignee)

    def changed(account: str | None) -> Call | Calls:
        edits = wanted | given(assignee=account)
        edited = dict(_edit(name, value, how.upper()) for name, value in edits.items())
        body = {"selectedIssueIdsOrKeys": issue_keys, "selectedActions": list(edits), "editedFieldsInput": edited}
        call = Call("POST", "/rest/api/3/bulk/issues/fields", json=body | {"sendBulkNotification": notify_users})
        return call if priority is None or priority.isdecimal() else _with_priority(call, issue_keys[0], priority)

    return for_account(assignee, changed)


@jira.writes(
    TASK,
    "submitBulkTransition",
    scopes=BOTH,
    undo=Undo(
        calls=former_statuses,
        read="search",
        target=issues_of("issue_keys"),
        state=statuses,
        after=lambda change: dict.fromkeys(
            statuses(change.before or {"issues": []}), (change.answer or {}).get("status")
        ),
    ),
    tells={"watchers": "arguments.notify_users"},
)
def transition_issues(
    issue_keys: Issues,
    transition: Annotated[Name, "The transition's id or name, or the status that it leads to, e.g. Done"],
    notify_users: Notify = False,
) -> Calls:
    """Move up to 1,000 issues of one workflow to another status. It goes on in the background."""
    known = (yield Call("GET", issue_path(issue_keys[0], "/transitions"))).json["transitions"]
    chosen = find_transition(known, transition)
    moved = {"selectedIssueIdsOrKeys": issue_keys, "transitionId": chosen["id"]}
    body = {"bulkTransitionInputs": [moved], "sendBulkNotification": notify_users}
    task = (yield Call("POST", "/rest/api/3/bulk/issues/transition", json=body)).json
    return task | {"status": chosen["to"]["name"]}


@jira.reads(PROGRESS, "getBulkOperationProgress")
def get_bulk_progress(task_id: Annotated[Name, "The id that update_issues shows, e.g. 10779"]) -> Call:
    """Read how far a change of many issues is, and which failed and why."""
    return Call("GET", path("/rest/api/3/bulk/queue/{task_id}", task_id=task_id))


def _edit(name: str, value: Any, how: str) -> tuple[str, Any]:
    """Return the input of one field, which Jira names after the kind of field."""
    field = {"fieldId": name}
    match name:
        case "labels":
            labels = [{"name": label} for label in value]
            return "labelsFields", [field | {"bulkEditMultiSelectFieldOption": how, "labels": labels}]
        case "fixVersions":
            versions = [{"versionId": version} for version in value]
            picked = field | {"bulkEditMultiSelectFieldOption": how, "versions": versions}
            return "multipleVersionPickerFields", [picked]
        case "assignee":
            user = None if value == "none" else {"accountId": value}
            return "singleSelectClearableUserPickerFields", [field | {"user": user}]
        case _:
            return "priority", {"priorityId": value}


def _with_priority(call: Call, issue_key: str, name: str) -> Calls:
    """Replace the name of the priority by its id, as an issue knows it."""
    fields = (yield Call("GET", issue_path(issue_key, "/editmeta"))).json["fields"]
    known = fields.get("priority", {}).get("allowedValues", [])
    found = next((each["id"] for each in known if each["name"].casefold() == name.casefold()), None)
    if found is None:
        names = ", ".join(each["name"] for each in known) or "none"
        raise InvalidRequest(field="priority", problem=f"{issue_key} takes these: {names}")
    edited = call.json["editedFieldsInput"] | {"priority": {"priorityId": found}}
    return replace(call, json=call.json | {"editedFieldsInput": edited})
