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
def review_security(project_ref: ProjectRef) -> str:
    """Review what is unsafe in a project, and how to fix it."""
    return (
        f"Review the security of the Supabase project {project_ref}. In one batch, read the advice "
        "(supabase.list_advisors about security), the tables with their row level security (supabase.list_tables), the "
        "Edge Functions (supabase.list_functions) and the buckets (supabase.list_buckets). List what anybody could "
        "read or change without logging in, the worst first, and write the SQL that repairs each. Apply nothing before "
        "I agree."
    )


@supabase.prompt(get_health, list_advisors, query, get_logs)
def explain_slow_project(
    project_ref: ProjectRef, since: Annotated[UtcMoment, "Since when it is slow, e.g. 2026-01-31T09:00:00Z"]
) -> str:
    """Find out why a project is slow."""
    return (
        f"The Supabase project {project_ref} is slow since {since}. In one batch, read its health "
        "(supabase.get_health), the advice on performance (supabase.list_advisors about performance), the 20 slowest "
        "statements of pg_stat_statements and the largest tables (supabase.query), and the logs of postgres and api "
        "of that time (supabase.get_logs, at most 24 hours at once). Name the likely cause with its evidence, then "
        "what would help most for the least work, with the SQL. Change nothing before I agree."
    )


@supabase.prompt(list_tables, list_migrations, apply_migration)
def plan_migration(
    project_ref: ProjectRef, change: Annotated[Name, "What should change, e.g. orders get a status"]
) -> str:
    """Plan a change of a project's schema as a migration."""
    return (
        f"Plan a migration of the Supabase project {project_ref}: {change}. In one batch, read the tables "
        "(supabase.list_tables) and the migrations so far (supabase.list_migrations). Write the SQL and the SQL that "
        "undoes it, say what it locks and which rows, policies and code it breaks, and which branch to try it on. "
        "Apply it (supabase.apply_migration) only after I agree."
    )


supabase.completes("project_ref", list_projects, "ref")
