"""PostgreSQL's databases."""

from typing import TYPE_CHECKING

from mcpist_services.sql.address import POSTGRESQL, DatabaseAddress
from mcpist_services.sql.database import Database

if TYPE_CHECKING:
    from mcpist_services.postgresql.session import PostgreSqlSession


class PostgreSqlDatabase(Database):
    """A database of PostgreSQL."""

    form = POSTGRESQL

    def _log_in(self, address: DatabaseAddress, deadline: float) -> "PostgreSqlSession":
        from mcpist_services.postgresql.session import PostgreSqlSession

        return PostgreSqlSession(address, deadline)
