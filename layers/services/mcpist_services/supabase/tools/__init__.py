"""The tools of Supabase in the order in which they are listed, then its resources and prompts."""

from typing import Annotated

from mcpist.tools.declare.argument_types import UtcMoment
from mcpist_services.supabase.module import Name, ProjectRef, supabase

from mcpist_services.supabase.tools import projects, database, logs, functions, branches, rows  # isort: skip
from mcpist_services.supabase.tools import documentation  # isort: skip

supabase.addresses(
    "supabase://{project_ref}/tables", database.list_tables, "tables", "A project's tables with their columns."
)
supabase.addresses(
    "supabase://{project_ref}/tables/{table}",
    rows.select,
    "table_rows",
    "The first rows of a table, as everybody may see them.",
)
supabase.addresses(
    "supabase://{project_ref}/types", database.generate_types, "types", "TypeScript types for a project's database."
)


@supabase.prompt(logs.list_advisors, database.list_tables, functions.list_functions, functions.list_buckets)
def review_security(project_ref: ProjectRef) -> None:
    """Review what is unsafe in a project, and how to fix it."""


@supabase.prompt(projects.get_health, logs.list_advisors, database.query, logs.get_logs)
def explain_slow_project(
    project_ref: ProjectRef, since: Annotated[UtcMoment, "Since when it is slow, e.g. 2026-01-31T09:00:00Z"]
) -> None:
    """Find out why a project is slow."""


@supabase.prompt(database.list_tables, database.list_migrations, database.apply_migration)
def plan_migration(
    project_ref: ProjectRef, change: Annotated[Name, "What should change, e.g. orders get a status"]
) -> None:
    """Plan a change of a project's schema as a migration."""


supabase.completes("project_ref", projects.list_projects, "ref")
