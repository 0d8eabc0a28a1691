"""Accounts of databases: an address with the role that logs in there, which people paste as a key."""

from typing import Any

from mcpist.oauth.provider import Provider, ProviderAccount, printable
from mcpist_services.sql.address import AddressForm, parse_address


def database_provider(form: AddressForm, key_page: str) -> Provider:
    """Return how addresses of one form become accounts: nothing is requested."""

    def parse_account(key: Any) -> ProviderAccount:
        title = printable(parse_address(key, form).title)
        return ProviderAccount(title, title, "bot")

    return Provider(
        name=form.scheme,
        authorize_url="",
        token_url="",
        account_url="",
        parse_account=parse_account,
        key_pattern=form.pattern,
        key_example=f"{form.scheme}://reader:…@db.example.com:{form.default_port}/sales",
        key_page=key_page,
    )
