"""Organizations and projects."""

from typing import Annotated, Literal

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist_services.supabase.module import ProjectRef, project_path, supabase

PROJECT = ("ref", "name", "organization_slug as organization", "region", "status", "created_at as created")
PROJECT_DETAILS = shows(*PROJECT, "database.host as database_host", "database.version as postgres_version")

HealthOf = Literal["auth", "db", "db_postgres_user", "pooler", "realtime", "rest", "storage", "pg_bouncer"]


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


@supabase.reads(shows("name", "status", "error"), "v1-get-services-health")
def get_health(
    project_ref: ProjectRef, services: Annotated[list[HealthOf] | None, "All the main ones if left out"] = None
) -> Call:
    """Read whether a project's services are up: database, API, auth, storage, realtime."""
    main = ["auth", "db", "pooler", "realtime", "rest", "storage"]
    return Call("GET", project_path(project_ref, "/health"), {"services": services or main})
