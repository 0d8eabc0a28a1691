"""Databases of MySQL and MariaDB."""

from typing import TYPE_CHECKING

from mcpist_services.sql.address import MYSQL, DatabaseAddress
from mcpist_services.sql.database import Database

if TYPE_CHECKING:
    from mcpist_services.mysql.session import MySqlSession


class MySqlDatabase(Database):
    """A database of MySQL or MariaDB."""

    form = MYSQL
    commits_unasked = True  # what changes tables

    def _log_in(self, address: DatabaseAddress, deadline: float) -> "MySqlSession":
        from mcpist_services.mysql.session import MySqlSession

        return MySqlSession(address, deadline)
