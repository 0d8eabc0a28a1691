"""MySQL and MariaDB: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://dev.mysql.com/doc/refman/8.4/en/sql-statements.html,
https://mariadb.com/docs/server/reference/sql-statements
"""

from pathlib import Path

from mcpist_services.sql.address import MYSQL
from mcpist_services.sql.declarations import ArgumentTexts, database_module

mysql = database_module(
    MYSQL,
    __doc__,
    Path(__file__).parent,
    ("mysql", "mariadb"),
    ArgumentTexts(
        schemas="All databases if left out, e.g. shop",
        own_schema="Its database; the account's own if left out, e.g. shop",
        queries="One select, with, values or table, e.g. select id, total from orders where status = ?",
        values='For each ? in turn, e.g. ["open"]',
        writes="One statement of any kind, e.g. update orders set status = ? where id = 7",
    ),
)
