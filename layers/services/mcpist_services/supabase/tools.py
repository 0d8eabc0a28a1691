"""Supabase: projects, SQL, migrations, logs, advisors, keys, functions, branches, and the rows of tables.

Reference: https://supabase.com/docs/reference/api/introduction
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest, ToolExecutionError
from mcpist.render.shows import DONE, shows
from mcpist.running.error_messages import error_message
from mcpist.tools.call import Call, Calls, PartialList, given, path
from mcpist.tools.module import Module
from mcpist.tools.paging import MAX_ITEMS
from mcpist_services.supabase.keys import masked
from mcpist_services.supabase.rows import (
    call_function,
    conditions,
    listed,
    read_page,
    same_keys,
    with_preferences,
    write_rows,
)
from mcpist_services.supabase.sql import TABLES, LogSource, logs_of

supabase = Module(
    "supabase",
    __doc__,
    api_version="v1",
    host="https://api.supabase.com",
    origins=r"https://[a-z]{20}\.supabase\.co",
    category="development",
    tags=("database", "postgres", "sql"),
)

# The columns of somebody's own tables are not known here: each row is shown as it is.
ROWS = shows("*")
PROJECT = ("ref", "name", "organization_slug as organization", "region", "status", "created_at as created")
FUNCTION = ("slug", "name", "status", "version", "verify_jwt", "updated_at as updated")
ADVICE = shows("level", "title", "detail", "remediation", rows="lints")

MAX_LOG_WINDOW = timedelta(hours=24)
DEFAULT_LOG_WINDOW = timedelta(hours=1)
_UTC = "%Y-%m-%dT%H:%M:%SZ"

ProjectRef = Annotated[
    str, Field(pattern=r"^[a-z]{20}$"), "The ref that list_projects shows, or a branch's, e.g. abcdefghijklmnopqrst"
]
Name = Annotated[str, Field(min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MAX_ITEMS)]
Value = Annotated[str | int | float | bool | None, "e.g. open"]
Values = Annotated[list[Value], 'For $1, $2 and so on, e.g. ["open"]']
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]
Table = Annotated[str, Field(min_length=1), "A table or a view, e.g. orders"]
Schema = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$"),
    "One that the data API shows; its first one (public) if left out, e.g. public",
]
Filters = Annotated[
    dict[str, str | list[str]],
    Field(min_length=1),
    "From a column to operator.value, or to several that must all hold: eq, neq, gt, gte, lt, lte, like.*a*, ilike, "
    'in.(1,2), is.null, cs.{a}, fts, each also as not.eq; {"or": "(a.eq.1,b.is.null)"} joins others, '
    'e.g. {"status": "eq.open", "total": ["gte.10", "lt.20"]}',
]
Returning = Annotated[
    list[Name],
    "Columns of the written rows to show: all if left out; none if empty, for rows that nobody may read, e.g. id, name",
]
MaxAffected = Annotated[int, Field(ge=1), "Change nothing if it would be more rows than this"]
HealthOf = Literal["auth", "db", "db_postgres_user", "pooler", "realtime", "rest", "storage", "pg_bouncer"]


# -- organizations and projects -----------------------------------------------------------------------


@supabase.reads(shows("slug", "name"), "v1-list-all-organizations")
def list_organizations() -> Call:
    """List the organizations that the connected account belongs to."""
    return Call("GET", "/v1/organizations")


@supabase.reads(shows(*PROJECT), "v1-list-all-projects")
def list_projects() -> Call:
    """List the projects that you can reach, with their refs."""
    return Call("GET", "/v1/projects")


@supabase.reads(
    shows(*PROJECT, "database.host as database_host", "database.version as postgres_version"), "v1-get-project"
)
def get_project(project_ref: ProjectRef) -> Call:
    """Read one project: where it runs, whether it is up, its database."""
    return Call("GET", _project(project_ref))


@supabase.reads(shows("name", "status", "error"), "v1-get-services-health")
def get_health(
    project_ref: ProjectRef, services: Annotated[list[HealthOf] | None, "All the main ones if left out"] = None
) -> Call:
    """Read whether a project's services are up: database, API, auth, storage, realtime."""
    main = ["auth", "db", "pooler", "realtime", "rest", "storage"]
    return Call("GET", _project(project_ref, "/health"), {"services": services or main})


