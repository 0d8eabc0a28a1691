"""Notion: one token for the pages that a person shared with the app; a new consent ends the person's older one.

Reference: https://developers.notion.com/guides/get-started/authorization
"""

from collections.abc import Iterable
from typing import Any

from mcpist.oauth.provider import (
    App,
    Consent,
    Provider,
    ProviderAccount,
    ProviderRequest,
    Tokens,
    basic_auth_header,
    printable,
)


def _parse_account(body: Any) -> ProviderAccount | None:
    """Read the workspace and the person who consented; a token of the whole workspace acts as the app's bot."""
    bot = body["bot"]
    workspace = printable(bot.get("workspace_name")) or printable(body.get("name"))
    owner = bot.get("owner", {})
    if owner.get("type") != "user":
        return ProviderAccount(printable(body["id"]), workspace, "bot")
    person = owner["user"]
    ids = [printable(bot.get("workspace_id")), printable(person["id"])]
    names = [workspace, printable(person.get("name"))]
    return ProviderAccount(":".join(filter(None, ids)), ", ".join(filter(None, names)))


def _revocation_requests(provider: Provider, app: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    yield ProviderRequest(
        "POST",
        provider.revoke_url,
        headers=basic_auth_header(app.client_id, app.client_secret),
        json={"token": tokens.access_token.get_secret_value()},
    )


NOTION = Provider(
    name="notion",
    authorize_url="https://api.notion.com/v1/oauth/authorize",
    authorize_params={"owner": "user"},
    token_url="https://api.notion.com/v1/oauth/token",  # noqa: S106 - an address
    client_auth="basic",
    body_format="json",
    pkce=False,  # not documented
    headers={"notion-version": "2026-03-11"},
    account_url="https://api.notion.com/v1/users/me",
    parse_account=_parse_account,
    revoke_url="https://api.notion.com/v1/oauth/revoke",
    revocation_requests=_revocation_requests,
)

CONSENT = Consent(NOTION)
