"""Plans for issues: labels, milestones, and the projects of people and organizations."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import NotUndoable
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, Calls, changes, given, path
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, restores, row_where, undone_by
from mcpist_services.github.module import (
    ADDRESSES,
    Direction,
    IssueNumber,
    Name,
    Number,
    Owner,
    Query,
    Repo,
    State,
    github,
    link_paging,
    repo_path,
    repository_of,
)

LABEL = shows("name", "color", "description")
MILESTONE = ("number", "title", "state", "due_on as due", "html_url as url")
MILESTONES = shows(
    *MILESTONE,
    "open_issues",
    "closed_issues",
    "created_at as created",
    "description",
)

Color = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{6}$"), "Six hexadecimal digits, e.g. d73a4a"]
Text = Annotated[str, "In one line, e.g. Something is broken"]
LabelName = Annotated[Name, "As list_labels shows it, e.g. bug"]
MilestoneNumber = Annotated[Number, from_url(ADDRESSES, "milestone"), "The number that list_milestones shows, e.g. 3"]
Due = Annotated[UtcMoment, "e.g. 2026-01-31T09:00:00Z"]


LABEL_FIELDS: dict[str, Any] = {"color": "color", "description": lambda label: label.get("description") or ""}
PLANNED: dict[str, Any] = {
    "title": "title",
    "description": lambda milestone: milestone.get("description") or "",
    "due_on": "due_on",
    "state": "state",
}


@github.writes(
    LABEL,
    "issues/create-label",
    undo=undone_by(
        "delete_label(owner, repo, label=answer.name)",
        read="list_labels",
        select=row_where("name", "answer.name"),
        creates=True,
        fields=LABEL_FIELDS,
    ),
)
def create_label(
    owner: Owner,
    repo: Repo,
    name: Annotated[Name, "e.g. bug"],
    color: Color | None = None,
    description: Text | None = None,
) -> Call:
    """Create a label in a repository."""
    fields = given(name=name, color=color, description=description)
    return Call("POST", repo_path(owner, repo, "/labels"), json=fields)


@github.writes(
    LABEL,
    "issues/update-label",
    idempotent=True,
    uses=({"new_name": "defect"},),
    undo=restores(
        "list_labels",
        select=row_where("name", "answer.name", "arguments.label"),
        renamed={"label": lambda change: (change.answer or {}).get("name") or change.arguments["label"]},
        new_name="name",
        **LABEL_FIELDS,
    ),
)
def update_label(
    owner: Owner,
    repo: Repo,
    label: LabelName,
    new_name: Annotated[Name | None, "e.g. defect"] = None,
    color: Color | None = None,
    description: Text | None = None,
) -> Call:
    """Rename a label of a repository, or change its colour or description."""
    fields = changes(new_name=new_name, color=color, description=description)
    return Call("PATCH", repo_path(owner, repo, "/labels/{label}", label=label), json=fields)


def _of_label(change: ToolChange) -> dict[str, Any]:
    return change.given("owner", "repo") | {"labels": [change.arguments["label"]], "state": "all", "fetch_all": True}


def _label_again(change: ToolChange) -> Iterable[ToolCall]:
    """Return the calls that create a label again, and put it on the issues that had it."""
    wanted = change.arguments["label"].casefold()
    found = [one for issue in change.before for one in issue["labels"] if one["name"].casefold() == wanted]
    if not found:
        raise NotUndoable(tool=change.tool, problem="no issue had the label, so its colour is not known")
    place = change.given("owner", "repo")
    label = {name: found[0][name] for name in ("name", "color", "description") if found[0].get(name)}
    yield ToolCall("create_label", place | label)
    for issue in change.before:
        yield ToolCall("add_labels", place | {"issue_number": issue["number"], "labels": [label["name"]]})


@github.destroys(
    DONE, "issues/delete-label", idempotent=True, undo=Undo(calls=_label_again, read="list_issues", target=_of_label)
)
def delete_label(owner: Owner, repo: Repo, label: LabelName) -> Call:
    """Delete a label of a repository; all issues lose it."""
    return Call("DELETE", repo_path(owner, repo, "/labels/{label}", label=label))


@github.lists(MILESTONES, "issues/list-milestones")
def list_milestones(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    sort: Literal["due_on", "completeness"] = "due_on",
    direction: Direction = "asc",
) -> Call:
    """List a repository's milestones: what is due when, and how much of it is open."""
    return Call("GET", repo_path(owner, repo, "/milestones"), given(state=state, sort=sort, direction=direction))


