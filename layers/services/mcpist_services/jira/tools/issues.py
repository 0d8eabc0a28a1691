"""Issues: search, read, write."""

from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import DONE, shows, value_at
from mcpist.tools.declare.argument_types import Day
from mcpist.tools.declare.call import Call, Calls, Work, changes, given
from mcpist.tools.declare.undo import Undo, toggles, undone_by
from mcpist_services.jira.fields import LIST_FIELDS, custom_fields, field_changes, issue_fields, issue_page
from mcpist_services.jira.module import (
    CHANGED,
    FOUND,
    ISSUE,
    SEARCH,
    FieldIds,
    IssueKey,
    Jql,
    Markdown,
    Name,
    Project,
    for_account,
    issue_path,
    jira,
    offset_paging,
    search_call,
)
from mcpist_services.jira.undoing import assignee, changed_fields, former_fields, untouched, watches, written_fields

MAX_COMMENTS = 20
_DETAIL_FIELDS = ["issuetype", "resolution", "reporter", "parent", "labels", "components", "fixVersions", "duedate"]
_DETAIL_FIELDS += ["subtasks", "issuelinks", "attachment", "environment", "description"]
CREATED = shows("id", "key", "page_url as url")
ISSUE_DETAILS = shows(
    *ISSUE,
    "fields.issuetype.name as type",
    "fields.resolution.name as resolution",
    "fields.reporter.displayName as reporter",
    "fields.parent.key as parent",
    "fields.labels as labels",
    "fields.components[*].name as components",
    "fields.fixVersions[*].name as fix_versions",
    "fields.duedate as due",
    "fields.subtasks[*].key as subtasks",
    "links",
    "fields.attachment[*].filename as attachments",
    "environment",
    "more",
    "markdown as description",
    text="description",
)
ISSUE_CHANGES = (
    {"summary": "Login fails on Safari", "description": "Steps: ...", "priority": "High", "labels": ["ui"]},
    {"parent": "ENG-7", "duedate": "2026-01-31", "components": ["Web"], "environment": "Safari 19"},
    {"add_labels": ["ui"], "remove_labels": ["draft"], "fields": {"customfield_10016": 3}, "notify_users": False},
)
WATCHER = ("accountId as account_id", "displayName as name", "active")
CHANGELOG = shows("created", "author.displayName as author", "changes", rows="values")

Label = Annotated[str, Field(pattern=r"^\S+$", max_length=255)]
AccountId = Annotated[str, Field(min_length=1, max_length=128)]
Fields = Annotated[
    dict[str, Any],
    "Other fields by the ids of list_fields, in Jira's format; null clears one, an object with markdown is rich "
    'text, e.g. {"customfield_10016": 3, "customfield_10050": {"markdown": "**Why**"}}',
]
DueDay = Annotated[Day, "e.g. 2026-01-31"]
SearchJql = Annotated[
    Jql,
    "Must limit the search: to a project, a person, a time, "
    "e.g. project = ENG AND statusCategory != Done ORDER BY priority DESC",
]
Watcher = Annotated[AccountId, "An account id or an e-mail address, e.g. 5b10ac8d82e05b22cc7d4ef5"]
Assignee = Annotated[
    AccountId,
    "An account id or an e-mail address, -1 for the project's default, none for nobody, e.g. 5b10ac8d82e05b22cc7d4ef5",
]


@jira.lists(FOUND, "searchAndReconsileIssuesUsingJqlPost", paging=SEARCH)
def search(jql: SearchJql, fields: FieldIds | None = None) -> Call:
    """Search issues by JQL."""
    return search_call(jql, fields)


@jira.reads(shows("count"), "countIssues")
def count(jql: Annotated[Jql, "Must limit the search, e.g. project = ENG AND resolution is EMPTY"]) -> Call:
    """Count the issues that a JQL query finds, approximately."""
    return Call("POST", "/rest/api/3/search/approximate-count", json={"jql": jql})


@jira.reads(ISSUE_DETAILS, "getIssue")
def get_issue(
    issue_key: IssueKey,
    comments: Annotated[bool, f"Add its newest {MAX_COMMENTS} comments after the description"] = False,
    fields: FieldIds | None = None,
) -> Calls:
    """Read one issue: its fields, its links, its description as Markdown."""
    names = ",".join(dict.fromkeys([*LIST_FIELDS, *_DETAIL_FIELDS, *(fields or [])]))
    issue = (yield Call("GET", issue_path(issue_key), {"fields": names})).json
    newest: list[dict[str, Any]] = []
    if comments:
        query = {"orderBy": "-created", "maxResults": MAX_COMMENTS}
        newest = (yield Call("GET", issue_path(issue_key, "/comment"), query)).json["comments"]
    return issue | issue_page(issue["fields"], fields or [], newest)


@jira.writes(
    CREATED,
    "createIssue",
    undo=undone_by(
        "delete_issue(issue_key=answer.key)",
        read="get_issue(fields=null)",
        creates=True,
        state=untouched,
        after=lambda change: {"summary": change.arguments["summary"], "parts": [], "changed": False},
    ),
)
def create_issue(
    project: Project,
    issue_type: Annotated[Name, "Its name or id, as list_issue_types shows, e.g. Bug"],
    summary: Annotated[Name, "In one line, e.g. Login fails on Safari"],
    description: Annotated[Markdown | None, "Markdown, e.g. Steps: ..."] = None,
    priority: Annotated[Name | None, "Its name or id, e.g. High"] = None,
    labels: Annotated[list[Label] | None, "Without spaces, e.g. ui, safari"] = None,
    assignee: Annotated[AccountId | None, "An account id or an e-mail address, e.g. 5b10ac8d82e05b22cc7d4ef5"] = None,
    parent: Annotated[IssueKey | None, "The epic, or the issue of a subtask, e.g. ENG-7"] = None,
    duedate: DueDay | None = None,
    components: Annotated[list[Name] | None, "Names, e.g. Web, Login"] = None,
    environment: Annotated[Markdown | None, "Where it happens, in Markdown, e.g. Safari 19"] = None,
    fields: Fields | None = None,
) -> Work:
    """Open an issue."""
    known: dict[str, Any] = {"project": project, "issuetype": issue_type, "summary": summary}
    known |= {"description": description, "priority": priority, "labels": labels, "parent": parent}
    known |= {"duedate": duedate, "components": components, "environment": environment}

    def created(account: str | None) -> Call:
        values = issue_fields(**known, assignee=account) | custom_fields(fields)
        return Call("POST", "/rest/api/3/issue", json={"fields": values})

    return for_account(assignee, created)


