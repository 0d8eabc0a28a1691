"""The database of a project: SQL, tables, migrations, types."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, Calls, given
from mcpist.tools.declare.undo import undone_by, unless
from mcpist_services.supabase.module import ROWS, Name, ProjectRef, project_path, supabase

# Tables and views of the schemas in $1, which is comma-separated.
TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8").strip()
TABLE_COLUMNS = shows("schema", "name", "kind", "rows", "rls", "columns", "primary_key", "comment")

Value = Annotated[str | int | float | bool | None, "e.g. open"]
Values = Annotated[list[Value], 'For $1, $2 and so on, e.g. ["open"]']
Schemas = Annotated[
    list[Annotated[str, Field(pattern=r"^[^,]+$"), "e.g. public"]], "public if left out, e.g. public, auth"
]


@supabase.reads(TABLE_COLUMNS, "v1-read-only-query")
def list_tables(project_ref: ProjectRef, schemas: Schemas | None = None) -> Call:
    """List tables and views with their columns. The number of rows is an estimate; rls is row level security."""
    body = {"query": TABLES, "parameters": [",".join(schemas or ["public"])]}
    return Call("POST", project_path(project_ref, "/database/query/read-only"), json=body)


@supabase.reads(ROWS, "v1-read-only-query", uses=({"parameters": ["open"]},))
def query(
    project_ref: ProjectRef,
    query: Annotated[
        Name,
        "One statement; tables with their schema, e.g. select id, status from public.orders where status = $1 limit 50",
    ],
    parameters: Values | None = None,
) -> Call:
    """Read from the database with SQL, as a read-only user that sees every row."""
    body = given(query=query, parameters=parameters)
    return Call("POST", project_path(project_ref, "/database/query/read-only"), json=body)


@supabase.destroys(
    ROWS,
    "v1-run-a-query",
    uses=({"parameters": ["open"]},),
    irreversible="what SQL changes is known to the database alone",
)
def execute_sql(
    project_ref: ProjectRef,
    query: Annotated[Name, "e.g. update public.orders set status = $1 where id = 7 returning id"],
    parameters: Values | None = None,
) -> Call:
    """Run any SQL as the owner of the database. For schema changes use apply_migration."""
    return Call("POST", project_path(project_ref, "/database/query"), json=given(query=query, parameters=parameters))


@supabase.reads(shows("version", "name"), "v1-list-migration-history")
def list_migrations(project_ref: ProjectRef) -> Call:
    """List the migrations that were applied to a project's database; needs a pasted token or a partner's OAuth app."""
    return Call("GET", project_path(project_ref, "/database/migrations"))


@supabase.destroys(
    DONE,
    "v1-apply-a-migration",
    undo=unless(
        lambda change: not change.arguments["rollback"],
        "no SQL was given that undoes it",
        undone_by(
            "apply_migration(project_ref, query=arguments.rollback, rollback=arguments.query)",
            read="list_migrations(project_ref)",
            name=lambda change: f"undo_{change.arguments['name']}",
        ),
    ),
)
def apply_migration(
    project_ref: ProjectRef,
    name: Annotated[Name, "What it does, in snake_case, e.g. add_status_to_orders"],
    query: Annotated[Name, "Its SQL, e.g. alter table public.orders add column status text"],
    rollback: Annotated[
        Name | None, "The SQL that undoes it, e.g. alter table public.orders drop column status"
    ] = None,
) -> Call:
    """Change the database's schema, and record it in the migration history; else execute_sql.

    It needs a pasted token or a partner's OAuth app: Supabase refuses it to other apps.
    """
    body = given(name=name, query=query, rollback=rollback)
    return Call("POST", project_path(project_ref, "/database/migrations"), json=body)


@supabase.reads(shows("code", text="code"), "v1-generate-typescript-types")
def generate_types(
    project_ref: ProjectRef, included_schemas: Annotated[str, Field(min_length=1), "Comma-separated"] = "public"
) -> Calls:
    """Write TypeScript types for a project's tables, views and functions; `raw.types` is the file's plain text."""
    answer = yield Call("GET", project_path(project_ref, "/types/typescript"), {"included_schemas": included_schemas})
    return {**answer.json, "code": f"```typescript\n{answer.json['types'].rstrip()}\n```"}
