"""The account, people, projects and issue types."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, ServiceResponse, given, path
from mcpist.tools.declare.paging import Position
from mcpist_services.jira.module import IssueKey, Project, jira, offset_paging


def _next_users(call: Call, _: ServiceResponse, items: int) -> Position:
    """Return the next offset: a plain list does not mark its end, so a page that is not full is the last."""
    full = items == call.query["maxResults"]
    return {"startAt": int(call.query.get("startAt", 0)) + items} if full else {}


PEOPLE = ("read:jira-user",)
USER = ("accountId as account_id", "displayName as name", "emailAddress as email", "active")
PROJECTS = shows(
    "key", "name", "id", "projectTypeKey as type", "projectCategory.name as category", "page_url as url", rows="values"
)
PROJECT_DETAILS = shows(
    "key",
    "name",
    "id",
    "projectTypeKey as type",
    "lead.displayName as lead",
    "description",
    "issueTypes[*].name as issue_types",
    "components[*].name as components",
    "versions[*].name as versions",
)


@jira.reads(shows(*USER, "timeZone as timezone", "locale"), "getCurrentUser", scopes=PEOPLE)
def get_myself() -> Call:
    """Read the account that Jira is connected with."""
    return Call("GET", "/rest/api/3/myself")


@jira.lists(shows(*USER, "accountType as type"), "findUsers", paging=offset_paging(_next_users), scopes=PEOPLE)
def search_users(query: Annotated[str, Field(min_length=1), "Part of a name or an e-mail address, e.g. mia"]) -> Call:
    """Find people by name or e-mail address, with the account ids that other tools take."""
    return Call("GET", "/rest/api/3/user/search", {"query": query})


@jira.lists(
    shows(*USER, "accountType as type"),
    "findAssignableUsers",
    paging=offset_paging(_next_users),
    scopes=PEOPLE,
    uses=({"project": "ENG"}, {"issue_key": "ENG-42", "query": "mia"}),
)
def list_assignable_users(
    project: Annotated[Project | None, "Who can get new issues in this project, e.g. ENG"] = None,
    issue_key: Annotated[IssueKey | None, "Instead: who can get this issue, e.g. ENG-42"] = None,
    query: Annotated[str | None, "Part of a name or an e-mail address, e.g. mia"] = None,
) -> Call:
    """List the people whom an issue can be assigned to, with the account ids that assign_issue takes."""
    if (project is None) == (issue_key is None):
        raise InvalidRequest(field="project", problem="give a project or an issue_key")
    place = given(project=project, issueKey=issue_key)
    return Call("GET", "/rest/api/3/user/assignable/search", place | given(query=query))


@jira.lists(PROJECTS, "searchProjects")
def list_projects(
    query: Annotated[str | None, "Part of the key or the name, e.g. eng"] = None,
    type_key: Literal["software", "service_desk", "business"] | None = None,
    order_by: Literal["key", "name", "-issueCount", "-lastIssueUpdatedDate"] = "key",
) -> Call:
    """List the projects that you can see."""
    return Call("GET", "/rest/api/3/project/search", given(query=query, typeKey=type_key, orderBy=order_by))


@jira.reads(PROJECT_DETAILS, "getProject")
def get_project(project: Project) -> Call:
    """Read one project: who leads it, its issue types, components and versions."""
    return Call("GET", path("/rest/api/3/project/{project}", project=project))


@jira.reads(shows("id", "name", "subtask", "description"), "getIssueAllTypes")
def list_issue_types(
    project: Annotated[Project | None, "Only those that you can create in this project, by key or id, e.g. ENG"] = None,
) -> Calls:
    """List the types of issues, such as Bug or Story: all, or those of one project."""
    if project is None:
        return (yield Call("GET", "/rest/api/3/issuetype")).json
    place = path("/rest/api/3/issue/createmeta/{project}/issuetypes", project=project)
    return (yield Call("GET", place, {"maxResults": 200})).json["issueTypes"]