# -- the database -------------------------------------------------------------------------------------


@supabase.reads(
    shows("schema", "name", "kind", "rows", "rls", "columns", "primary_key", "comment"), "v1-read-only-query"
)
def list_tables(
    project_ref: ProjectRef,
    schemas: Annotated[
        list[Annotated[str, Field(pattern=r"^[^,]+$"), "e.g. public"]] | None,
        "public if left out, e.g. public, auth",
    ] = None,
) -> Call:
    """List tables and views with their columns. The number of rows is an estimate; rls is row level security."""
    body = {"query": TABLES, "parameters": [",".join(schemas or ["public"])]}
    return Call("POST", _project(project_ref, "/database/query/read-only"), json=body)


@supabase.reads(ROWS, "v1-read-only-query", uses=({"parameters": ["open"]},))
def query(
    project_ref: ProjectRef,
    query: Annotated[Name, "One statement of SQL, e.g. select id, status from orders where status = $1 limit 50"],
    parameters: Values | None = None,
) -> Call:
    """Read from the database with SQL, as a user who sees every row but can write nothing."""
    body = given(query=query, parameters=parameters)
    return Call("POST", _project(project_ref, "/database/query/read-only"), json=body)


@supabase.destroys(ROWS, "v1-run-a-query", uses=({"parameters": ["open"]},))
def execute_sql(
    project_ref: ProjectRef,
    query: Annotated[Name, "e.g. update orders set status = $1 where id = 7 returning id"],
    parameters: Values | None = None,
) -> Call:
    """Run any SQL as the owner of the database. Changes of the schema belong into apply_migration."""
    return Call("POST", _project(project_ref, "/database/query"), json=given(query=query, parameters=parameters))


@supabase.reads(shows("version", "name"), "v1-list-migration-history")
def list_migrations(project_ref: ProjectRef) -> Call:
    """List the migrations that were applied to a project's database."""
    return Call("GET", _project(project_ref, "/database/migrations"))


@supabase.destroys(DONE, "v1-apply-a-migration")
def apply_migration(
    project_ref: ProjectRef,
    name: Annotated[Name, "What it does, in snake_case, e.g. add_status_to_orders"],
    query: Annotated[Name, "Its SQL, e.g. alter table orders add column status text"],
    rollback: Annotated[Name | None, "The SQL that undoes it, e.g. alter table orders drop column status"] = None,
) -> Call:
    """Change the database's schema, and note it in the history of migrations."""
    body = given(name=name, query=query, rollback=rollback)
    return Call("POST", _project(project_ref, "/database/migrations"), json=body)


@supabase.reads(shows("code", text="code"), "v1-generate-typescript-types")
def generate_types(
    project_ref: ProjectRef,
    included_schemas: Annotated[str, Field(min_length=1), "With commas between them"] = "public",
) -> Calls:
    """Write TypeScript types for a project's tables, views and functions; `raw.types` is the file's plain text."""
    answer = yield Call("GET", _project(project_ref, "/types/typescript"), {"included_schemas": included_schemas})
    return {**answer.json, "code": f"```typescript\n{answer.json['types'].rstrip()}\n```"}


# -- logs and advice ----------------------------------------------------------------------------------


@supabase.reads(
    shows("timestamp", "level", "status", "method", "path", "message", rows="result"),
    "v1-get-project-logs",
    uses=({"iso_timestamp_start": "2026-01-31T09:00:00Z", "iso_timestamp_end": "2026-01-31T10:00:00Z"},),
)
def get_logs(
    project_ref: ProjectRef,
    service: Annotated[
        LogSource, "api: requests to the data API; functions: what Edge Functions print, function_requests: their calls"
    ],
    iso_timestamp_start: Annotated[
        Time | None, "UTC, at most 24 hours before the end; one hour if left out, e.g. 2026-01-31T09:00:00Z"
    ] = None,
    iso_timestamp_end: Annotated[Time | None, "UTC; now if left out, e.g. 2026-01-31T10:00:00Z"] = None,
    limit: Limit = 50,
) -> Calls:
    """Read what a service of a project has logged, the newest first."""
    window = _log_window(iso_timestamp_start, iso_timestamp_end)
    place = _project(project_ref, "/analytics/endpoints/logs")
    return _logs(Call("GET", place, {"sql": logs_of(service, limit), **window}), limit)


