"""PostgreSQL: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://www.postgresql.org/docs/current/sql-commands.html
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import TimedLookup
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.undo import undone_by, unless
from mcpist_services.postgresql.database import Database

postgresql = Module(
    "postgresql",
    __doc__,
    api_version="3",  # of the protocol
    open_account=Database,
    labels={"*": ("internal",)},
    category="development",
    tags=("database", "postgres", "sql"),
)

TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8").strip()
COLUMNS = Path(__file__).with_name("columns.sql").read_text("utf-8").strip()
MAX_FETCHED_ROWS = 100_000

Name = Annotated[str, Field(min_length=1, max_length=63)]
Sql = Annotated[str, Field(min_length=1)]
Value = Annotated[str | int | float | bool | None, "e.g. open"]
Values = Annotated[list[Value], Field(max_length=1000), 'For $1, $2 and so on, e.g. ["open"]']


@postgresql.reads(shows("schema", "name", "kind", "rows", "comment"))
def tables(schema: Annotated[Name | None, "All schemas if left out, e.g. public"] = None) -> TimedLookup:
    """List the tables and views that the account may read. The number of rows is an estimate."""
    return TimedLookup(Database.read, sql=TABLES, parameters=[schema], limit=MAX_FETCHED_ROWS)


@postgresql.reads(shows("name", "type", "nullable", "default", "keys", "comment"))
def columns(
    table: Annotated[Name, "As tables shows it, e.g. orders"], schema: Annotated[Name, "Its schema"] = "public"
) -> TimedLookup:
    """List the columns of a table with their keys and what they refer to."""
    return TimedLookup(Database.read, sql=COLUMNS, parameters=[schema, table], limit=MAX_FETCHED_ROWS)


@postgresql.reads(shows("*"), uses=({"parameters": ["open"]},))
def query(
    sql: Annotated[
        Sql,
        "One select, with or values; lists as '{a,b}', e.g. select id, total from orders where status = $1",
    ],
    parameters: Values | None = None,
    max_rows: Annotated[int, Field(ge=1, le=MAX_FETCHED_ROWS), "Rows beyond are cut"] = 10_000,
) -> TimedLookup:
    """Read rows with SQL, in a transaction that can change nothing; a large answer is a file."""
    return TimedLookup(Database.read, sql=sql, parameters=parameters or [], limit=max_rows)


@postgresql.reads(shows("*"))
def explain(
    sql: Annotated[Sql, "Not run without analyze before it, e.g. select * from orders"],
    parameters: Values | None = None,
) -> TimedLookup:
    """Show how PostgreSQL would run a statement, to find out why it is slow."""
    return TimedLookup(Database.explain, sql=sql, parameters=parameters or [])


@postgresql.destroys(
    shows("command", "affected", "rows"),
    uses=({"parameters": ["closed"]},),
    undo=unless(
        lambda change: not change.arguments["rollback"],
        "no SQL was given that undoes it",
        undone_by("write(sql=arguments.rollback)"),
    ),
)
def write(
    sql: Annotated[Sql, "One statement of any kind, e.g. update orders set status = $1 where id = 7 returning id"],
    parameters: Values | None = None,
    rollback: Annotated[
        Sql | None, "The SQL that undoes it, e.g. update orders set status = 'open' where id = 7"
    ] = None,
) -> TimedLookup:
    """Change data or the schema with one statement of SQL: all of it happens, or nothing."""
    del rollback  # for the undo alone
    return TimedLookup(Database.write, sql=sql, parameters=parameters or [])


@postgresql.resource("postgresql://{schema}/{table}", columns)
def table_columns(schema: str, table: str) -> Mapping[str, Any]:
    """The columns of a table."""
    return {"schema": schema, "table": table}


@postgresql.prompt(tables, columns, query)
def answer_from_database(
    question: Annotated[str, Field(min_length=1), "What you want to know, e.g. Which orders are open since a week?"],
) -> str:
    """Answer a question from the rows of a database."""
    return (
        f"Answer from the database: {question}\n\n"
        "Find its tables (postgresql.tables) and their columns (postgresql.columns) before you write SQL. Let it count "
        "and join, with one statement of postgresql.query whose values are parameters, and read no more rows than the "
        "answer needs. Give the answer first, then the SQL, and what the numbers leave out."
    )


postgresql.completes("table", tables, "name")
postgresql.completes("schema", tables, "schema")
