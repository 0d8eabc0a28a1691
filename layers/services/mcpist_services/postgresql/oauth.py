"""PostgreSQL's accounts: addresses of databases."""

from mcpist.oauth.provider import Consent
from mcpist_services.sql.account import database_provider
from mcpist_services.sql.address import POSTGRESQL

CONSENT = Consent(database_provider(POSTGRESQL, "https://www.postgresql.org/docs/current/sql-createrole.html"))
