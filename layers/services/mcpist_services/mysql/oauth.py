"""Accounts of MySQL and MariaDB: addresses of databases."""

from mcpist.oauth.provider import Consent
from mcpist_services.sql.account import database_provider
from mcpist_services.sql.address import MYSQL

CONSENT = Consent(database_provider(MYSQL, "https://dev.mysql.com/doc/refman/8.4/en/create-user.html"))
