"""Organizations and projects."""

from typing import Annotated, Literal

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, NewPassword
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import undone_by
from mcpist_services.supabase.module import ADDRESSES, Name, ProjectRef, project_path, supabase

PROJECT = ("ref", "name", "organization_slug as organization", "region", "status", "created_at as created")
PROJECT_DETAILS = shows(*PROJECT, "database.host as database_host", "database.version as postgres_version")

Organization = Annotated[Name, from_url(ADDRESSES, "organization"), "The slug that list_organizations shows, e.g. acme"]
HealthOf = Literal["auth", "db", "db_postgres_user", "pooler", "realtime", "rest", "storage", "pg_bouncer"]

BILLED = "the organization's plan bills it"


@supabase.reads(shows("slug", "name"), "v1-list-all-organizations")
def list_organizations() -> Call:
    """List the organizations that the connected account belongs to."""
    return Call("GET", "/v1/organizations")


@supabase.reads(shows(*PROJECT), "v1-list-all-projects")
def list_projects() -> Call:
    """List the projects that you can reach, with their refs."""
    return Call("GET", "/v1/projects")


@supabase.reads(PROJECT_DETAILS, "v1-get-project")
def get_project(project_ref: ProjectRef) -> Call:
    """Read one project: where it runs, whether it is up, its database."""
    return Call("GET", project_path(project_ref))


@supabase.writes(
    shows("ref", "name", "region", "status"),
    "v1-create-a-project",
    undo=undone_by("pause_project(project_ref=answer.ref)", read="get_project", creates=True, fields="name"),
    costs=BILLED,
)
def create_project(
    name: Annotated[Name, "e.g. orders"],
    organization: Organization,
    region: Annotated[Name, "Where it runs, e.g. eu-central-1"] = "us-east-1",
) -> Call:
    """Create a project, which is billed by its organization's plan.

    Its database gets a random password that nobody sees: set your own in the dashboard.
    """
    body = {"name": name, "organization_slug": organization, "region": region, "db_pass": NewPassword()}
    return Call("POST", "/v1/projects", json=body)


@supabase.destroys(DONE, "v1-pause-a-project", undo=undone_by("restore_project(project_ref)", read="get_project"))
def pause_project(project_ref: ProjectRef) -> Call:
    """Pause a project: it stops, its data stays. restore_project starts it again."""
    return Call("POST", project_path(project_ref, "/pause"))


@supabase.writes(
    DONE, "v1-restore-a-project", undo=undone_by("pause_project(project_ref)", read="get_project"), costs=BILLED
)
def restore_project(project_ref: ProjectRef) -> Call:
    """Start a paused project again; it takes some minutes."""
    return Call("POST", project_path(project_ref, "/restore"))


@supabase.reads(shows("name", "status", "error"), "v1-get-services-health")
def get_health(
    project_ref: ProjectRef, services: Annotated[list[HealthOf] | None, "All the main ones if left out"] = None
) -> Call:
    """Read whether a project's services are up: database, API, auth, storage, realtime."""
    main = ["auth", "db", "pooler", "realtime", "rest", "storage"]
    return Call("GET", project_path(project_ref, "/health"), {"services": services or main})
