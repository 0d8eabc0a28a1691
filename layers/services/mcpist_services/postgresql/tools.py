"""PostgreSQL: the tables of a database, and SQL that reads it or, with a person's word, changes it.

Reference: https://www.postgresql.org/docs/current/sql-commands.html
"""

from pathlib import Path

from mcpist_services.sql.address import POSTGRESQL
from mcpist_services.sql.declarations import ArgumentTexts, database_module

postgresql = database_module(
    POSTGRESQL,
    __doc__,
    Path(__file__).parent,
    ("postgres",),
    ArgumentTexts(
        schemas="All schemas if left out, e.g. public",
        own_schema="Its schema; public if left out, e.g. public",
        queries="One select, with or values; lists as '{a,b}', e.g. select id, total from orders where status = $1",
        values='For $1, $2 and so on, e.g. ["open"]',
        writes="One statement of any kind, e.g. update orders set status = $1 where id = 7 returning id",
    ),
)