@github.writes(
    shows(*MILESTONE),
    "issues/create-milestone",
    undo=undone_by(
        'update_milestone(owner, repo, milestone_number=answer.number, state="closed")',
        read='list_milestones(state="all")',
        select=row_where("number", "answer.number"),
        creates=True,
        fields=PLANNED | {"issues": lambda one: one["open_issues"] + one["closed_issues"]},
    ),
)
def create_milestone(
    owner: Owner,
    repo: Repo,
    title: Annotated[Name, "e.g. 1.2"],
    description: Annotated[str | None, "e.g. Faster search"] = None,
    due_on: Due | None = None,
) -> Call:
    """Create a milestone in a repository."""
    fields = given(title=title, description=description, due_on=due_on)
    return Call("POST", repo_path(owner, repo, "/milestones"), json=fields)


@github.writes(
    shows(*MILESTONE),
    "issues/update-milestone",
    idempotent=True,
    uses=({"state": "closed"},),
    undo=restores('list_milestones(state="all")', select=row_where("number", "arguments.milestone_number"), **PLANNED),
)
def update_milestone(
    owner: Owner,
    repo: Repo,
    milestone_number: MilestoneNumber,
    title: Annotated[Name | None, "e.g. 1.2"] = None,
    description: Annotated[str | None, "e.g. Faster search"] = None,
    due_on: Due | None = None,
    state: Literal["open", "closed"] | None = None,
) -> Call:
    """Change a milestone, close it or open it again."""
    fields = changes(title=title, description=description, due_on=due_on, state=state)
    return Call("PATCH", repo_path(owner, repo, "/milestones/{number}", number=milestone_number), json=fields)


# Projects belong to a person or an organization, not to a repository.
READING, WRITING = ("read:project",), ("project",)
PROJECTS = shows(
    "number",
    "title",
    "state",
    "short_description as description",
    "created_at as created",
    "updated_at as updated",
    "row.url as url",
)
FIELDS = shows(
    "id",
    "name",
    "data_type as type",
    "options[*].id as option_ids",
    "options[*].name.raw as options",
    "created_at as created",
)
ITEMS = shows(
    "id",
    "content_type as type",
    "owner",
    "repo",
    "content.number as number",
    "content.title as title",
    "content.state as state",
    "row.values as values",
    "created_at as created",
    "content.html_url as url",
)
ITEM = shows("id", "content_type as type", "created_at as created")

ProjectOwner = Annotated[
    str, Field(pattern=r"^[\w.-]+$"), from_url(ADDRESSES, "owner"), "The organization or person, e.g. octo-org"
]
OwnerType = Annotated[Literal["orgs", "users"], "Whether the owner is an organization or a person"]
ProjectNumber = Annotated[Number, from_url(ADDRESSES, "project_number"), "The number that list_projects shows"]
FieldIds = Annotated[list[Number], "More columns, by the ids of list_project_fields, e.g. 7, 8"]
ItemId = Annotated[Number, "The id that list_project_items shows, e.g. 42"]
FieldId = Annotated[Number, "The id that list_project_fields shows, e.g. 7"]
FieldValue = Annotated[
    str | float, "A text, a number, a date, or the id of an option or an iteration; none clears it, e.g. 47fc9ee4"
]


def _with_page(project: Any, _: Any) -> dict[str, Any]:
    owner = project.get("owner") or {}
    kind = "orgs" if owner.get("type") == "Organization" else "users"
    return {"row": {"url": f"https://github.com/{kind}/{owner.get('login')}/projects/{project['number']}"}}


def _with_values(item: Any, _: Any) -> dict[str, Any]:
    """Return the repository of an item, and the values of its fields by their names."""
    values = {field["name"]: _plain(field.get("value")) for field in item.get("fields") or []}
    return {"row": {"values": values}, **repository_of((item.get("content") or {}).get("repository_url"))}


def _plain(value: Any) -> Any:
    """Return the readable text of a field's value, whose rich forms have it as `raw`, `name` or `title`."""
    while isinstance(value, dict):
        value = next((value[word] for word in ("raw", "name", "title") if word in value), None)
    return value


