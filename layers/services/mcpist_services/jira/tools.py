"""Jira: issues with their comments and worklogs, projects, boards, sprints.

Reference: https://developer.atlassian.com/cloud/jira/platform/rest/v3/ and, for boards and sprints,
https://developer.atlassian.com/cloud/jira/software/rest/
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import DONE, shows, value_at
from mcpist.tools.call import Call, CallResponse, Calls, changes, given, path
from mcpist.tools.module import Module, Scopes
from mcpist.tools.paging import ExtraColumns, NextPage, Paging, Position, by_offset
from mcpist_services.jira.adf import adf
from mcpist_services.jira.presentation import LIST_FIELDS, comment_text, field_changes, issue_page, other_fields

MAX_COMMENTS = 20

_DETAIL_FIELDS = ["issuetype", "resolution", "reporter", "parent", "labels", "components", "fixVersions", "duedate"]
_DETAIL_FIELDS += ["created", "subtasks", "issuelinks", "attachment", "environment", "description"]


def _is_last(page: Any, end: int) -> bool:
    """Newer lists say whether a page is the last, older ones only how many items there are."""
    return bool(page["isLast"]) if "isLast" in page else end >= page.get("total", end)


def _next_token(_: Call, answer: CallResponse, __: int) -> Position:
    token = answer.json.get("nextPageToken")
    return {"nextPageToken": token} if token and not answer.json.get("isLast") else {}


def _next_users(call: Call, _: CallResponse, items: int) -> Position:
    """A bare list says nothing of its end; a page that is not full is the last."""
    full = items == call.query["maxResults"]
    return {"startAt": int(call.query.get("startAt", 0)) + items} if full else {}


_NEXT_OFFSET = by_offset("startAt", last=_is_last)


def _offset_paging(
    next_page: NextPage = _NEXT_OFFSET, max_size: int = 100, extra_columns: ExtraColumns | None = None
) -> Paging:
    """Pages that begin at a place in the list."""
    return Paging("maxResults", max_size, ("startAt",), next_page, extra_columns)


jira = Module(
    "jira",
    __doc__,
    api_version="3",
    host="https://api.atlassian.com/ex/jira/{account}",
    headers={"accept": "application/json"},
    paging=_offset_paging(),
    scopes=Scopes(reads=("read:jira-work",), writes=("write:jira-work",), destroys=("write:jira-work",)),
    category="project management",
    tags=("issues", "agile"),
)

PEOPLE = ("read:jira-user",)

ISSUE = (
    "key",
    "fields.summary as summary",
    "fields.status.name as status",
    "fields.priority.name as priority",
    "fields.assignee.displayName as assignee",
    "fields.updated as updated",
)
FOUND = shows(*ISSUE, "more", rows="issues")
USER = ("accountId as account_id", "displayName as name", "emailAddress as email", "active")
CREATED = shows("id", "key")
WRITTEN = shows("id", "created")

IssueKey = Annotated[str, Field(pattern=r"^(?:[A-Za-z][A-Za-z0-9_]*-[0-9]+|[0-9]+)$"), "Its key or id, e.g. ENG-42"]
Project = Annotated[str, Field(min_length=1), "The project's key or id, e.g. ENG"]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Label = Annotated[str, Field(pattern=r"^\S+$", max_length=255)]
Markdown = Annotated[str, Field(max_length=32_767)]
Jql = Annotated[str, Field(min_length=1)]
AccountId = Annotated[str, Field(min_length=1, max_length=128)]
CommentId = Annotated[str, Field(pattern=r"^[0-9]+$"), "The id that list_comments shows, e.g. 10050"]
FieldIds = Annotated[list[Name], "More fields to show, by the ids of list_fields, e.g. customfield_10016"]
Fields = Annotated[
    dict[str, Any],
    "Other fields by the ids of list_fields, as Jira writes them; null empties one, an object with markdown is rich "
    'text, e.g. {"customfield_10016": 3, "customfield_10050": {"markdown": "**Why**"}}',
]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$"), "e.g. 2026-01-31"]
Time = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)$"),
    "With an offset, e.g. 2026-01-31T09:00:00Z",
]
Duration = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?[wdhm](\s+\d+(\.\d+)?[wdhm])*\s*$")]
Board = Annotated[int, Field(ge=1), "The id that list_boards shows"]
Sprint = Annotated[int, Field(ge=1), "The id that list_sprints shows"]


# -- the account, people and projects -----------------------------------------------------------------


@jira.reads(shows(*USER, "timeZone as timezone", "locale"), "getCurrentUser", scopes=PEOPLE)
def get_myself() -> Call:
    """Read the account that Jira is connected with."""
    return Call("GET", "/rest/api/3/myself")


@jira.lists(shows(*USER, "accountType as type"), "findUsers", paging=_offset_paging(_next_users), scopes=PEOPLE)
def search_users(query: Annotated[str, Field(min_length=1), "Part of a name or an e-mail address, e.g. mia"]) -> Call:
    """Find people by name or e-mail address, with the account ids that other tools take."""
    return Call("GET", "/rest/api/3/user/search", {"query": query})


@jira.lists(
    shows("key", "name", "id", "projectTypeKey as type", "projectCategory.name as category", rows="values"),
    "searchProjects",
)
def list_projects(
    query: Annotated[str | None, "Part of the key or the name, e.g. eng"] = None,
    type_key: Literal["software", "service_desk", "business"] | None = None,
    order_by: Literal["key", "name", "-issueCount", "-lastIssueUpdatedDate"] = "key",
) -> Call:
    """List the projects that you can see."""
    return Call("GET", "/rest/api/3/project/search", given(query=query, typeKey=type_key, orderBy=order_by))


@jira.reads(
    shows(
        "key",
        "name",
        "id",
        "projectTypeKey as type",
        "lead.displayName as lead",
        "description",
        "issueTypes[*].name as issue_types",
        "components[*].name as components",
        "versions[*].name as versions",
    ),
    "getProject",
)
def get_project(project: Project) -> Call:
    """Read one project: who leads it, its issue types, components and versions."""
    return Call("GET", path("/rest/api/3/project/{project}", project=project))


@jira.reads(shows("id", "name", "subtask", "description"), "getIssueAllTypes")
def list_issue_types(
    project: Annotated[str | None, "Only what you can create in this one, by key or id, e.g. ENG"] = None,
) -> Calls:
    """List the types of issues, such as Bug or Story: all, or those of one project."""
    if project is None:
        return (yield Call("GET", "/rest/api/3/issuetype")).json
    place = path("/rest/api/3/issue/createmeta/{project}/issuetypes", project=project)
    return (yield Call("GET", place, {"maxResults": 200})).json["issueTypes"]


@jira.reads(shows("id", "name", "custom", "schema.type as type", "clauseNames as jql_names"), "getFields")
def list_fields(query: Annotated[str | None, "Part of the name or the id, e.g. story point"] = None) -> Calls:
    """List the fields that issues have, also custom ones, with their ids and their names in JQL."""
    fields = (yield Call("GET", "/rest/api/3/field")).json
    words = (query or "").casefold()
    return [field for field in fields if words in f"{field['name']} {field['id']}".casefold()]


# -- issues -------------------------------------------------------------------------------------------


SEARCH = Paging("maxResults", 100, ("nextPageToken",), _next_token, other_fields)


@jira.lists(FOUND, "searchAndReconsileIssuesUsingJqlPost", paging=SEARCH)
def search(
    jql: Annotated[
        Jql,
        "Must restrict something: a project, a person, a time, "
        "e.g. project = ENG AND statusCategory != Done ORDER BY priority DESC",
    ],
    fields: FieldIds | None = None,
) -> Call:
    """Search issues by JQL."""
    return _search(jql, fields)


@jira.reads(shows("count"), "countIssues")
def count(jql: Annotated[Jql, "Must restrict something, e.g. project = ENG AND resolution is EMPTY"]) -> Call:
    """Count the issues that a JQL query finds, about."""
    return Call("POST", "/rest/api/3/search/approximate-count", json={"jql": jql})


@jira.reads(
    shows(
        *ISSUE,
        "fields.issuetype.name as type",
        "fields.resolution.name as resolution",
        "fields.reporter.displayName as reporter",
        "fields.parent.key as parent",
        "fields.labels as labels",
        "fields.components[*].name as components",
        "fields.fixVersions[*].name as fix_versions",
        "fields.duedate as due",
        "fields.created as created",
        "fields.subtasks[*].key as subtasks",
        "links",
        "fields.attachment[*].filename as attachments",
        "environment",
        "more",
        "markdown as description",
        text="description",
    ),
    "getIssue",
)
def get_issue(
    issue_key: IssueKey,
    comments: Annotated[bool, f"With its newest {MAX_COMMENTS} comments behind the description"] = False,
    fields: FieldIds | None = None,
) -> Calls:
    """Read one issue: its fields, its links, its description as Markdown."""
    wanted = ",".join(dict.fromkeys([*LIST_FIELDS, *_DETAIL_FIELDS, *(fields or [])]))
    issue = (yield Call("GET", _issue(issue_key), {"fields": wanted})).json
    newest: list[dict[str, Any]] = []
    if comments:
        query = {"orderBy": "-created", "maxResults": MAX_COMMENTS}
        newest = (yield Call("GET", _issue(issue_key, "/comment"), query)).json["comments"]
    return issue | issue_page(issue["fields"], fields or [], newest)


@jira.writes(CREATED, "createIssue")
def create_issue(
    project: Project,
    issue_type: Annotated[Name, "Its name or id, as list_issue_types shows, e.g. Bug"],
    summary: Annotated[Name, "In one line, e.g. Login fails on Safari"],
    description: Annotated[Markdown | None, "Markdown, e.g. Steps: ..."] = None,
    priority: Annotated[Name | None, "Its name or id, e.g. High"] = None,
    labels: Annotated[list[Label] | None, "Without spaces, e.g. ui, safari"] = None,
    assignee: Annotated[AccountId | None, "An account id, e.g. 5b10ac8d82e05b22cc7d4ef5"] = None,
    parent: Annotated[IssueKey | None, "The epic, or the issue of a subtask, e.g. ENG-7"] = None,
    duedate: Day | None = None,
    components: Annotated[list[Name] | None, "Names, e.g. Web, Login"] = None,
    environment: Annotated[Markdown | None, "Where it happens, in Markdown, e.g. Safari 19"] = None,
    fields: Fields | None = None,
) -> Call:
    """Open an issue."""
    own = _fields(
        project=project,
        issuetype=issue_type,
        summary=summary,
        description=description,
        priority=priority,
        labels=labels,
        assignee=assignee,
        parent=parent,
        duedate=duedate,
        components=components,
        environment=environment,
    )
    return Call("POST", "/rest/api/3/issue", json={"fields": own | _custom_fields(fields)})


@jira.writes(
    DONE,
    "editIssue",
    idempotent=True,
    uses=(
        {"summary": "Login fails on Safari", "description": "Steps: ...", "priority": "High", "labels": ["ui"]},
        {"parent": "ENG-7", "duedate": "2026-01-31", "components": ["Web"], "environment": "Safari 19"},
        {"add_labels": ["ui"], "remove_labels": ["draft"], "fields": {"customfield_10016": 3}, "notify_users": False},
    ),
)
def update_issue(
    issue_key: IssueKey,
    summary: Annotated[Name | None, "In one line, e.g. Login fails on Safari"] = None,
    description: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Steps: ..."] = None,
    priority: Annotated[Name | None, "Its name or id, e.g. High"] = None,
    labels: Annotated[list[Label] | None, "Replaces all labels, e.g. ui, safari"] = None,
    add_labels: Annotated[list[Label] | None, "Beside those that it has, e.g. ui"] = None,
    remove_labels: Annotated[list[Label] | None, "e.g. draft"] = None,
    parent: Annotated[IssueKey | None, "The epic, or the issue of a subtask, e.g. ENG-7"] = None,
    duedate: Day | None = None,
    components: Annotated[list[Name] | None, "Names; replaces all, e.g. Web, Login"] = None,
    environment: Annotated[Markdown | None, "Markdown; replaces the text, e.g. Safari 19"] = None,
    fields: Fields | None = None,
    notify_users: Annotated[bool, "Whether watchers get an e-mail; only administrators may say no"] = True,
) -> Call:
    """Change an issue. Its status changes by transition_issue, its assignee by assign_issue."""
    own = {"summary": summary, "description": description, "priority": priority, "labels": labels, "parent": parent}
    own |= {"duedate": duedate, "components": components, "environment": environment}
    changes(**own, add_labels=add_labels, remove_labels=remove_labels, fields=fields)
    if labels is not None and (add_labels or remove_labels):
        raise InvalidRequest(field="labels", problem="replace all labels, or add and remove some: not both")
    steps = [{"add": label} for label in add_labels or []] + [{"remove": label} for label in remove_labels or []]
    body = given(fields=_fields(**own) | _custom_fields(fields) or None, update={"labels": steps} if steps else None)
    return Call("PUT", _issue(issue_key), {} if notify_users else {"notifyUsers": False}, json=body)


@jira.writes(DONE, "assignIssue", idempotent=True)
def assign_issue(
    issue_key: IssueKey,
    account_id: Annotated[
        AccountId | None, "An account id, -1 for the project's default, none for nobody, e.g. 5b10ac8d82e05b22cc7d4ef5"
    ],
) -> Call:
    """Give an issue to somebody, or take it from everybody."""
    person = None if account_id in (None, "none") else account_id
    return Call("PUT", _issue(issue_key, "/assignee"), json={"accountId": person})


@jira.destroys(DONE, "deleteIssue")
def delete_issue(
    issue_key: IssueKey,
    delete_subtasks: Annotated[bool, "Also its subtasks; without this an issue that has some stays"] = False,
) -> Call:
    """Delete an issue. This cannot be undone."""
    return Call("DELETE", _issue(issue_key), {"deleteSubtasks": delete_subtasks})


@jira.lists(
    shows("created", "author.displayName as author", "changes", rows="values"),
    "getChangeLogs",
    paging=_offset_paging(extra_columns=field_changes),
)
def get_changelog(issue_key: IssueKey) -> Call:
    """List what was changed in an issue, when and by whom, the oldest change first."""
    return Call("GET", _issue(issue_key, "/changelog"))


@jira.writes(DONE, "linkIssues")
def link_issues(
    link_type: Annotated[Name, "Its name, such as Relates, Duplicate or Cloners, e.g. Blocks"],
    inward_issue: Annotated[IssueKey, "The one that does it: with Blocks, the one that blocks, e.g. ENG-42"],
    outward_issue: Annotated[IssueKey, "The one that it is done to: with Blocks, the one that is blocked, e.g. ENG-43"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Found while testing."] = None,
) -> Call:
    """Link two issues: the first blocks, duplicates, clones or relates to the second."""
    # Seen from the first issue, Jira shows the type's outward words, contrary to what the fields' names suggest.
    ends = {"inwardIssue": _by_key_or_id(inward_issue), "outwardIssue": _by_key_or_id(outward_issue)}
    body = {"type": {"name": link_type}, **ends, **given(comment=_body(comment))}
    return Call("POST", "/rest/api/3/issueLink", json=body)


# -- the workflow -------------------------------------------------------------------------------------


@jira.reads(
    shows("id", "name", "to.name as to", "to.statusCategory.name as category", rows="transitions"), "getTransitions"
)
def list_transitions(issue_key: IssueKey) -> Call:
    """List the statuses that an issue can move to now, and the transitions that lead there."""
    return Call("GET", _issue(issue_key, "/transitions"))


@jira.writes(shows("status", "comment"), "doTransition")
def transition_issue(
    issue_key: IssueKey,
    transition: Annotated[Name, "The transition's id or name, or the status that it leads to, e.g. Done"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Fixed in 1.2."] = None,
    fields: Annotated[
        dict[str, Any] | None, 'What the transition asks for, as Jira writes it, e.g. {"resolution": {"name": "Done"}}'
    ] = None,
) -> Calls:
    """Move an issue to another status, with a comment if you like."""
    place, remark = _issue(issue_key, "/transitions"), _body(comment)
    found = _transition((yield Call("GET", place)).json["transitions"], transition)
    moved = {"status": found["to"]["name"], "comment": None}
    # A transition without a screen drops a comment in silence; one with a screen may insist on it.
    within = remark if found.get("hasScreen") else None
    body = given(fields=_custom_fields(fields) or None, update={"comment": [{"add": within}]} if within else None)
    yield Call("POST", place, json={"transition": {"id": found["id"]}, **body})
    if remark is None or within:
        return moved
    try:
        yield Call("POST", _issue(issue_key, "/comment"), json=remark)
    except McpistError as error:
        return moved | {"comment": f"not added: {error.text().message}"}
    return moved


# -- comments and worklogs ----------------------------------------------------------------------------


@jira.lists(
    shows("id", "author.displayName as author", "created", "markdown as body", rows="comments"),
    "getComments",
    paging=_offset_paging(extra_columns=comment_text),
)
def list_comments(
    issue_key: IssueKey, order_by: Annotated[Literal["created", "-created"], "- is the newest first"] = "created"
) -> Call:
    """List the comments of an issue."""
    return Call("GET", _issue(issue_key, "/comment"), {"orderBy": order_by})


@jira.writes(WRITTEN, "addComment")
def add_comment(
    issue_key: IssueKey,
    body: Annotated[Markdown, Field(min_length=1), "Markdown; [@name](mention:account_id) tells people, e.g. Fixed."],
    internal: Annotated[bool, "In a service project: for its agents, not for customers"] = False,
) -> Call:
    """Comment on an issue."""
    closed = [{"key": "sd.public.comment", "value": {"internal": True}}] if internal else None
    return Call("POST", _issue(issue_key, "/comment"), json={"body": adf(body, "body"), **given(properties=closed)})


@jira.writes(shows("id", "updated"), "updateComment", idempotent=True)
def update_comment(
    issue_key: IssueKey,
    comment_id: CommentId,
    body: Annotated[Markdown, Field(min_length=1), "Markdown; replaces the text, e.g. Fixed in 1.2."],
) -> Call:
    """Change a comment."""
    place = _issue(issue_key, "/comment/{comment_id}", comment_id=comment_id)
    return Call("PUT", place, json={"body": adf(body, "body")})


@jira.destroys(DONE, "deleteComment")
def delete_comment(issue_key: IssueKey, comment_id: CommentId) -> Call:
    """Delete a comment. This cannot be undone."""
    return Call("DELETE", _issue(issue_key, "/comment/{comment_id}", comment_id=comment_id))


@jira.lists(
    shows(
        "id",
        "author.displayName as author",
        "started",
        "timeSpent as time_spent",
        "markdown as comment",
        rows="worklogs",
    ),
    "getIssueWorklog",
    paging=_offset_paging(extra_columns=comment_text),
)
def list_worklogs(issue_key: IssueKey, started_after: Time | None = None, started_before: Time | None = None) -> Call:
    """List the work that was logged on an issue: who, when, how long."""
    after, before = _milliseconds(started_after, "started_after"), _milliseconds(started_before, "started_before")
    query = given(startedAfter=after, startedBefore=before)
    return Call("GET", _issue(issue_key, "/worklog"), query)


@jira.writes(shows("id", "timeSpent as time_spent", "started"), "addWorklog")
def add_worklog(
    issue_key: IssueKey,
    time_spent: Annotated[Duration, "Weeks, days, hours and minutes, e.g. 3h 20m"],
    started: Annotated[Time | None, "With an offset; now if left out, e.g. 2026-01-31T09:00:00Z"] = None,
    comment: Annotated[Markdown | None, "Markdown, e.g. Wrote the tests."] = None,
    adjust_estimate: Annotated[
        Literal["auto", "leave", "new", "manual"], "What becomes of the time that remains"
    ] = "auto",
    new_estimate: Annotated[Duration | None, "What remains, with new, e.g. 2h"] = None,
    reduce_by: Annotated[Duration | None, "What remains no longer, with manual, e.g. 30m"] = None,
) -> Call:
    """Log work on an issue."""
    query = given(adjustEstimate=adjust_estimate, newEstimate=new_estimate, reduceBy=reduce_by)
    remark = None if comment is None else adf(comment, "comment")
    body = given(timeSpent=time_spent, started=_worklog_time(started), comment=remark)
    return Call("POST", _issue(issue_key, "/worklog"), query, json=body)


# -- boards and sprints -------------------------------------------------------------------------------

AGILE = _offset_paging(max_size=50)


@jira.lists(
    shows("id", "name", "type", "location.projectKey as project", rows="values"),
    "getAllBoards",
    paging=AGILE,
    scopes=("read:board-scope:jira-software",),
)
def list_boards(
    name: Annotated[str | None, "Part of the name, e.g. team"] = None,
    project_key_or_id: Annotated[str | None, "Only the boards of this project, e.g. ENG"] = None,
    type: Literal["scrum", "kanban", "simple"] | None = None,  # noqa: A002
) -> Call:
    """List the boards that you can see."""
    return Call("GET", "/rest/agile/1.0/board", given(name=name, projectKeyOrId=project_key_or_id, type=type))


@jira.lists(
    shows("id", "name", "state", "startDate as start", "endDate as end", "goal", rows="values"),
    "getAllSprints",
    paging=AGILE,
    scopes=("read:sprint:jira-software",),
)
def list_sprints(
    board_id: Board,
    state: Annotated[list[Literal["future", "active", "closed"]] | None, "All if left out, e.g. active"] = None,
) -> Call:
    """List the sprints of a board."""
    place = path("/rest/agile/1.0/board/{board_id}/sprint", board_id=board_id)
    return Call("GET", place, given(state=",".join(state) if state else None))


@jira.lists(FOUND, "searchAndReconsileIssuesUsingJqlPost", paging=SEARCH)
def list_sprint_issues(
    sprint_id: Sprint,
    jql: Annotated[Jql | None, "A condition besides, e.g. statusCategory != Done"] = None,
    fields: FieldIds | None = None,
) -> Call:
    """List the issues of a sprint, in the order of the board."""
    condition = f" AND ({jql})" if jql else ""
    return _search(f"sprint = {sprint_id}{condition} ORDER BY rank", fields)


@jira.writes(DONE, "moveIssuesToSprintAndRank", idempotent=True, scopes=("write:sprint:jira-software",))
def move_to_sprint(
    sprint_id: Sprint,
    issues: Annotated[list[IssueKey], Field(min_length=1, max_length=50), "Keys or ids, e.g. ENG-42, ENG-43"],
    rank_before_issue: Annotated[IssueKey | None, "Put them before this one, e.g. ENG-50"] = None,
    rank_after_issue: Annotated[IssueKey | None, "Put them after this one, e.g. ENG-41"] = None,
) -> Call:
    """Move issues to a sprint that is active or yet to come."""
    body = given(issues=issues, rankBeforeIssue=rank_before_issue, rankAfterIssue=rank_after_issue)
    return Call("POST", path("/rest/agile/1.0/sprint/{sprint_id}/issue", sprint_id=sprint_id), json=body)


# -- resources and prompts ----------------------------------------------------------------------------


@jira.resource("jira://issues/{issue_key}", get_issue)
def issue(issue_key: str) -> Mapping[str, Any]:
    """An issue with its description."""
    return {"issue_key": issue_key}


@jira.resource("jira://boards/{board_id}/sprints", list_sprints)
def sprints(board_id: str) -> Mapping[str, Any]:
    """The sprints of a board."""
    return {"board_id": board_id}


@jira.resource("jira://sprints/{sprint_id}", list_sprint_issues)
def sprint(sprint_id: str) -> Mapping[str, Any]:
    """The issues of a sprint."""
    return {"sprint_id": sprint_id}


@jira.prompt(search, get_issue)
def triage_my_issues(project: Project) -> str:
    """Sort the open issues that you are to work on by what should happen next."""
    return (
        f"Triage my open issues in the Jira project {project}. In one batch, search them (jira.search with "
        f'`project = "{project}" AND assignee = currentUser() AND statusCategory != Done ORDER BY priority DESC, '
        "duedate`), and read those that are overdue, or were not touched for two weeks, with their comments "
        "(jira.get_issue). Group them into: do now, plan, waits for somebody, close. Say why in one line each, and "
        "propose statuses and priorities. Change nothing before I agree."
    )


@jira.prompt(search, get_changelog)
def stand_up(project: Project) -> str:
    """Prepare what you say in today's stand-up."""
    return (
        f"Prepare my stand-up for the Jira project {project}. In one batch, search what I touched since the last "
        f'working day (jira.search with `project = "{project}" AND assignee = currentUser() AND updated >= -1d`; on a '
        f'Monday `-3d`) and what I have in progress (`project = "{project}" AND assignee = currentUser() AND '
        'statusCategory = "In Progress"`), and read how the touched ones changed (jira.get_changelog). Tell in three '
        "short lists with keys: done, next, blocked. Change nothing before I agree."
    )


