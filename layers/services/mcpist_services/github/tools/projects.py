"""The projects of people and organizations, which belong to no repository."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given, path_template
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolChange, restores, row_where
from mcpist_services.github.module import (
    ADDRESSES,
    IssueNumber,
    Number,
    Owner,
    Query,
    Repo,
    github,
    link_paging,
    repo_path,
    repository_of,
)

_projects_path = path_template("/{owner_type}/{owner}/projectsV2")


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
    values = {field["name"]: _held(field.get("value"), "raw", "name", "title") for field in item.get("fields") or []}
    return {"row": {"values": values}, **repository_of((item.get("content") or {}).get("repository_url"))}


def _held(value: Any, *words: str) -> Any:
    """Return a field's plain value, which its rich forms hold under the first of these words that they have."""
    while isinstance(value, dict):
        value = next((value[word] for word in words if word in value), None)
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
    value = _held(field.get("value"), "id", "raw", "title")
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
