"""PostgreSQL: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://www.postgresql.org/docs/current/sql-commands.html
"""

from functools import partial
from pathlib import Path

from mcpist.tools.declare.module import Module
from mcpist_services.sql.address import POSTGRESQL
from mcpist_services.sql.database import Database
from mcpist_services.sql.declarations import ArgumentTexts, declare_tools

postgresql = Module(
    "postgresql",
    __doc__,
    api_version="3",  # of the protocol
    open_account=partial(Database, POSTGRESQL),
    labels={"*": ("internal",)},
    category="development",
    tags=("database", "postgres", "sql"),
)

declare_tools(
    postgresql,
    Path(__file__).parent,
    ArgumentTexts(
        schemas="All schemas if left out, e.g. public",
        own_schema="Its schema; public if left out, e.g. public",
        queries="One select, with or values; lists as '{a,b}', e.g. select id, total from orders where status = $1",
        values='For $1, $2 and so on, e.g. ["open"]',
        writes="One statement of any kind, e.g. update orders set status = $1 where id = 7 returning id",
    ),
)
