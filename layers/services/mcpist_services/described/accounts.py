"""Accounts: how those of an imported API are connected, by a generic provider."""

import re

from mcpist.oauth.provider import Consent, Provider, ProviderAccount
from mcpist_services.described.overlay import AccountRule

# What can stand in a header, or be the password of a user: no form of a key is known.
KEY_PATTERN = re.compile(r"[ -~]{8,4096}")


def consent_of(account: AccountRule) -> Consent | None:
    """Return how accounts of an imported API are connected; None where it needs none.

    People paste a key. Where the overlay names an OAuth server and an administrator registered our client there,
    they can consent instead.
    """
    security = account.security
    if security.kind == "none":
        return None
    oauth = security.oauth
    provider = Provider(
        name=account.name,
        title=account.title,
        authorize_url=oauth.authorize_url if oauth else "",
        token_url=oauth.token_url if oauth else "",
        client_auth=oauth.client_auth if oauth else "body",
        pkce=oauth.pkce if oauth else True,
        account_url="",
        parse_account=_no_account,
        extra_scopes=oauth.scopes if oauth else (),
        key_pattern=KEY_PATTERN,
        key_page=security.key_page,
    )
    return Consent(provider, scopes=account.scopes if oauth else ())


def _no_account(_: object) -> ProviderAccount | None:
    return None
