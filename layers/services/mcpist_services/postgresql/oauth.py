"""PostgreSQL's accounts: the address of a database with the role that logs in there, which people paste as a key."""

from typing import Any

from mcpist.oauth.provider import Consent, Provider, ProviderAccount, printable
from mcpist_services.postgresql.address import KEY_PATTERN, parse_address


def _parse_account(key: Any) -> ProviderAccount:
    title = printable(parse_address(key).title)
    return ProviderAccount(title, title, "bot")


POSTGRESQL = Provider(
    name="postgresql",
    authorize_url="",
    token_url="",
    account_url="",
    parse_account=_parse_account,
    key_pattern=KEY_PATTERN,
    key_example="postgresql://reader:…@db.example.com:5432/sales",
    key_page="https://www.postgresql.org/docs/current/sql-createrole.html",
)

CONSENT = Consent(POSTGRESQL)
