"""Accounts of databases: an address with the role that logs in there, which people paste as a key."""

from typing import Any

from mcpist.oauth.provider import Provider, ProviderAccount, printable
from mcpist_services.sql.address import DatabaseKind, parse_address


def database_provider(kind: DatabaseKind, key_page: str) -> Provider:
    """Return how addresses of one kind become accounts: nothing is requested."""

    def parse_account(key: Any) -> ProviderAccount:
        title = printable(parse_address(key, kind).title)
        return ProviderAccount(title, title, "bot")

    return Provider(
        name=kind.scheme,
        authorize_url="",
        token_url="",
        account_url="",
        parse_account=parse_account,
        key_pattern=kind.key_pattern,
        key_example=f"{kind.scheme}://reader:…@db.example.com:{kind.default_port}/sales",
        key_page=key_page,
    )
