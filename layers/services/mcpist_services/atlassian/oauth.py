"""Atlassian: one consent for Jira, Confluence or both; the token acts at the sites that the person chose.

Reference: https://developer.atlassian.com/cloud/oauth/getting-started/implementing-oauth-3lo/
"""

from dataclasses import replace
from typing import Any

from mcpist.oauth.provider import INVALID_GRANT_ERRORS, Provider, ProviderAccount, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    """Return the first site, with the others that the person has ever given us; its id becomes part of every address.

    A site stands there once for each of its products, with the scopes of that product.
    """
    sites = dict.fromkeys(printable(site["id"]) for site in body)
    accounts = [_site(id_, [site for site in body if printable(site["id"]) == id_]) for id_ in sites]
    return replace(accounts[0], others=tuple(accounts[1:])) if accounts else None


def _site(id_: str, products: list[Any]) -> ProviderAccount:
    scopes = dict.fromkeys(scope for product in products for scope in product.get("scopes", ()))
    url = printable(products[0].get("url"))
    return ProviderAccount(
        id_,
        printable(products[0]["name"]),
        scopes=tuple(scopes) or None,
        site_url=url if url.startswith("https://") else "",
    )


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
