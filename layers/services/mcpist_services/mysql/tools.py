"""MySQL and MariaDB: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://dev.mysql.com/doc/refman/8.4/en/sql-statements.html,
https://mariadb.com/docs/server/reference/sql-statements
"""

from functools import partial
from pathlib import Path

from mcpist.tools.declare.module import Module
from mcpist_services.sql.address import MYSQL
from mcpist_services.sql.database import Database
from mcpist_services.sql.declarations import ArgumentTexts, declare_tools

mysql = Module(
    "mysql",
    __doc__,
    api_version="10",  # of the protocol
    open_account=partial(Database, MYSQL),
    labels={"*": ("internal",)},
    category="development",
    tags=("database", "mysql", "mariadb", "sql"),
)

declare_tools(
    mysql,
    Path(__file__).parent,
    ArgumentTexts(
        schemas="All databases if left out, e.g. shop",
        own_schema="Its database; the account's own if left out, e.g. shop",
        queries="One select, with, values or table, e.g. select id, total from orders where status = ?",
        values='For each ? in turn, e.g. ["open"]',
        writes="One statement of any kind, e.g. update orders set status = ? where id = 7",
    ),
)
