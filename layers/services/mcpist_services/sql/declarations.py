"""The tools of databases that speak SQL: the same for each, by the words and the catalogue of its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import TimedLookup
from mcpist.tools.declare.module import Module, ToolFunction
from mcpist.tools.declare.undo import undone_by, unless
from mcpist_services.sql.address import DatabaseKind
from mcpist_services.sql.database import Database

MAX_FETCHED_ROWS = 100_000

Name = Annotated[str, Field(min_length=1, max_length=64)]
Sql = Annotated[str, Field(min_length=1)]
Value = Annotated[str | int | float | bool | None, "e.g. open"]
Values = Annotated[list[Value], Field(max_length=1000)]


@dataclass(frozen=True)
class ArgumentTexts:
    """The texts of arguments, each with an example, as a kind of database needs them."""

    schemas: str
    """Which schemas are listed."""
    own_schema: str
    """Whose table is meant."""
    queries: str
    """What a query is."""
    values: str
    """What parameters are for."""
    writes: str
    """What may be written."""


def database_module(
    kind: DatabaseKind, about: str | None, folder: Path, tags: tuple[str, ...], texts: ArgumentTexts
) -> Module:
    """Return the module of a kind of database: its tools, resource and prompt, with the statements of its folder."""
    module = Module(
        kind.scheme,
        about,
        api_version=kind.protocol,
        open_account=partial(Database, kind),
        labels={"*": ("internal",)},
        category="development",
        tags=("database", *tags, "sql"),
    )
    tables, columns = _declare_catalogue(module, folder, texts)
    query = _declare_queries(module, texts)
    _declare_write(module, texts)
    _declare_prompt(module, tables, columns, query)

    @module.resource(module.name + "://{schema}/{table}", columns)
    def table_columns(schema: str, table: str) -> Mapping[str, Any]:
        """The columns of a table."""
        return {"schema": schema, "table": table}

    module.completes("table", tables, "name")
    module.completes("schema", tables, "schema")
    return module


def _declare_catalogue(module: Module, folder: Path, texts: ArgumentTexts) -> tuple[ToolFunction, ToolFunction]:
    all_tables, all_columns = ((folder / name).read_text("utf-8").strip() for name in ("tables.sql", "columns.sql"))

    @module.reads(shows("schema", "name", "kind", "rows", "comment"))
    def tables(schema: Annotated[Name | None, texts.schemas] = None) -> TimedLookup:
        """List the tables and views that the account may read. The number of rows is an estimate."""
        return TimedLookup(Database.read, sql=all_tables, parameters=[schema], limit=MAX_FETCHED_ROWS)

    @module.reads(shows("name", "type", "nullable", "default", "keys", "comment"))
    def columns(
        table: Annotated[Name, "As tables shows it, e.g. orders"],
        schema: Annotated[Name | None, texts.own_schema] = None,
    ) -> TimedLookup:
        """List the columns of a table with their keys and what they refer to."""
        return TimedLookup(Database.read, sql=all_columns, parameters=[schema, table], limit=MAX_FETCHED_ROWS)

    return tables, columns


def _declare_queries(module: Module, texts: ArgumentTexts) -> ToolFunction:
    @module.reads(shows("*"), uses=({"parameters": ["open"]},))
    def query(
        sql: Annotated[Sql, texts.queries],
        parameters: Annotated[Values, texts.values] | None = None,
        max_rows: Annotated[int, Field(ge=1, le=MAX_FETCHED_ROWS), "Rows beyond are cut"] = 10_000,
    ) -> TimedLookup:
        """Read rows with SQL, in a transaction that can change nothing; a large answer is a file."""
        return TimedLookup(Database.read, sql=sql, parameters=parameters or [], limit=max_rows)

    @module.reads(shows("*"))
    def explain(
        sql: Annotated[Sql, "Not run without analyze before it, e.g. select * from orders"],
        parameters: Annotated[Values, texts.values] | None = None,
    ) -> TimedLookup:
        """Show how the database would run a statement, to find out why it is slow."""
        return TimedLookup(Database.explain, sql=sql, parameters=parameters or [])

    return query


def _declare_write(module: Module, texts: ArgumentTexts) -> None:
    @module.destroys(
        shows("command", "affected", "rows"),
        uses=({"parameters": ["closed"]},),
        undo=unless(
            lambda change: not change.arguments["rollback"],
            "no SQL was given that undoes it",
            undone_by("write(sql=arguments.rollback)"),
        ),
    )
    def write(
        sql: Annotated[Sql, texts.writes],
        parameters: Annotated[Values, texts.values] | None = None,
        rollback: Annotated[
            Sql | None, "The SQL that undoes it, e.g. update orders set status = 'open' where id = 7"
        ] = None,
    ) -> TimedLookup:
        """Change data or the schema with one statement of SQL: all of it happens, or nothing."""
        del rollback  # for the undo alone
        return TimedLookup(Database.write, sql=sql, parameters=parameters or [])


def _declare_prompt(module: Module, tables: ToolFunction, columns: ToolFunction, query: ToolFunction) -> None:
    @module.prompt(tables, columns, query)
    def answer_from_database(
        question: Annotated[
            str, Field(min_length=1), "What you want to know, e.g. Which orders are open since a week?"
        ],
    ) -> str:
        """Answer a question from the rows of a database."""
        name = module.name
        return (
            f"Answer from the database: {question}\n\n"
            f"Find its tables ({name}.tables) and their columns ({name}.columns) before you write SQL. Let it count "
            f"and join, with one statement of {name}.query whose values are parameters, and read no more rows than the "
            "answer needs. Give the answer first, then the SQL, and what the numbers leave out."
        )