@jira.writes(
    CHANGED,
    "editIssue",
    idempotent=True,
    uses=ISSUE_CHANGES,
    undo=Undo(
        calls=former_fields,
        read="get_issue",
        reads={"fields": lambda change: list(change.arguments["fields"] or ())},
        state=changed_fields,
        after=written_fields,
    ),
    tells={"watchers": "arguments.notify_users"},
)
def update_issue(
    issue_key: IssueKey,
    summary: Annotated[Name | None, "In one line, e.g. Login fails on Safari"] = None,
    description: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Steps: ..."] = None,
    priority: Annotated[Name | None, "Its name or id, e.g. High"] = None,
    labels: Annotated[list[Label] | None, "Replaces all labels, e.g. ui, safari"] = None,
    add_labels: Annotated[list[Label] | None, "In addition to those that it has, e.g. ui"] = None,
    remove_labels: Annotated[list[Label] | None, "e.g. draft"] = None,
    parent: Annotated[IssueKey | None, "The epic, or the issue of a subtask, e.g. ENG-7"] = None,
    duedate: DueDay | None = None,
    components: Annotated[list[Name] | None, "Names; replaces all, e.g. Web, Login"] = None,
    environment: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Safari 19"] = None,
    fields: Fields | None = None,
    notify_users: Annotated[bool, "Whether watchers get an e-mail; only administrators may set false"] = True,
) -> Call:
    """Change an issue. For its status use transition_issue, for its assignee assign_issue."""
    known = {"summary": summary, "description": description, "priority": priority, "labels": labels, "parent": parent}
    known |= {"duedate": duedate, "components": components, "environment": environment}
    changes(**known, add_labels=add_labels, remove_labels=remove_labels, fields=fields)
    if labels is not None and (add_labels or remove_labels):
        raise InvalidRequest(field="labels", problem="replace all labels, or add and remove some: not both")
    body = given(fields=issue_fields(**known) | custom_fields(fields) or None)
    steps = [*({"add": label} for label in add_labels or []), *({"remove": label} for label in remove_labels or [])]
    body |= {"update": {"labels": steps}} if steps else {}
    return Call("PUT", issue_path(issue_key), {} if notify_users else {"notifyUsers": False}, json=body)


@jira.writes(
    CHANGED,
    "assignIssue",
    idempotent=True,
    undo=undone_by(
        "assign_issue(issue_key)",
        read="get_issue",
        account_id=lambda change: value_at(change.before, "fields.assignee.accountId") or "none",
        state=assignee,
        after=lambda change: {"account_id": change.arguments["account_id"]},
    ),
)
def assign_issue(issue_key: IssueKey, account_id: Assignee | None) -> Work:
    """Assign an issue to a person, or to nobody."""
    place, person = issue_path(issue_key, "/assignee"), None if account_id == "none" else account_id
    return for_account(person, lambda account: Call("PUT", place, json={"accountId": account}))


@jira.reads(shows(*WATCHER, rows="watchers"), "getIssueWatchers")
def list_watchers(issue_key: IssueKey) -> Call:
    """List the people who watch an issue."""
    return Call("GET", issue_path(issue_key, "/watchers"))


@jira.writes(
    DONE,
    "addWatcher",
    idempotent=True,
    undo=toggles("remove_watcher(issue_key, account_id)", read="list_watchers", has=watches, adds=True),
)
def add_watcher(issue_key: IssueKey, account_id: Watcher) -> Work:
    """Let a person watch an issue."""
    return for_account(account_id, lambda account: Call("POST", issue_path(issue_key, "/watchers"), json=account))


@jira.writes(
    DONE,
    "removeWatcher",
    idempotent=True,
    undo=toggles("add_watcher(issue_key, account_id)", read="list_watchers", has=watches, adds=False),
)
def remove_watcher(issue_key: IssueKey, account_id: Watcher) -> Work:
    """Let a person watch an issue no more."""
    place = issue_path(issue_key, "/watchers")
    return for_account(account_id, lambda account: Call("DELETE", place, {"accountId": account}))


@jira.destroys(DONE, "deleteIssue", irreversible="Jira keeps no deleted issue")
def delete_issue(
    issue_key: IssueKey,
    delete_subtasks: Annotated[
        bool, "Delete its subtasks too; without this an issue with subtasks is not deleted"
    ] = False,
) -> Call:
    """Delete an issue. This cannot be undone."""
    return Call("DELETE", issue_path(issue_key), {"deleteSubtasks": delete_subtasks})


@jira.lists(CHANGELOG, "getChangeLogs", paging=offset_paging(extra_columns=field_changes))
def get_changelog(issue_key: IssueKey) -> Call:
    """List the changes of an issue, the oldest first: what, when and by whom."""
    return Call("GET", issue_path(issue_key, "/changelog"))