@supabase.reads(ADVICE, "v1-get-security-advisors")
def list_security_advisors(project_ref: ProjectRef) -> Call:
    """List what is unsafe in a project, such as tables without row level security, with how to repair it."""
    return Call("GET", _project(project_ref, "/advisors/security"))


@supabase.reads(ADVICE, "v1-get-performance-advisors")
def list_performance_advisors(project_ref: ProjectRef) -> Call:
    """List what makes a project slow, such as missing or unused indexes, with how to repair it."""
    return Call("GET", _project(project_ref, "/advisors/performance"))


# -- keys, functions, buckets -------------------------------------------------------------------------


@supabase.reads(shows("name", "type", "api_key", "description"), "v1-get-project-api-keys", reveals=True)
def get_api_keys(project_ref: ProjectRef) -> Calls:
    """List a project's API keys, each with its first characters only."""
    keys = (yield Call("GET", _project(project_ref, "/api-keys"))).json
    return [masked(key) for key in keys]


@supabase.reads(shows("name", "updated_at as updated"), "v1-list-all-secrets")
def list_secrets(project_ref: ProjectRef) -> Calls:
    """List the names of the secrets that Edge Functions use, never their values."""
    secrets = (yield Call("GET", _project(project_ref, "/secrets"))).json
    return [{"name": secret["name"], "updated_at": secret.get("updated_at")} for secret in secrets]


@supabase.reads(shows(*FUNCTION), "v1-list-all-functions")
def list_functions(project_ref: ProjectRef) -> Call:
    """List a project's Edge Functions."""
    return Call("GET", _project(project_ref, "/functions"))


@supabase.reads(shows("id", *FUNCTION, "created_at as created", "entrypoint_path", "import_map"), "v1-get-a-function")
def get_function(
    project_ref: ProjectRef,
    function_slug: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$"), "As list_functions shows it, e.g. send-mail"],
) -> Call:
    """Read one Edge Function: its state, version and entry point. Its code is a bundle that cannot be read here."""
    return Call("GET", _project(project_ref, "/functions/{function_slug}", function_slug=function_slug))


@supabase.reads(shows("id", "name", "public", "created_at as created"), "v1-list-all-buckets")
def list_buckets(project_ref: ProjectRef) -> Call:
    """List a project's storage buckets, and whether anybody may read them."""
    return Call("GET", _project(project_ref, "/storage/buckets"))


# -- branches -----------------------------------------------------------------------------------------


@supabase.reads(
    shows("name", "project_ref", "git_branch", "status", "is_default", "persistent", "updated_at as updated"),
    "v1-list-all-branches",
)
def list_branches(project_ref: ProjectRef) -> Call:
    """List a project's branches: databases of their own to try changes in."""
    return Call("GET", _project(project_ref, "/branches"))


@supabase.writes(shows("id", "project_ref", "status"), "v1-create-a-branch")
def create_branch(
    project_ref: ProjectRef,
    branch_name: Annotated[Name, "e.g. try-new-index"],
    git_branch: Annotated[Name | None, "The branch in Git that it follows, e.g. feature/index"] = None,
    region: Annotated[Name | None, "The project's own if left out, e.g. eu-central-1"] = None,
    persistent: Annotated[bool, "Kept when its pull request is closed"] = False,
    with_data: Annotated[bool, "With a copy of the project's rows, not only its schema"] = False,
) -> Call:
    """Create a branch: a database of its own, which is billed while it exists."""
    fields = given(branch_name=branch_name, git_branch=git_branch, region=region)
    fields |= {"persistent": persistent, "with_data": with_data}
    return Call("POST", _project(project_ref, "/branches"), json=fields)


@supabase.destroys(shows("message"), "v1-delete-a-branch")
def delete_branch(
    branch_id_or_ref: Annotated[
        str,
        Field(pattern=r"^([a-z]{20}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$"),
        "The branch's own project_ref, as list_branches shows it, e.g. bcdefghijklmnopqrstu",
    ],
    force: Annotated[bool, "At once; false waits an hour, in which it can be restored, where that is enabled"] = True,
) -> Call:
    """Delete a branch with its database."""
    return Call("DELETE", path("/v1/branches/{branch}", branch=branch_id_or_ref), {"force": force})


