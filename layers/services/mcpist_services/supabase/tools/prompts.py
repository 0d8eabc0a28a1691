"""Resources and prompts of Supabase."""

from typing import Annotated

from mcpist.tools.declare.argument_types import UtcMoment
from mcpist_services.supabase.module import Name, ProjectRef, supabase
from mcpist_services.supabase.tools.database import apply_migration, generate_types, list_migrations, list_tables, query
from mcpist_services.supabase.tools.functions import list_buckets, list_functions
from mcpist_services.supabase.tools.logs import get_logs, list_advisors
from mcpist_services.supabase.tools.projects import get_health, list_projects
from mcpist_services.supabase.tools.rows import select

supabase.addresses("supabase://{project_ref}/tables", list_tables, "tables", "A project's tables with their columns.")
supabase.addresses(
    "supabase://{project_ref}/tables/{table}",
    select,
    "table_rows",
    "The first rows of a table, as everybody may see them.",
)
supabase.addresses(
    "supabase://{project_ref}/types", generate_types, "types", "TypeScript types for a project's database."
)


@supabase.prompt(list_advisors, list_tables, list_functions, list_buckets)
def review_security(project_ref: ProjectRef) -> None:
    """Review what is unsafe in a project, and how to fix it."""


@supabase.prompt(get_health, list_advisors, query, get_logs)
def explain_slow_project(
    project_ref: ProjectRef, since: Annotated[UtcMoment, "Since when it is slow, e.g. 2026-01-31T09:00:00Z"]
) -> None:
    """Find out why a project is slow."""


@supabase.prompt(list_tables, list_migrations, apply_migration)
def plan_migration(
    project_ref: ProjectRef, change: Annotated[Name, "What should change, e.g. orders get a status"]
) -> None:
    """Plan a change of a project's schema as a migration."""


supabase.completes("project_ref", list_projects, "ref")