@jira.prompt(list_sprints, list_sprint_issues)
def sprint_review(board_id: Board) -> str:
    """Sum up a board's active sprint."""
    return (
        f"Review the active sprint of the Jira board {board_id}. In one batch, find it (jira.list_sprints with state "
        "active) and list its issues (jira.list_sprint_issues). Say how the goal stands, what is done, what is in "
        "progress, what has not begun and who has how much; name risks, and what should move to the next sprint. "
        "Change nothing before I agree."
    )


jira.completes("project", list_projects, "key")
jira.completes("board_id", list_boards, "id")


# -- how Jira speaks ----------------------------------------------------------------------------------


def _issue(issue_key: str, rest: str = "", **parts: str) -> str:
    """A path under one issue."""
    return path(f"/rest/api/3/issue/{{issue_key}}{rest}", issue_key=issue_key, **parts)


def _search(jql: str, fields: list[str] | None) -> Call:
    """Jira answers ids alone where no fields are asked for; a long query has no room in an address."""
    wanted = list(dict.fromkeys([*LIST_FIELDS, *(fields or [])]))
    return Call("POST", "/rest/api/3/search/jql", json={"jql": jql, "fields": wanted})


def _fields(**values: Any) -> dict[str, Any]:
    """The fields of an issue as Jira writes them."""
    return {name: _FIELD_WRITERS.get(name, lambda value: value)(value) for name, value in given(**values).items()}