# -- rows, through the data API -----------------------------------------------------------------------


@supabase.reads(ROWS, "select")
def select(
    project_ref: ProjectRef,
    table: Table,
    columns: Annotated[
        list[Name] | None, "All if left out; rows of another table as author(name), e.g. id, status, customer(name)"
    ] = None,
    filters: Filters | None = None,
    order: Annotated[str | None, "Needed to read on reliably, e.g. created_at.desc,id"] = None,
    limit: Limit = 50,
    offset: Annotated[int, Field(ge=0), "Rows to skip"] = 0,
    schema: Schema | None = None,
) -> Calls:
    """Read rows of a table with the project's public key: only those that row level security shows to everybody."""
    own = given(select=listed(columns), order=order)
    call = Call("GET", _table(table), conditions(filters or {}) | own, headers=_schema_header("accept", schema))
    return read_page(project_ref, call, limit, offset)


@supabase.writes(
    ROWS, "insert", uses=({}, {"upsert": True, "on_conflict": ["email"], "returning": ["id"], "schema": "public"})
)
def insert(
    project_ref: ProjectRef,
    table: Table,
    rows: Annotated[list[dict[str, Any]], Field(min_length=1), 'e.g. [{"name": "Ada", "status": "open"}]'],
    upsert: Annotated[bool, "Replace the rows that are there already, by their primary key"] = False,
    on_conflict: Annotated[list[Name] | None, "For upsert: the unique columns instead of that key, e.g. email"] = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Insert rows into a table, or replace them, with the project's public key and what row level security allows it.

    A column that some of the rows leave out gets its default there.
    """
    if on_conflict and not upsert:
        raise InvalidRequest(field="on_conflict", problem="it needs upsert")
    columns = same_keys(rows)
    wishes = ["resolution=merge-duplicates"] * upsert + ["missing=default"] * bool(columns)
    own = given(columns=columns, on_conflict=listed(on_conflict))
    call = Call("POST", _table(table), own, rows, _schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *wishes))


@supabase.writes(ROWS, "update", idempotent=True)
def update(
    project_ref: ProjectRef,
    table: Table,
    values: Annotated[dict[str, Any], Field(min_length=1), 'What to set, e.g. {"status": "closed"}'],
    filters: Filters,
    max_affected: MaxAffected | None = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Change the rows that match, with the project's public key. No row: none matched, or row level security hid it."""
    call = Call("PATCH", _table(table), conditions(filters, changing=True), values, _schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *_max_affected(max_affected)))


@supabase.destroys(ROWS, "delete", idempotent=True)
def delete(
    project_ref: ProjectRef,
    table: Table,
    filters: Filters,
    max_affected: MaxAffected | None = None,
    returning: Returning | None = None,
    schema: Schema | None = None,
) -> Calls:
    """Delete the rows that match, with the project's public key. No row: none matched, or row level security hid it."""
    call = Call("DELETE", _table(table), conditions(filters, changing=True), headers=_schema_header("content", schema))
    return write_rows(project_ref, with_preferences(call, returning, *_max_affected(max_affected)))


@supabase.writes(ROWS, "rpc")
def rpc(
    project_ref: ProjectRef,
    function: Annotated[Name, "A function of the database, e.g. close_orders"],
    args: Annotated[dict[str, Any] | None, 'By name, e.g. {"before": "2026-01-31"}'] = None,
    schema: Schema | None = None,
) -> Calls:
    """Call a function of the database with the project's public key; it may change what row level security allows."""
    place = path("/rest/v1/rpc/{function}", function=function)
    return call_function(project_ref, Call("POST", place, json=args or {}, headers=_schema_header("content", schema)))


# -- resources and prompts ----------------------------------------------------------------------------


@supabase.resource("supabase://{project_ref}/tables", list_tables)
def tables(project_ref: str) -> Mapping[str, Any]:
    """A project's tables with their columns."""
    return {"project_ref": project_ref}


@supabase.resource("supabase://{project_ref}/tables/{table}", select)
def table_rows(project_ref: str, table: str) -> Mapping[str, Any]:
    """The first rows of a table, as everybody may see them."""
    return {"project_ref": project_ref, "table": table}


