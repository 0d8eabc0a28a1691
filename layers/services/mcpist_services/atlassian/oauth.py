"""Atlassian: one consent for Jira, Confluence or both; the token acts at the sites that the person chose.

Reference: https://developer.atlassian.com/cloud/oauth/getting-started/implementing-oauth-3lo/
"""

from typing import Any

from mcpist.oauth.provider import INVALID_GRANT_ERRORS, Provider, ProviderAccount, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    """Take the first site: its cloud id becomes part of every address."""
    sites = {printable(site["id"]): printable(site["name"]) for site in body}
    scopes = tuple(dict.fromkeys(scope for site in body for scope in site.get("scopes", ())))
    return next((ProviderAccount(cloud, name, scopes=scopes or None) for cloud, name in sites.items()), None)


ATLASSIAN = Provider(
    name="atlassian",
    title="Atlassian",
    extra_scopes=("offline_access",),
    authorize_url="https://auth.atlassian.com/authorize",
    authorize_params={"audience": "api.atlassian.com", "prompt": "consent"},
    token_url="https://auth.atlassian.com/oauth/token",  # noqa: S106 - an address
    body_format="json",
    pkce=False,  # not documented
    permanent_errors=INVALID_GRANT_ERRORS | {"unauthorized_client"},
    account_url="https://api.atlassian.com/oauth/token/accessible-resources",
    parse_account=_parse_account,
)
