"""Notion: one token for what a person shared with the app; a new consent of the same person ends the older one.

Reference: https://developers.notion.com/guides/get-started/authorization
"""

from collections.abc import Iterable
from typing import Any

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.provider import Linked, Provider, basic, named
from token_broker.providers.wire import Asked


def _account(body: Any) -> Linked | None:
    """The workspace and the person who consented; a token of the whole workspace is the app's bot."""
    bot = body["bot"]
    workspace = named(bot.get("workspace_name")) or named(body.get("name"))
    owner = bot.get("owner", {})
    if owner.get("type") != "user":
        return Linked(named(body["id"]), workspace, "bot")
    person = owner["user"]
    ids = [named(bot.get("workspace_id")), named(person["id"])]
    return Linked(":".join(filter(None, ids)), ", ".join(filter(None, [workspace, named(person.get("name"))])))


def _revoking(provider: Provider, app: App, tokens: Tokens) -> Iterable[Asked]:
    yield Asked(
        "POST",
        provider.revoke_url,
        headers=basic(app.client_id, app.client_secret),
        json={"token": tokens.access_token.get_secret_value()},
    )


PROVIDER = Provider(
    name="notion",
    asks={"notion": ()},
    authorize_url="https://api.notion.com/v1/oauth/authorize",
    params={"owner": "user"},
    token_url="https://api.notion.com/v1/oauth/token",  # noqa: S106 - an address
    client_auth="basic",
    body="json",
    pkce=False,  # not documented
    headers={"notion-version": "2026-03-11"},
    account_url="https://api.notion.com/v1/users/me",
    knows=_account,
    revoke_url="https://api.notion.com/v1/oauth/revoke",
    revoking=_revoking,
)