@supabase.resource("supabase://{project_ref}/types", generate_types)
def types(project_ref: str) -> Mapping[str, Any]:
    """TypeScript types for a project's database."""
    return {"project_ref": project_ref}


@supabase.prompt(list_security_advisors, list_tables, list_functions, list_buckets)
def review_security(project_ref: ProjectRef) -> str:
    """Review what is unsafe in a project, and how to repair it."""
    return (
        f"Review the security of the Supabase project {project_ref}. In one batch, read the advice "
        "(supabase.list_security_advisors), the tables with their row level security (supabase.list_tables), the Edge "
        "Functions (supabase.list_functions) and the buckets (supabase.list_buckets). List what anybody could read or "
        "change without logging in, the worst first, and write the SQL that repairs each. Apply nothing before I agree."
    )


@supabase.prompt(get_health, list_performance_advisors, query, get_logs)
def explain_slow_project(
    project_ref: ProjectRef,
    since: Annotated[Time, "Since when it is slow, in UTC, e.g. 2026-01-31T09:00:00Z"],
) -> str:
    """Find out why a project is slow."""
    return (
        f"The Supabase project {project_ref} is slow since {since}. In one batch, read its health "
        "(supabase.get_health), the advice on performance (supabase.list_performance_advisors), the 20 slowest "
        "statements of pg_stat_statements and the largest tables (supabase.query), and the logs of postgres and api "
        "of that time (supabase.get_logs, at most 24 hours at once). Name the likely cause with its evidence, then "
        "what would help most for the least work, with the SQL. Change nothing before I agree."
    )


@supabase.prompt(list_tables, list_migrations, apply_migration)
def plan_migration(
    project_ref: ProjectRef, change: Annotated[Name, "What shall change, e.g. orders get a status"]
) -> str:
    """Plan a change of a project's schema as a migration."""
    return (
        f"Plan a migration of the Supabase project {project_ref}: {change}. In one batch, read the tables "
        "(supabase.list_tables) and the migrations so far (supabase.list_migrations). Write the SQL and the SQL that "
        "undoes it, say what it locks and which rows, policies and code it breaks, and which branch to try it on. "
        "Apply it (supabase.apply_migration) only after I agree."
    )


supabase.completes("project_ref", list_projects, "ref")


# -- how Supabase speaks ------------------------------------------------------------------------------


def _project(project_ref: str, rest: str = "", **parts: str) -> str:
    """A path under one project."""
    return path(f"/v1/projects/{{ref}}{rest}", ref=project_ref, **parts)


def _table(table: str) -> str:
    return path("/rest/v1/{table}", table=table)


def _schema_header(kind: str, schema: str | None) -> dict[str, str]:
    """The header that chooses another schema than the first one."""
    return {f"{kind}-profile": schema} if schema else {}


def _max_affected(rows: int | None) -> list[str]:
    return [] if rows is None else ["handling=strict", f"max-affected={rows}"]


def _log_window(start: str | None, end: str | None) -> dict[str, str]:
    """The time that logs are read of: without both ends the endpoint fails, and a longer time loses lines in silence.

    https://supabase.com/docs/reference/api/v1-get-project-logs
    """
    until = _time("iso_timestamp_end", end) if end else datetime.now(UTC)
    since = _time("iso_timestamp_start", start) if start else until - DEFAULT_LOG_WINDOW
    if not timedelta(0) < until - since <= MAX_LOG_WINDOW:
        raise InvalidRequest(field="iso_timestamp_start", problem="it must be at most 24 hours before the end")
    return {"iso_timestamp_start": f"{since:{_UTC}}", "iso_timestamp_end": f"{until:{_UTC}}"}


def _time(field: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(field=field, problem="there is no such day or time") from None


def _logs(call: Call, limit: int) -> Calls:
    """The lines, unless the endpoint says that it failed: it does so in a success."""
    answer = yield call
    if answer.json.get("error"):
        raise ToolExecutionError(
            service=supabase.name, http_status=answer.status, problem=error_message(answer.json["error"]) or "no logs"
        )
    if len(answer.json.get("result") or []) < limit:
        return answer.json
    return PartialList(answer.json, f"Cut after {limit} lines: raise limit, or end before the last one shown.")
