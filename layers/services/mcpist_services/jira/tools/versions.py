"""The versions of a project."""

from collections.abc import Mapping
from typing import Annotated, Any

from mcpist.render.shows import shows
from mcpist.tools.declare.argument_types import Day
from mcpist.tools.declare.call import Call, Calls, changes, given, path
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import restores, undone_by
from mcpist_services.jira.module import ADDRESSES, Name, Project, jira

VERSION = ("id", "name", "released", "archived", "startDate as start", "releaseDate as release", "description")
VERSIONS = shows(*VERSION, "overdue", "page_url as url")
MANAGING = ("read:jira-work", "manage:jira-project")

VersionId = Annotated[str, from_url(ADDRESSES, "version_id"), "The id that list_versions shows, e.g. 10010"]
Text = Annotated[str, "e.g. The spring release"]
StartDay = Annotated[Day, "e.g. 2026-01-31"]
ReleaseDay = Annotated[Day, "e.g. 2026-03-31"]


def _version_path(item: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return the path of a version's page, which needs the project's key."""
    project = arguments.get("project", "")
    keyed = not project.isdecimal() and item.get("id")
    return path("/projects/{project}/versions/{version}", project=project, version=item["id"]) if keyed else None


@jira.reads(VERSIONS, "getProjectVersions", page_path=_version_path)
def list_versions(project: Project) -> Call:
    """List the versions of a project: which are released, and when the others shall be."""
    return Call("GET", path("/rest/api/3/project/{project}/versions", project=project))


@jira.reads(shows(*VERSION), "getVersion")
def get_version(version_id: VersionId) -> Call:
    """Read one version of a project: whether it is released, its dates."""
    return Call("GET", path("/rest/api/3/version/{version_id}", version_id=version_id))


FIELDS: dict[str, Any] = {
    "name": "name",
    "description": lambda version: version.get("description") or "",
    "released": "released",
    "archived": "archived",
    "start_date": "startDate",
    "release_date": "releaseDate",
}


@jira.writes(
    shows(*VERSION),
    "createVersion",
    scopes=MANAGING,
    undo=undone_by(
        "update_version(version_id=answer.id, archived=true)", read="get_version", creates=True, fields=FIELDS
    ),
)
def create_version(
    project: Project,
    name: Annotated[Name, "e.g. 1.4"],
    description: Text | None = None,
    start_date: StartDay | None = None,
    release_date: ReleaseDay | None = None,
) -> Calls:
    """Create a version in a project. Needs the right to administer the project."""
    days = {"startDate": start_date, "releaseDate": release_date}
    body = given(name=name, description=description, **days)
    # Jira takes the project's id alone.
    project_id = (yield Call("GET", path("/rest/api/3/project/{project}", project=project))).json["id"]
    return Call("POST", "/rest/api/3/version", json={"projectId": int(project_id)} | body)


@jira.writes(
    shows(*VERSION),
    "updateVersion",
    idempotent=True,
    scopes=("manage:jira-project",),
    uses=({"released": True},),
    undo=restores("get_version", **FIELDS),
)
def update_version(
    version_id: VersionId,
    released: Annotated[bool | None, "true releases it, false takes that back"] = None,
    release_date: ReleaseDay | None = None,
    start_date: StartDay | None = None,
    name: Annotated[Name | None, "e.g. 1.4"] = None,
    description: Text | None = None,
    archived: Annotated[bool | None, "Hidden where versions are chosen"] = None,
) -> Call:
    """Release, rename, date or archive a version. Needs the right to administer the project."""
    days = {"startDate": start_date, "releaseDate": release_date}
    body = changes(name=name, description=description, released=released, archived=archived, **days)
    return Call("PUT", path("/rest/api/3/version/{version_id}", version_id=version_id), json=body)
