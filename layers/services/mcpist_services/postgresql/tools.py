"""PostgreSQL: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://www.postgresql.org/docs/current/sql-commands.html
"""

from pathlib import Path

from mcpist.tools.declare.module import Module
from mcpist_services.postgresql.database import PostgreSqlDatabase
from mcpist_services.sql.tools import SqlDialect, declare_tools

postgresql = Module(
    "postgresql",
    __doc__,
    api_version="3",  # of the protocol
    open_account=PostgreSqlDatabase,
    labels={"*": ("internal",)},
    category="development",
    tags=("database", "postgres", "sql"),
)

declare_tools(
    postgresql,
    SqlDialect(
        folder=Path(__file__).parent,
        schemas="All schemas if left out, e.g. public",
        own_schema="Its schema; public if left out",
        query="One select, with or values; lists as '{a,b}', e.g. select id, total from orders where status = $1",
        values='For $1, $2 and so on, e.g. ["open"]',
        write="One statement of any kind, e.g. update orders set status = $1 where id = 7 returning id",
    ),
)