def _custom_fields(fields: dict[str, Any] | None) -> dict[str, Any]:
    """Fields that are said in Jira's own words, but for rich text."""
    return {name: _custom_value(value, f"fields.{name}") for name, value in (fields or {}).items()}


def _custom_value(value: Any, field: str) -> Any:
    match value:
        case {"markdown": str(text)} if len(value) == 1:
            return adf(text, field)
        case _:
            return value


def _by_name_or_id(name: str) -> dict[str, str]:
    return {"id": name} if name.isdecimal() else {"name": name}


def _by_key_or_id(key: str) -> dict[str, str]:
    return {"id": key} if key.isdecimal() else {"key": key}


_FIELD_WRITERS: dict[str, Callable[[Any], Any]] = {
    "project": _by_key_or_id,
    "issuetype": _by_name_or_id,
    "description": lambda text: adf(text, "description"),
    "priority": _by_name_or_id,
    "assignee": lambda account: {"id": account},
    "parent": _by_key_or_id,
    "components": lambda names: [{"name": name} for name in names],
    "environment": lambda text: adf(text, "environment"),
}


def _body(comment: str | None) -> dict[str, Any] | None:
    return None if comment is None else {"body": adf(comment, "comment")}


def _transition(known: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    """The transition that is meant: by its id, its name, or the one that leads to a status of this name."""
    word = wanted.casefold()
    for says in ("id", "name", "to.name"):
        meant = [found for found in known if str(value_at(found, says)).casefold() == word]
        if len(meant) == 1:
            return meant[0]
    choices = ", ".join(f"{found['id']} {found['name']} (to {found['to']['name']})" for found in known) or "none"
    raise InvalidRequest(field="transition", problem=f"from its status the issue can take: {choices}")


def _worklog_time(started: str | None) -> str | None:
    """A time in the one form that worklogs take: with milliseconds, and an offset without a colon."""
    if started is None:
        return None
    time = _time(started, "started")
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}{time:%z}"


def _milliseconds(text: str | None, field: str) -> int | None:
    return None if text is None else int(_time(text, field).timestamp() * 1000)


def _time(text: str, field: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest(field=field, problem=str(error)) from None