@github.lists(PROJECTS, "projects/list-for-org", paging=link_paging(_with_page), scopes=READING)
def list_projects(
    owner: ProjectOwner,
    owner_type: OwnerType = "orgs",
    q: Annotated[Query | None, "Words of the title, or is:open, e.g. roadmap"] = None,
) -> Call:
    """List the projects (boards, roadmaps) of an organization or a person."""
    return Call("GET", _projects_path(owner_type, owner), given(q=q))


@github.lists(FIELDS, "projects/list-fields-for-org", scopes=READING)
def list_project_fields(owner: ProjectOwner, project_number: ProjectNumber, owner_type: OwnerType = "orgs") -> Call:
    """List the fields of a project, such as its status, with their options."""
    return Call("GET", _projects_path(owner_type, owner, "/{number}/fields", number=project_number))


@github.lists(ITEMS, "projects/list-items-for-org", paging=link_paging(_with_values), scopes=READING)
def list_project_items(
    owner: ProjectOwner,
    project_number: ProjectNumber,
    owner_type: OwnerType = "orgs",
    q: Annotated[Query | None, "The project's filter, e.g. status:Todo assignee:octocat"] = None,
    fields: FieldIds | None = None,
) -> Call:
    """List the issues, pull requests and drafts of a project, with the values of its fields."""
    columns = ",".join(map(str, fields)) if fields else None
    place = _projects_path(owner_type, owner, "/{number}/items", number=project_number)
    return Call("GET", place, given(q=q, fields=columns))


_ITEM = row_where("id", "arguments.item_id")
_FIELD = row_where("id", "arguments.field_id", rows="fields")


def _field_of(items: Any, change: ToolChange) -> Any:
    """Return the field of an item that a change sets; without a value where it has none."""
    item = _ITEM(items, change)
    return item and (_FIELD(item, change) or {})


def _raw_value(field: Any) -> Any:
    """Return a field's value as update_project_item takes it: an option or iteration by its id."""
    value = field.get("value")
    while isinstance(value, dict):
        value = next((value[word] for word in ("id", "raw", "title") if word in value), None)
    return "none" if value is None else value


@github.writes(
    ITEM,
    "projects/add-item-for-org",
    scopes=(*WRITING, "public_repo"),
    irreversible="no tool takes an item off a project",
)
def add_project_item(
    owner: ProjectOwner,
    project_number: ProjectNumber,
    repo: Annotated[Repo, "The issue's repository, e.g. hello-world"],
    issue_number: IssueNumber,
    repo_owner: Annotated[Owner | None, "The repository's owner, if not the project's, e.g. octocat"] = None,
    owner_type: OwnerType = "orgs",
) -> Calls:
    """Put an issue or a pull request on a project."""
    # A pull request is an issue, too, but has another id as the content of an item.
    found = (yield Call("GET", repo_path(repo_owner or owner, repo, "/issues/{number}", number=issue_number))).json
    kind = "Issue"
    if "pull_request" in found:
        kind = "PullRequest"
        found = (yield Call("GET", repo_path(repo_owner or owner, repo, "/pulls/{number}", number=issue_number))).json
    place = _projects_path(owner_type, owner, "/{number}/items", number=project_number)
    return (yield Call("POST", place, json={"type": kind, "id": found["id"]})).json


@github.writes(
    ITEM,
    "projects/update-item-for-org",
    scopes=WRITING,
    idempotent=True,
    undo=restores(
        "list_project_items",
        reads={"fields": lambda change: [change.arguments["field_id"]]},
        select=_field_of,
        echoes=False,
        value=_raw_value,
    ),
)
def update_project_item(
    owner: ProjectOwner,
    project_number: ProjectNumber,
    item_id: ItemId,
    field_id: FieldId,
    value: FieldValue,
    owner_type: OwnerType = "orgs",
) -> Call:
    """Set a field of an item of a project, such as its status."""
    place = _projects_path(owner_type, owner, "/{number}/items/{item}", number=project_number, item=item_id)
    return Call("PATCH", place, json={"fields": [{"id": field_id, "value": None if value == "none" else value}]})


def _projects_path(owner_type: str, owner: str, rest: str = "", **parts: int) -> str:
    return path(f"/{{owner_type}}/{{owner}}/projectsV2{rest}", owner_type=owner_type, owner=owner, **parts)
